//! Breakers and adaptive limits at work in a gate.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use concurrency_gate::{
    Bounds, BreakerConfig, BreakerState, Gate, GateConfig, KeyHandle, Limit, LimitError, Policy,
    Reason,
};

const START: Duration = Duration::from_secs(100);

fn door(limit: Limit) -> (Gate<u8>, KeyHandle<u8>) {
    let gate = Gate::new(GateConfig::new(limit)).expect("the limit makes sense");
    let door = gate.handle(&0, START);
    (gate, door)
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn breaker_state(gate: &Gate<u8>) -> Option<BreakerState> {
    gate.report().keys[0].breaker
}

// req: GT-07
#[test]
fn a_breaker_opens_probes_ramps_and_closes() {
    let breaker = BreakerConfig {
        probes: 2,
        ..BreakerConfig::consecutive(3)
    };
    let (gate, door) = door(Limit::fixed(100).with_breaker(breaker));
    for _ in 0..3 {
        door.try_enter(START).unwrap().failure(START);
    }
    assert_eq!(breaker_state(&gate), Some(BreakerState::Open));
    let halfway = START + breaker.open_for / 2;
    let refused = door.try_enter(halfway).unwrap_err();
    assert_eq!(refused.reason(), Reason::BreakerOpen);
    assert_eq!(refused.retry_after(), breaker.open_for / 2);

    let open_again = START + breaker.open_for;
    let probes: Vec<_> = std::iter::from_fn(|| door.try_enter(open_again).ok()).collect();
    assert_eq!(probes.len(), 2);
    assert_eq!(breaker_state(&gate), Some(BreakerState::HalfOpen));
    probes
        .into_iter()
        .for_each(|probe| probe.success(open_again));

    assert_eq!(breaker_state(&gate), Some(BreakerState::Ramping));
    let mut before = 0;
    for tenth in 0..=10 {
        let now = open_again + breaker.ramp * tenth / 10;
        let inside: Vec<_> = std::iter::from_fn(|| door.try_enter(now).ok()).collect();
        assert!(
            inside.len() > before,
            "{} after {tenth} tenths",
            inside.len()
        );
        assert!(inside.len() <= 10 + tenth as usize * 9);
        before = inside.len();
    }
    assert_eq!(
        (before, breaker_state(&gate)),
        (100, Some(BreakerState::Closed))
    );
    assert_eq!(gate.statistics().breaker_openings, 1);
}

// req: GT-07
#[test]
fn an_opening_breaker_sends_waiters_away_at_once() {
    let breaker = BreakerConfig::consecutive(1);
    let (_gate, door) = door(Limit::fixed(1).with_queue(3).with_breaker(breaker));
    let held = door.try_enter(START).unwrap();
    let mut waiters = [(); 3].map(|()| Box::pin(door.wait(START, None)));
    assert!(waiters.iter_mut().all(|waiter| poll(waiter).is_pending()));
    held.failure(START);
    for waiter in &mut waiters {
        let Poll::Ready(Err(rejection)) = poll(waiter) else {
            panic!("a waiter stays with an open breaker")
        };
        assert_eq!(rejection.reason(), Reason::BreakerOpen);
        assert_eq!(rejection.retry_after(), breaker.open_for);
    }
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

// req: GT-07
#[test]
fn a_probe_that_says_nothing_makes_way_for_another() {
    let breaker = BreakerConfig {
        probes: 1,
        ..BreakerConfig::consecutive(1)
    };
    let (_gate, door) = door(Limit::fixed(5).with_breaker(breaker));
    door.try_enter(START).unwrap().failure(START);
    let now = START + breaker.open_for;
    for _ in 0..10 {
        let probe = door.try_enter(now).expect("one at a time");
        assert!(door.try_enter(now).is_err());
        drop(probe.into_owned());
    }
}

// req: GT-12
#[test]
fn an_adaptive_limit_grows_under_load_and_lets_waiters_in() {
    let bounds = Bounds { min: 1, max: 50 };
    let (_gate, door) = door(Limit::adaptive(2, bounds).with_queue(100));
    let mut now = START;
    let mut waits: Vec<_> = (0..100).map(|_| Box::pin(door.wait(now, None))).collect();
    let mut most = 0;
    for _ in 0..400 {
        let mut inside = Vec::new();
        waits.retain_mut(|wait| match poll(wait) {
            Poll::Ready(lease) => {
                inside.push(lease.expect("room to wait"));
                false
            }
            Poll::Pending => true,
        });
        most = most.max(inside.len());
        assert!(inside.len() <= 50);
        now += Duration::from_millis(10);
        // The service is as quick with many as with few.
        inside.into_iter().for_each(|lease| lease.success(now));
        while waits.len() < 100 {
            waits.push(Box::pin(door.wait(now, None)));
        }
    }
    assert!(most >= 30, "{most} at most, {} allowed", door.limit());
}

// req: GT-12
#[test]
fn policies_that_make_no_sense_are_refused() {
    let bounds = Bounds { min: 5, max: 2 };
    let refused = Limit::adaptive(3, bounds).check();
    assert_eq!(refused, Err(LimitError::OutsideBounds { max: 3, bounds }));
    let bounds = Bounds { min: 0, max: 2 };
    assert_eq!(Limit::adaptive(1, bounds).check(), Err(LimitError::ZeroMax));
    let bounds = Bounds { min: 1, max: 2 };
    let wrong = [
        Policy::Aimd {
            bounds,
            slow: Duration::from_millis(1),
            backoff: 1.0,
        },
        Policy::Gradient {
            bounds,
            tolerance: f64::NAN,
        },
        Policy::Guarded {
            bounds,
            target: Duration::ZERO,
            window: Duration::from_secs(1),
        },
    ];
    for policy in wrong {
        let limit = Limit {
            policy,
            ..Limit::fixed(1)
        };
        assert!(
            matches!(limit.check(), Err(LimitError::Policy(_))),
            "{policy:?}"
        );
    }
}
