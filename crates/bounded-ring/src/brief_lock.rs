//! A lock for a few instructions: giving it up is one plain store.
//!
//! A lock that puts its waiters to sleep has to ask, at every release, whether somebody sleeps, and that question
//! costs as much as taking the lock. Here nobody sleeps until woken: who finds the lock taken spins, then lets others
//! run, then rests a little and looks again. Right only where the lock is seldom contended and nobody who holds it
//! waits, allocates much or runs code of others.

use crate::backoff::Backoff;
use crate::bug::{Bug, seeded};
use crate::sync::{AtomicBool, Ordering, UnsafeCell};

/// A value for one thread at a time.
pub struct BriefLock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value from thread to thread, one at a time, and never shares it.
unsafe impl<T: Send> Send for BriefLock<T> {}
// SAFETY: as above; a shared reference to the lock gives no more than a turn with the value.
unsafe impl<T: Send> Sync for BriefLock<T> {}

impl<T> BriefLock<T> {
    /// Guards `value`.
    pub fn new(value: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Does `work` with the value while nobody else does. If it panics, the lock is free again.
    ///
    /// `work` must not come back to the same lock: it would wait for itself.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        if !self.take() {
            self.wait();
        }
        let turn = Turn(&self.taken);
        // SAFETY: whoever set `taken` is alone with the value until its turn ends.
        let result = self.value.with_mut(|value| work(unsafe { &mut *value }));
        drop(turn);
        result
    }

    #[inline]
    fn take(&self) -> bool {
        if seeded(Bug::TakeInTwoSteps) {
            let free = !self.taken.load(Ordering::Acquire);
            if free {
                self.taken.store(true, Ordering::Relaxed);
            }
            return free;
        }
        self.taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut backoff = Backoff::new();
        while !self.take() {
            backoff.await_other();
        }
    }
}

/// Ends when dropped, also by a panic.
struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        let order = if seeded(Bug::LeaveUnordered) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        self.0.store(false, order);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
