//! Those who wait for an item; pushers look at one atomic and take the lock only when somebody
//! sleeps.

use std::task::Waker;

use crate::bug::{Bug, seeded};
use crate::line::{Left, Line, Ticket};
use crate::padded::Padded;
use crate::sync::{AtomicUsize, Mutex, Ordering, fence, lock};

/// A pusher stores its item, then looks at `asleep`; a popper counts itself in `asleep`, then looks
/// for an item. With a full fence between the two steps on both sides, at least one of them sees
/// the other.
pub struct Waiters {
    /// Sleepers not yet called. Written under the lock of `line`, read by every pusher.
    asleep: Padded<AtomicUsize>,
    line: Mutex<Line<()>>,
}

impl Waiters {
    pub(crate) fn new() -> Self {
        Self {
            asleep: Padded(AtomicUsize::new(0)),
            line: Mutex::new(Line::new()),
        }
    }

    /// Stands in line with this waker. The caller must look for an item once more before it sleeps.
    pub(crate) fn enlist(&self, ticket: &mut Option<Ticket>, waker: &Waker) {
        // Cloned before and dropped after the lock: a waker is somebody else's code.
        let mut waker = waker.clone();
        let mut line = lock(&self.line);
        if let Some(held) = ticket.take() {
            if line.refresh(&held, &mut waker) {
                *ticket = Some(held);
                return;
            }
            // Called, but another popper was quicker: back to the end of the line.
            line.leave(held);
        }
        *ticket = Some(line.join(waker));
        self.count(&line);
        drop(line);
        fence(Ordering::SeqCst);
    }

    /// Gives up the place in line; true if the sleeper had been called, that is, if a wake-up ended
    /// with it.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> bool {
        let mut line = lock(&self.line);
        let left = line.leave(ticket);
        self.count(&line);
        drop(line);
        match left {
            Left::Called(()) => true,
            Left::Uncalled(waker) => {
                drop(waker);
                false
            }
        }
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

    /// Wakes everybody who sleeps now.
    pub(crate) fn call_all(&self) {
        while self.call_first() && !seeded(Bug::CloseWakesOne) {}
    }

    #[cold]
    fn call_first(&self) -> bool {
        let mut line = lock(&self.line);
        let called = line.call_first(());
        self.count(&line);
        drop(line);
        match called {
            Some(waker) => {
                waker.wake();
                true
            }
            None => false,
        }
    }

    fn count(&self, line: &Line<()>) {
        self.asleep.store(line.len(), Ordering::Relaxed);
    }
}
