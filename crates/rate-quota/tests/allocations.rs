//! A check allocates nothing, whether its key is known, new, or one too many.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use rate_quota::{Quota, Rate};

/// Counts what the thread that asks has allocated.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator; the count is a plain thread-local.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `at` came from `System`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[test]
fn a_check_allocates_nothing() {
    let rate = Rate::new(100, Duration::from_secs(1)).expect("a good rate");
    let quota = Quota::new(rate, 100);
    let counted = allocations(|| {
        for number in 0..100_000_u64 {
            let now = Duration::from_micros(number);
            let _ = quota.check(number % 1_000, 1, now);
        }
    });
    assert_eq!(counted, 0);
    assert!(
        allocations(|| drop(std::hint::black_box(Box::new(1)))) > 0,
        "the counter counts"
    );
}
