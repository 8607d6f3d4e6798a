//! Models of a breaker that opens and closes while others enter.

use std::time::Duration;

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::{NOW, catches, door, explore};
use crate::bug::Bug;
use crate::{BreakerConfig, Limit, Reason};

fn touchy() -> BreakerConfig {
    BreakerConfig {
        probes: 1,
        ramp: Duration::ZERO,
        ..BreakerConfig::consecutive(1)
    }
}

/// A failure opens the breaker while another waits in line: nobody enters afterwards, and the
/// waiter is told one way or the other.
fn nobody_enters_once_it_is_open() {
    let door = door(Limit::fixed(1).with_queue(1).with_breaker(touchy()));
    let held = door.try_enter(NOW).expect("all are free");
    let waiter = {
        let door = door.clone();
        thread::spawn(move || match block_on(door.wait(NOW, None)) {
            Ok(_) => panic!("admitted by an open breaker"),
            Err(rejection) => assert_eq!(rejection.reason(), Reason::BreakerOpen),
        })
    };
    held.failure(NOW);
    let refused = door.try_enter(NOW).expect_err("it is open");
    assert_eq!(refused.reason(), Reason::BreakerOpen);
    waiter.join().unwrap();
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

/// The open time is over and two come at once: one is the probe, the other is refused.
fn one_probe_at_a_time() {
    let door = door(Limit::fixed(4).with_breaker(touchy()));
    door.try_enter(NOW).expect("free").failure(NOW);
    let later = NOW + touchy().open_for;
    let probes = Arc::new(AtomicU32::new(0));
    let probe = {
        let (door, probes) = (door.clone(), Arc::clone(&probes));
        move || {
            if let Ok(lease) = door.try_enter(later) {
                let others = probes.fetch_add(1, Ordering::AcqRel);
                assert_eq!(others, 0, "two probes at once");
                probes.fetch_sub(1, Ordering::AcqRel);
                // Without an outcome: it stays half open and another probe may go.
                drop(lease);
            }
        }
    };
    let other = thread::spawn(probe.clone());
    probe();
    other.join().unwrap();
    door.try_enter(later)
        .expect("the probes are back")
        .success(later);
    door.try_enter(later).expect("it is closed").success(later);
}

// req: GT-07
#[test]
fn an_open_breaker_is_seen() {
    explore("gate breaker opens", nobody_enters_once_it_is_open);
}

// req: GT-07
#[test]
fn probes_are_counted() {
    explore("gate breaker probes", one_probe_at_a_time);
}

// req: GT-07
#[test]
fn bugs_of_the_breaker_are_caught() {
    catches(Bug::OpenUnseen, "models::breaker::an_open_breaker_is_seen");
    catches(Bug::ProbesUncounted, "models::breaker::probes_are_counted");
}
