//! The only door to shared memory: std, or a checker that explores the interleavings.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};
#[cfg(all(shuttle, not(loom)))]
pub(crate) use shuttle::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

use std::sync::PoisonError;

/// Locks without regard to poison: no critical section of this crate runs code of others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
