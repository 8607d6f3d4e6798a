//! Those who wait, in order of arrival; joining, leaving and calling are O(1).

use std::ptr::NonNull;
use std::task::Waker;
use std::time::Duration;

use crate::seat::{Answer, Link, Seat};

/// The ends of the line. Its seats belong to those who wait: each stays where it is until it was
/// called or has left.
pub(crate) struct Line {
    first: Link,
    last: Link,
    length: u32,
}

// SAFETY: seats may be shared, and everybody who reaches one by the line holds the line.
unsafe impl Send for Line {}

impl Line {
    pub(crate) const fn new() -> Self {
        Self {
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

    /// # Safety
    /// The seat is new and stays in its place until it is called by this line or leaves it.
    pub(crate) unsafe fn join(&mut self, seat: NonNull<Seat>, since: Duration) {
        let before = self.last.replace(seat);
        // SAFETY: as the caller promises; it was in no line so far.
        unsafe {
            seat.as_ref()
                .with(|inner| (inner.before, inner.since) = (before, since))
        };
        match before {
            None => self.first = Some(seat),
            // SAFETY: it is in this line, which is held.
            Some(before) => unsafe { before.as_ref().with(|inner| inner.behind = Some(seat)) },
        }
        self.length += 1;
    }

    /// Swaps an uncalled waiter's waker for a newer one; false if it was called already.
    ///
    /// # Safety
    /// The seat has joined this line and is there still.
    pub(crate) unsafe fn refresh(&mut self, seat: &Seat, newer: &mut Waker) -> bool {
        if seat.is_called() {
            return false;
        }
        let swap = |waker: &mut Waker| std::mem::swap(waker, newer);
        // SAFETY: it is uncalled, so it is in this line, which is held.
        unsafe { seat.with(|inner| inner.waker.as_mut().map(swap)) }.is_some()
    }

    /// Whether calling this waiter would wake the task of that waker. Not if it was called.
    ///
    /// # Safety
    /// The seat has joined this line and is there still.
    pub(crate) unsafe fn would_wake(&mut self, seat: &Seat, newer: &Waker) -> bool {
        let same = |waker: &Waker| waker.will_wake(newer);
        // SAFETY: it is uncalled, so it is in this line, which is held.
        !seat.is_called() && unsafe { seat.with(|inner| inner.waker.as_ref().is_some_and(same)) }
    }

    /// Since when the first waits.
    pub(crate) fn first_since(&self) -> Option<Duration> {
        // SAFETY: it is in this line, which is held.
        self.first
            .map(|first| unsafe { first.as_ref().with(|inner| inner.since) })
    }

    /// Tells the first waiter.
    pub(crate) fn call_first(&mut self, answer: Answer) -> Option<Waker> {
        let first = self.first?;
        // SAFETY: it is in this line, which is held, until it is unlinked, and is not touched once
        // it has been called.
        unsafe {
            let waker = self.unlink(first.as_ref());
            first.as_ref().call(answer);
            waker
        }
    }

    /// Takes a waiter out of the line, unless it was called: then its answer is in its seat. The
    /// waker is to be dropped outside of any lock.
    ///
    /// # Safety
    /// The seat has joined this line and is there still.
    pub(crate) unsafe fn leave(&mut self, seat: &Seat) -> Option<Waker> {
        if seat.is_called() {
            return None;
        }
        // SAFETY: it is uncalled, so it is in this line.
        unsafe { self.unlink(seat) }
    }

    /// # Safety
    /// The seat is in this line.
    unsafe fn unlink(&mut self, seat: &Seat) -> Option<Waker> {
        // SAFETY: it and its neighbours are in this line, which is held.
        unsafe {
            let (before, behind, waker) =
                seat.with(|inner| (inner.before, inner.behind, inner.waker.take()));
            match before {
                None => self.first = behind,
                Some(before) => before.as_ref().with(|inner| inner.behind = behind),
            }
            match behind {
                None => self.last = before,
                Some(behind) => behind.as_ref().with(|inner| inner.before = before),
            }
            self.length -= 1;
            waker
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    // req: GT-02
    #[test]
    fn the_line_keeps_the_order_of_arrival_whoever_leaves() {
        testkit::sim::run("gate line order", 200, |rng| {
            let mut line = Line::new();
            let mut waiting = VecDeque::new();
            for step in 0..100_u64 {
                match rng.u8(0..3) {
                    0 => {
                        let since = Duration::from_secs(step);
                        let mut seat = Box::new(Seat::new());
                        seat.will_wake(Waker::noop());
                        let seat = NonNull::new(Box::into_raw(seat)).unwrap();
                        // SAFETY: the box is freed below, once the seat has left or was called.
                        unsafe { line.join(seat, since) };
                        waiting.push_back((since, seat));
                    }
                    1 if !waiting.is_empty() => {
                        let (_, seat) = waiting.remove(rng.usize(..waiting.len())).unwrap();
                        // SAFETY: it came from a box and has joined.
                        unsafe {
                            assert!(line.leave(seat.as_ref()).is_some());
                            drop(Box::from_raw(seat.as_ptr()));
                        }
                    }
                    _ => {
                        let first = waiting.pop_front();
                        assert_eq!(line.first_since(), first.map(|first| first.0));
                        let at = Duration::from_secs(step);
                        let called = line.call_first(Answer::Granted { at, epoch: 7 });
                        assert_eq!(called.is_some(), first.is_some());
                        if let Some((_, seat)) = first {
                            // SAFETY: it came from a box and is not in line any more.
                            let seat = unsafe { Box::from_raw(seat.as_ptr()) };
                            // SAFETY: it had joined.
                            assert!(unsafe { line.leave(&seat) }.is_none());
                            assert!(matches!(
                                seat.answer(),
                                Some(Answer::Granted { epoch: 7, .. })
                            ));
                        }
                    }
                }
                assert_eq!(line.len() as usize, waiting.len());
            }
            while let Some((_, seat)) = waiting.pop_front() {
                // SAFETY: it came from a box, and the line is not used any more.
                drop(unsafe { Box::from_raw(seat.as_ptr()) });
            }
        });
    }
}
