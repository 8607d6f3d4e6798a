//! Locks whose critical section is a few instructions: cheaper to give up than those that let waiters sleep.

use super::{LockSpec, order};

/// A [`bounded_ring::BriefLock`] made from a spec: of the same order as every other lock.
pub struct BriefLock<T> {
    spec: &'static LockSpec,
    lock: bounded_ring::BriefLock<T>,
}

impl<T> BriefLock<T> {
    /// Guards `value`.
    pub fn new(spec: &'static LockSpec, value: T) -> Self {
        Self {
            spec,
            lock: bounded_ring::BriefLock::new(value),
        }
    }

    /// Does `work` with the value while nobody else does.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let _rank = order::Held::enter(self.spec);
        self.lock.with(work)
    }
}
