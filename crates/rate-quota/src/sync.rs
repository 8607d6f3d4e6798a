//! The only door to shared memory: std, or loom when a model explores the interleavings.

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread::yield_now,
};
