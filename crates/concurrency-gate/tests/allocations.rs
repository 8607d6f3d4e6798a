//! Neither entering nor waiting allocates: counted, not believed.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use concurrency_gate::{BreakerConfig, Gate, GateConfig, Limit, Notices};
use model_kit::allocations::{Counting, during};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NOW: Duration = Duration::from_secs(5);

fn gate(limit: Limit) -> Gate<u64> {
    Gate::new(GateConfig::new(limit)).expect("the limit makes sense")
}

fn ready<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing to wait for"),
    }
}

// req: GT-08
#[test]
fn entering_leaving_and_being_refused_allocate_nothing() {
    let breaker = BreakerConfig::ratio();
    let limits = [
        Limit::fixed(1),
        Limit::fixed(1).with_queue(4),
        Limit::fixed(1).with_breaker(breaker),
    ];
    for limit in limits {
        let gate = gate(limit);
        let door = gate.handle(&0, NOW);
        let count = during(|| {
            for _ in 0..1_000 {
                let lease = door.try_enter(NOW).expect("free");
                assert!(door.try_enter(NOW).is_err());
                lease.success(NOW);
                drop(ready(pin!(door.wait(NOW, None))).expect("free"));
                drop(gate.try_enter(&0, NOW).expect("free"));
            }
        });
        assert_eq!(count, 0);
    }
}

// req: GT-08
#[test]
fn refusals_by_a_full_queue_a_past_deadline_an_open_breaker_and_a_closed_gate_allocate_nothing() {
    let breaker = BreakerConfig::consecutive(1);
    let gate = gate(Limit::fixed(1).with_queue(1).with_breaker(breaker));
    let (full, open) = (gate.handle(&0, NOW), gate.handle(&1, NOW));
    let _held = full.try_enter(NOW).expect("free");
    let mut waiter = pin!(full.wait(NOW, None));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiter.as_mut().poll(&mut cx).is_pending());
    open.try_enter(NOW).expect("free").failure(NOW);
    let refuse = || {
        for _ in 0..1_000 {
            assert!(ready(pin!(full.wait(NOW, None))).is_err());
            assert!(ready(pin!(full.wait(NOW, Some(NOW)))).is_err());
            assert!(open.try_enter(NOW).is_err());
            assert!(ready(pin!(open.wait(NOW, None))).is_err());
        }
    };
    assert_eq!(during(refuse), 0);
    gate.close();
    assert_eq!(during(refuse), 0);
}

#[test]
fn waiting_being_handed_a_slot_and_giving_up_allocate_nothing() {
    let gate = gate(Limit::fixed(1).with_queue(2));
    let door = gate.handle(&0, NOW);
    let wait = || {
        let held = door.try_enter(NOW).expect("free");
        let mut next = pin!(door.wait(NOW, None));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(next.as_mut().poll(&mut cx).is_pending());
        {
            let fickle = pin!(door.wait(NOW, None));
            assert!(fickle.poll(&mut cx).is_pending());
        }
        drop(held);
        drop(ready(next).expect("handed over"));
    };
    // What waiting needs of an entry is made by the first who waits there.
    wait();
    assert_eq!(during(|| (0..1_000).for_each(|_| wait())), 0);
}

// req: GT-08
#[cfg(feature = "tokio")]
#[test]
fn an_enter_that_need_not_wait_sets_no_timer_and_allocates_nothing() {
    let gate = gate(Limit::fixed(1).with_queue(1));
    let door = gate.handle(&0, NOW);
    let count = during(|| {
        for _ in 0..1_000 {
            drop(ready(pin!(door.enter(NOW, None))).expect("free"));
        }
    });
    assert_eq!(count, 0);
}

// req: GT-10
#[test]
fn suppressing_a_notice_allocates_nothing() {
    let notices = Notices::new(16);
    assert!(notices.allows("peer", NOW));
    let count = during(|| {
        for _ in 0..1_000 {
            assert!(!notices.allows("peer", NOW));
        }
    });
    assert_eq!(count, 0);
}
