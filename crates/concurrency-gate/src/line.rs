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
    free: Option<u32>,
    first: Option<u32>,
    last: Option<u32>,
    length: u32,
}

enum Place {
    Free {
        next: Option<u32>,
    },
    Waiting {
        before: Option<u32>,
        behind: Option<u32>,
        since: Duration,
        waker: Waker,
    },
    Called(Answer),
}

/// What a waiter takes along when it leaves.
pub(crate) enum Left {
    Called(Answer),
    /// Its waker, to be dropped outside of any lock.
    Uncalled(Waker),
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
            free: None,
            first: None,
            last: None,
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
        let index = self.place(Place::Waiting {
            before: self.last,
            behind: None,
            since,
            waker,
        });
        match self.last {
            Some(last) => self.set_behind(last, Some(index)),
            None => self.first = Some(index),
        }
        self.last = Some(index);
        self.length += 1;
        Ticket { index }
    }

    /// Swaps an uncalled waiter's waker for a newer one; false if it was called already.
    pub(crate) fn refresh(&mut self, ticket: &Ticket, newer: &mut Waker) -> bool {
        match &mut self.places[ticket.index as usize] {
            Place::Waiting { waker, .. } => {
                std::mem::swap(waker, newer);
                true
            }
            Place::Called(_) => false,
            Place::Free { .. } => unreachable!("a ticket outlives its place"),
        }
    }

    pub(crate) fn is_called(&self, ticket: &Ticket) -> bool {
        matches!(self.places[ticket.index as usize], Place::Called(_))
    }

    /// Whether calling this waiter would wake the task of that waker.
    pub(crate) fn would_wake(&self, ticket: &Ticket, newer: &Waker) -> bool {
        match &self.places[ticket.index as usize] {
            Place::Waiting { waker, .. } => waker.will_wake(newer),
            Place::Called(_) | Place::Free { .. } => false,
        }
    }

    /// Since when the first waits.
    pub(crate) fn first_since(&self) -> Option<Duration> {
        match &self.places[self.first? as usize] {
            Place::Waiting { since, .. } => Some(*since),
            Place::Called(_) | Place::Free { .. } => unreachable!("only waiters are linked"),
        }
    }

    /// Tells the first waiter; its place keeps the answer until it leaves.
    pub(crate) fn call_first(&mut self, answer: Answer) -> Option<Waker> {
        let index = self.first?;
        Some(self.unlink(index, Place::Called(answer)))
    }

    pub(crate) fn leave(&mut self, ticket: Ticket) -> Left {
        let vacated = Place::Free { next: self.free };
        self.free = Some(ticket.index);
        if let Place::Waiting { .. } = self.places[ticket.index as usize] {
            return Left::Uncalled(self.unlink(ticket.index, vacated));
        }
        match std::mem::replace(&mut self.places[ticket.index as usize], vacated) {
            Place::Called(answer) => Left::Called(answer),
            Place::Waiting { .. } | Place::Free { .. } => {
                unreachable!("a ticket outlives its place")
            }
        }
    }

    fn place(&mut self, place: Place) -> u32 {
        let Some(index) = self.free else {
            self.places.push(place);
            return self.places.len() as u32 - 1;
        };
        let Place::Free { next } = std::mem::replace(&mut self.places[index as usize], place)
        else {
            unreachable!("the free list holds free places only");
        };
        self.free = next;
        index
    }

    fn unlink(&mut self, index: u32, successor: Place) -> Waker {
        let place = std::mem::replace(&mut self.places[index as usize], successor);
        let Place::Waiting {
            before,
            behind,
            waker,
            ..
        } = place
        else {
            unreachable!("only waiters are linked");
        };
        match before {
            Some(index) => self.set_behind(index, behind),
            None => self.first = behind,
        }
        match behind {
            Some(index) => self.set_before(index, before),
            None => self.last = before,
        }
        self.length -= 1;
        waker
    }

    fn set_behind(&mut self, index: u32, to: Option<u32>) {
        if let Place::Waiting { behind, .. } = &mut self.places[index as usize] {
            *behind = to;
        }
    }

    fn set_before(&mut self, index: u32, to: Option<u32>) {
        if let Place::Waiting { before, .. } = &mut self.places[index as usize] {
            *before = to;
        }
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
