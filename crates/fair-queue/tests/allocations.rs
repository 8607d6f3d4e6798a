//! What is on the fast path allocates nothing: the bypass, a wait, the order, a cancellation.
#![cfg(not(any(loom, shuttle)))]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use fair_queue::{Class, FairQueue, Queue, Settings, Work};
use model_kit::allocations::{Counting, during};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// req: FQ-06
#[test]
fn with_a_free_slot_nothing_is_allocated() {
    let queue = FairQueue::new(Settings::default(), || Duration::ZERO).expect("good settings");
    let mut context = Context::from_waker(Waker::noop());
    let counted = during(|| {
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
    let counted = during(|| {
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
    let counted = during(|| {
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
