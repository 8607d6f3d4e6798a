//! The only door to shared memory: std, or loom when a model explores the interleavings.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};

use std::sync::PoisonError;

/// Locks without regard to poison: no critical section of this crate runs code of others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets even those run whom a yield would not: who is of a higher rank yields to nobody below.
#[cfg(not(loom))]
pub(crate) fn rest() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the other thread does not run; it has a few instructions to go"
    )]
    std::thread::sleep(std::time::Duration::from_micros(100));
}

/// A model has no ranks.
#[cfg(loom)]
pub(crate) fn rest() {
    yield_now();
}

/// std's cell with the face of loom's, which checks each access while a model runs.
#[cfg(not(loom))]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}
