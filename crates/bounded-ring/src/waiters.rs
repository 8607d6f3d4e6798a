//! Those who wait for an item; pushers look at one atomic and take the lock only when somebody
//! sleeps.

use std::convert::Infallible;
use std::task::Waker;

use crate::bug::{Bug, seeded};
use crate::line::{Line, Ticket};
use crate::padded::Padded;
use crate::sync::{AtomicUsize, Mutex, Ordering, fence, lock};

/// A pusher stores its item, then looks at `asleep`; a popper counts itself in `asleep`, then looks
/// for an item. With a full fence between the two steps on both sides, at least one of them sees
/// the other.
pub struct Waiters {
    /// Sleepers not yet called. Written under the lock of `line`, read by every pusher.
    asleep: Padded<AtomicUsize>,
    /// All tickets below this number have been called or given back. Written under the lock, so
    /// that a woken popper learns without it that it was called.
    called: AtomicUsize,
    line: Mutex<Line<Infallible>>,
}

/// Whether a popper that goes back to the line had been called since it last looked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    Call,
}

impl Waiters {
    pub(crate) fn new() -> Self {
        Self {
            asleep: Padded(AtomicUsize::new(0)),
            called: AtomicUsize::new(0),
            line: Mutex::new(Line::new()),
        }
    }

    /// Stands in line with this waker. The caller must look for an item once more before it sleeps,
    /// and if it finds one, it still owes the call it has heard of here.
    pub(crate) fn enlist(&self, place: &mut Option<Ticket>, waker: &Waker) -> Heard {
        // Cloned before and dropped after the lock: a waker is somebody else's code.
        let mut waker = waker.clone();
        let mut line = lock(&self.line);
        let heard = match place {
            Some(ticket) if !self.was_called(ticket) => {
                line.refresh(ticket, &mut waker);
                Heard::Nothing
            }
            // Called, but before there was something to take: to the end of the line.
            Some(ticket) => {
                *ticket = line.join(waker);
                Heard::Call
            }
            None => {
                *place = Some(line.join(waker));
                Heard::Nothing
            }
        };
        self.count(&line);
        drop(line);
        fence(Ordering::SeqCst);
        if seeded(Bug::ForgetHeardCall) {
            Heard::Nothing
        } else {
            heard
        }
    }

    /// Gives up the place in line; true if the sleeper had been called, that is, if a wake-up ended
    /// with it.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> bool {
        if self.was_called(&ticket) {
            return true;
        }
        let mut line = lock(&self.line);
        if self.was_called(&ticket) {
            return true;
        }
        let left = line.leave(ticket);
        self.count(&line);
        drop(line);
        drop(left);
        false
    }

    /// Wakes the first sleeper, if there is one. To be called after the item is in place.
    #[inline]
    pub(crate) fn call_one(&self) {
        if !seeded(Bug::LookWithoutFence) {
            fence(Ordering::SeqCst);
        }
        if self.asleep.load(Ordering::Relaxed) != 0 {
            self.call_first();
        }
    }

    /// Wakes the first sleeper in the place of one who was called and does not come. As with a call,
    /// the item is in place before: who is not seen here asleep sees the item.
    pub(crate) fn nudge(&self) {
        if seeded(Bug::TrustTheCalled) && self.called.load(Ordering::Acquire) != 0 {
            return;
        }
        self.call_one();
    }

    /// Wakes everybody who sleeps now.
    pub(crate) fn call_all(&self) {
        while !seeded(Bug::CloseSilently) && self.call_first() {}
    }

    #[cold]
    fn call_first(&self) -> bool {
        let mut line = lock(&self.line);
        let Some((number, waker)) = line.dismiss_first() else {
            return false;
        };
        self.called.store(number + 1, Ordering::Release);
        self.count(&line);
        drop(line);
        waker.wake();
        true
    }

    fn was_called(&self, ticket: &Ticket) -> bool {
        ticket.number < self.called.load(Ordering::Acquire)
    }

    fn count(&self, line: &Line<Infallible>) {
        self.asleep.store(line.len(), Ordering::Relaxed);
    }
}
