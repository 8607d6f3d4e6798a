//! Those who wait, in order of arrival; joining, leaving and calling are O(1).

use std::task::Waker;
use std::time::Duration;

use crate::rejection::Rejection;

/// What a waiter is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// The slot is the waiter's since then; `epoch` is the breaker's.
    Granted {
        at: Duration,
        epoch: u16,
    },
    Refused(Rejection),
}

/// A place in the line, void once left.
#[derive(Debug)]
pub(crate) struct Ticket {
    index: u32,
}

/// Places are reused: the memory is that of the longest line seen, which `queue_max` bounds.
pub(crate) struct Line {
    places: Vec<Place>,
    /// The first of the free places; the others follow by `behind`.
    free: u32,
    first: u32,
    last: u32,
    length: u32,
}

/// No place.
const NONE: u32 = u32::MAX;

/// A place is free, or has a waiter (a waker), or one that was called (an answer). It is changed
/// field by field: moving the whole would cost more than all the rest of a hand-over.
struct Place {
    before: u32,
    behind: u32,
    since: Duration,
    waker: Option<Waker>,
    answer: Option<Answer>,
}

/// What a waiter takes along when it leaves.
pub(crate) enum Left {
    Called(Answer),
    /// Its waker, to be dropped outside of any lock.
    Uncalled(Option<Waker>),
}

impl Left {
    /// What the waiter had been told. Not under a lock: a waker's end is somebody else's code.
    pub(crate) fn answer(self) -> Option<Answer> {
        match self {
            Self::Called(answer) => Some(answer),
            Self::Uncalled(waker) => {
                drop(waker);
                None
            }
        }
    }
}

impl Line {
    pub(crate) const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            first: NONE,
            last: NONE,
            length: 0,
        }
    }

    /// How many wait uncalled.
    pub(crate) fn len(&self) -> u32 {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn join(&mut self, since: Duration, waker: Waker) -> Ticket {
        let index = self.free_place();
        let before = self.last;
        let place = self.place(index);
        place.before = before;
        place.behind = NONE;
        place.since = since;
        place.waker = Some(waker);
        match before {
            NONE => self.first = index,
            last => self.place(last).behind = index,
        }
        self.last = index;
        self.length += 1;
        Ticket { index }
    }

    /// Swaps an uncalled waiter's waker for a newer one; false if it was called already.
    pub(crate) fn refresh(&mut self, ticket: &Ticket, newer: &mut Waker) -> bool {
        match &mut self.place(ticket.index).waker {
            Some(waker) => {
                std::mem::swap(waker, newer);
                true
            }
            None => false,
        }
    }

    pub(crate) fn is_called(&self, ticket: &Ticket) -> bool {
        self.places[ticket.index as usize].answer.is_some()
    }

    /// Whether calling this waiter would wake the task of that waker.
    pub(crate) fn would_wake(&self, ticket: &Ticket, newer: &Waker) -> bool {
        let waker = &self.places[ticket.index as usize].waker;
        waker.as_ref().is_some_and(|waker| waker.will_wake(newer))
    }

    /// Since when the first waits.
    pub(crate) fn first_since(&self) -> Option<Duration> {
        let first = self.places.get(self.first as usize)?;
        Some(first.since)
    }

    /// Tells the first waiter; its place keeps the answer until it leaves.
    pub(crate) fn call_first(&mut self, answer: Answer) -> Option<Waker> {
        if self.is_empty() {
            return None;
        }
        let first = self.first;
        self.place(first).answer = Some(answer);
        self.unlink(first)
    }

    pub(crate) fn leave(&mut self, ticket: Ticket) -> Left {
        let index = ticket.index;
        let left = match self.place(index).answer.take() {
            Some(answer) => Left::Called(answer),
            None => Left::Uncalled(self.unlink(index)),
        };
        self.place(index).behind = self.free;
        self.free = index;
        left
    }

    fn free_place(&mut self) -> u32 {
        if self.free == NONE {
            self.places.push(Place {
                before: NONE,
                behind: NONE,
                since: Duration::ZERO,
                waker: None,
                answer: None,
            });
            return self.places.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.place(index).behind;
        index
    }

    /// Takes a waiter out of the order; its place is still its own.
    fn unlink(&mut self, index: u32) -> Option<Waker> {
        let place = self.place(index);
        let (before, behind) = (place.before, place.behind);
        let waker = place.waker.take();
        match before {
            NONE => self.first = behind,
            before => self.place(before).behind = behind,
        }
        match behind {
            NONE => self.last = before,
            behind => self.place(behind).before = before,
        }
        self.length -= 1;
        waker
    }

    fn place(&mut self, index: u32) -> &mut Place {
        &mut self.places[index as usize]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn the_line_keeps_the_order_of_arrival_whoever_leaves() {
        testkit::sim::run("gate line order", 200, |rng| {
            let mut line = Line::new();
            let mut waiting = VecDeque::new();
            for step in 0..100_u64 {
                match rng.u8(0..3) {
                    0 => {
                        let since = Duration::from_secs(step);
                        let ticket = line.join(since, Waker::noop().clone());
                        waiting.push_back((since, ticket));
                    }
                    1 if !waiting.is_empty() => {
                        let (_, ticket) = waiting.remove(rng.usize(..waiting.len())).unwrap();
                        assert!(matches!(line.leave(ticket), Left::Uncalled(_)));
                    }
                    _ => {
                        let first = waiting.pop_front();
                        assert_eq!(line.first_since(), first.as_ref().map(|first| first.0));
                        let at = Duration::from_secs(step);
                        let called = line.call_first(Answer::Granted { at, epoch: 7 });
                        assert_eq!(called.is_some(), first.is_some());
                        if let Some((_, ticket)) = first {
                            assert!(matches!(
                                line.leave(ticket),
                                Left::Called(Answer::Granted { epoch: 7, .. })
                            ));
                        }
                    }
                }
                assert_eq!(line.len() as usize, waiting.len());
                assert!(line.places.len() <= 100);
            }
        });
    }
}
