//! What is on the fast path allocates nothing: the bypass, a wait, the order, a cancellation.
#![cfg(not(any(loom, shuttle)))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use fair_queue::{Class, FairQueue, Queue, Settings, Work};

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
fn the_counter_counts() {
    assert!(allocations(|| drop(std::hint::black_box(Box::new(1)))) > 0);
}

// req: FQ-06
#[test]
fn with_a_free_slot_nothing_is_allocated() {
    let queue = FairQueue::new(Settings::default(), || Duration::ZERO).expect("good settings");
    let mut context = Context::from_waker(Waker::noop());
    let counted = allocations(|| {
        for tenant in 0..10_000 {
            let mut seeker = pin!(queue.acquire(Work::of(Class::ANON, tenant)));
            assert!(seeker.as_mut().poll(&mut context).is_ready());
            drop(queue.try_acquire(Work::of(Class::AUTHED, tenant)));
        }
    });
    assert_eq!(counted, 0);
}

#[test]
fn waiting_being_handed_a_slot_and_giving_up_allocate_nothing() {
    let settings = Settings {
        limit: 1,
        ..Settings::default()
    };
    let queue = FairQueue::new(settings, || Duration::ZERO).expect("good settings");
    let mut context = Context::from_waker(Waker::noop());
    let counted = allocations(|| {
        for tenant in 0..10_000 {
            let held = queue.try_acquire(Work::of(Class::ANON, tenant));
            let mut next = pin!(queue.acquire(Work::of(Class::ANON, tenant + 1)));
            let mut fickle = Box::pin(queue.acquire(Work::of(Class::ANON, tenant + 2)));
            assert!(next.as_mut().poll(&mut context).is_pending());
            assert!(fickle.as_mut().poll(&mut context).is_pending());
            drop(fickle);
            drop(held);
            assert!(next.as_mut().poll(&mut context).is_ready());
        }
    });
    assert_eq!(counted, 10_000, "one for each box of this test");
}

// req: FQ-03
#[test]
fn a_million_tenants_pass_through_the_core_without_an_allocation() {
    let tenants = if cfg!(miri) { 2_000 } else { 1_000_000 };
    let mut queue = Queue::new(Settings::default()).expect("good settings");
    let counted = allocations(|| {
        for tenant in 0..tenants {
            let work = Work::of(Class(tenant as u16 % 3), tenant);
            queue
                .push(work, (), Duration::ZERO, |_, _| ())
                .expect("there is room");
            if queue.len() > 500 {
                queue
                    .pop(Duration::ZERO, |_, _| ())
                    .expect("somebody waits");
            }
        }
    });
    assert_eq!(counted, 0);
}
