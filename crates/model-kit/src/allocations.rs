//! Counts what a thread allocates, to show that a fast path allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counted: make it the `#[global_allocator]` of a test.
#[derive(Debug)]
pub struct Counting;

// SAFETY: everything is passed on to the system's allocator; the count is a plain thread-local.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `realloc`, and `at` came from `System`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `at` came from `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Allocations of this thread while `run` ran; panics when [`Counting`] is not the allocator, for then nothing counts.
pub fn during(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert!(
        ALLOCATIONS.get() > before,
        "make allocations::Counting the global allocator"
    );
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}
