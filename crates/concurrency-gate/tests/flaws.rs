//! Mistakes this kind of gate is known for, each as a law that rules it out.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use concurrency_gate::{
    BreakerConfig, Gate, GateConfig, GateError, KeyHandle, Limit, LimitError, Reason,
};

const NOW: Duration = Duration::from_secs(1_000);

fn gate(limit: Limit) -> Gate<&'static str> {
    Gate::new(GateConfig::new(limit)).expect("the limit makes sense")
}

fn door(limit: Limit) -> KeyHandle<&'static str> {
    gate(limit).handle(&"door", NOW)
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn at(ms: u64) -> Duration {
    NOW + Duration::from_millis(ms)
}

// req: GT-01
#[test]
fn a_queue_without_room_is_refused_when_configured_and_the_remedy_is_named() {
    let roomless = Limit {
        queue: true,
        queue_max: 0,
        ..Limit::fixed(4)
    };
    assert_eq!(roomless.check(), Err(LimitError::QueueWithoutRoom));
    let error = Gate::<u32>::new(GateConfig::new(roomless.clone())).unwrap_err();
    assert_eq!(error, GateError::Limit(LimitError::QueueWithoutRoom));
    let text = error.to_string();
    assert!(
        text.contains("queue_max of 1 or more") && text.contains("turn queue off"),
        "{text}"
    );
    let error = gate(Limit::fixed(1)).register("door", roomless);
    assert_eq!(
        error.unwrap_err(),
        GateError::Limit(LimitError::QueueWithoutRoom)
    );
}

// req: GT-01
#[test]
fn a_free_slot_is_never_refused_for_a_full_queue() {
    let door = door(Limit::fixed(2).with_queue(1));
    let first = door.try_enter(NOW).unwrap();
    let _second = door.try_enter(NOW).unwrap();
    let mut waiter = Box::pin(door.wait(NOW, None));
    assert!(poll(&mut waiter).is_pending());
    let Poll::Ready(Err(full)) = poll(&mut Box::pin(door.wait(NOW, None))) else {
        panic!("the queue has one place")
    };
    assert_eq!(full.reason(), Reason::QueueFull);
    drop(first);
    let Poll::Ready(Ok(third)) = poll(&mut waiter) else {
        panic!("the slot was handed over")
    };
    drop(third);
    assert!(matches!(
        poll(&mut Box::pin(door.wait(NOW, None))),
        Poll::Ready(Ok(_))
    ));
}

// req: GT-07
#[test]
fn the_breaker_never_opens_on_the_gates_own_refusals() {
    let breaker = BreakerConfig::consecutive(1);
    let door = door(Limit::fixed(1).with_queue(1).with_breaker(breaker));
    let held = door.try_enter(NOW).unwrap();
    for _ in 0..1_000 {
        assert_eq!(door.try_enter(NOW).unwrap_err().reason(), Reason::Saturated);
    }
    for _ in 0..1_000 {
        // Cancelled while waiting, and expired while waiting.
        let mut cancelled = Box::pin(door.wait(NOW, None));
        assert!(poll(&mut cancelled).is_pending());
        drop(cancelled);
        let mut late = Box::pin(door.wait(NOW, None));
        assert!(poll(&mut late).is_pending());
        assert_eq!(
            late.as_mut().expire().unwrap_err().reason(),
            Reason::Deadline
        );
    }
    held.ignore();
    door.try_enter(NOW)
        .expect("nothing has failed")
        .failure(NOW);
    let refused = door.try_enter(NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::BreakerOpen);
    assert_eq!(refused.retry_after(), breaker.open_for);
}

// req: GT-07
#[test]
fn a_breaker_shuts_its_own_key_only() {
    let limit = Limit::fixed(1).with_breaker(BreakerConfig::consecutive(1));
    let gate = gate(limit);
    gate.try_enter(&"bad", NOW).unwrap().failure(NOW);
    assert!(gate.try_enter(&"bad", NOW).is_err());
    assert!(gate.try_enter(&"good", NOW).is_ok());
    assert_eq!(gate.statistics().breaker_openings, 1);
}

// req: GT-03
#[test]
fn a_lease_gives_its_slot_back_exactly_once_however_it_ends() {
    let door = door(Limit::fixed(3).with_breaker(BreakerConfig::consecutive(1_000)));
    for round in 0..100 {
        let leases = [(), (), ()].map(|()| door.try_enter(NOW).unwrap());
        assert_eq!(door.in_flight(), 3);
        let [a, b, c] = leases;
        match round % 5 {
            0 => a.success(NOW),
            1 => a.failure(NOW),
            2 => a.ignore(),
            3 => drop(a),
            _ => drop(a.into_owned()),
        }
        assert_eq!(door.in_flight(), 2);
        drop((b, c));
        assert_eq!(door.in_flight(), 0);
    }
}

// req: GT-03
#[test]
fn a_panic_in_a_holder_gives_the_slot_back_and_counts_as_a_failure() {
    let door = door(Limit::fixed(1).with_breaker(BreakerConfig::consecutive(2)));
    for _ in 0..2 {
        assert_eq!(door.in_flight(), 0);
        let holder = door.clone();
        let panicked = std::panic::catch_unwind(move || {
            let _lease = holder.try_enter(NOW).expect("one slot");
            panic!("the holder's own trouble");
        });
        assert!(panicked.is_err());
    }
    assert_eq!(door.in_flight(), 0);
    assert_eq!(
        door.try_enter(NOW).unwrap_err().reason(),
        Reason::BreakerOpen
    );
}

// req: GT-05
#[test]
fn an_entry_is_not_evicted_while_a_handle_a_lease_or_a_waiter_has_it() {
    let gate = gate(Limit::fixed(1).with_queue(1));
    let year = Duration::from_secs(365 * 24 * 3_600);
    let handle = gate.handle(&"door", NOW);
    assert_eq!(gate.sweep(NOW + year).evicted, 0);
    let lease = handle.try_enter_owned(NOW).unwrap();
    let mut waiter = Box::pin(handle.wait_owned(NOW, None));
    assert!(poll(&mut waiter).is_pending());
    drop(handle);
    assert_eq!(gate.sweep(NOW + 2 * year).evicted, 0);
    drop(lease);
    assert_eq!(gate.sweep(NOW + 3 * year).evicted, 0);
    let again = gate.handle(&"door", NOW);
    assert_eq!(again.in_flight(), 1, "it is the same entry");
    drop((waiter, again));
    let used = NOW + 3 * year;
    assert_eq!(gate.sweep(used + Duration::from_secs(599)).evicted, 0);
    assert_eq!(gate.sweep(used + Duration::from_secs(600)).evicted, 1);
}

// req: GT-06
#[test]
fn lowering_the_limit_of_a_saturated_key_holds_at_once() {
    let door = door(Limit::fixed(10).with_queue(10));
    let mut inside: Vec<_> = (0..10).map(|_| door.try_enter(NOW).unwrap()).collect();
    let mut waiter = Box::pin(door.wait(NOW, None));
    assert!(poll(&mut waiter).is_pending());
    door.resize(3).unwrap();
    assert_eq!(door.in_flight(), 10, "nobody is sent away");
    while inside.len() > 3 {
        inside.pop();
        assert_eq!(
            door.in_flight() as usize,
            inside.len(),
            "debt is paid first"
        );
        assert!(poll(&mut waiter).is_pending());
        assert!(door.try_enter(NOW).is_err());
    }
    inside.pop();
    assert!(matches!(poll(&mut waiter), Poll::Ready(Ok(_))));
}

// req: GT-06
#[test]
fn raising_the_limit_lets_waiters_in_at_once_and_in_order() {
    let door = door(Limit::fixed(1).with_queue(10));
    let held = door.try_enter(NOW).unwrap();
    let mut waiters: Vec<_> = (0..5).map(|_| Box::pin(door.wait(NOW, None))).collect();
    waiters
        .iter_mut()
        .for_each(|w| assert!(poll(w).is_pending()));
    door.resize(4).unwrap();
    let answers: Vec<_> = waiters.iter_mut().map(poll).collect();
    let ready: Vec<_> = answers.iter().map(Poll::is_ready).collect();
    assert_eq!(ready, [true, true, true, false, false]);
    assert_eq!(door.in_flight(), 4);
    drop((held, answers));
    assert!(waiters[3..].iter_mut().all(|w| poll(w).is_ready()));
}

// req: GT-02, GT-08
#[test]
fn a_deadline_in_the_past_is_refused_at_once_even_if_a_slot_is_free() {
    let door = door(Limit::fixed(1).with_queue(1));
    let Poll::Ready(Err(late)) = poll(&mut Box::pin(door.wait(at(5), Some(at(4))))) else {
        panic!("it is too late")
    };
    assert_eq!(late.reason(), Reason::Deadline);
    assert!(late.retry_after() > Duration::ZERO);
    assert_eq!(door.in_flight(), 0);
}

// req: GT-02
#[test]
fn nobody_overtakes_those_in_line() {
    let door = door(Limit::fixed(1).with_queue(10));
    let held = door.try_enter(NOW).unwrap();
    let mut waiter = Box::pin(door.wait(NOW, None));
    assert!(poll(&mut waiter).is_pending());
    drop(held);
    // The slot is the waiter's, though it has not looked yet.
    assert_eq!(door.try_enter(NOW).unwrap_err().reason(), Reason::Saturated);
    let mut newcomer = Box::pin(door.wait(NOW, None));
    assert!(poll(&mut newcomer).is_pending());
    let Poll::Ready(Ok(lease)) = poll(&mut waiter) else {
        panic!("its turn")
    };
    assert!(poll(&mut newcomer).is_pending());
    drop(lease);
    assert!(poll(&mut newcomer).is_ready());
}

// req: GT-08
#[test]
fn after_close_everybody_is_told_and_leases_stay_valid() {
    let gate = gate(Limit::fixed(1).with_queue(2));
    let door = gate.handle(&"door", NOW);
    let held = door.try_enter(NOW).unwrap();
    let mut waiter = Box::pin(door.wait(NOW, None));
    assert!(poll(&mut waiter).is_pending());
    gate.close();
    let Poll::Ready(Err(told)) = poll(&mut waiter) else {
        panic!("nobody waits at a closed gate")
    };
    assert_eq!(told.reason(), Reason::Closed);
    assert_eq!(door.in_flight(), 1);
    drop(held);
    assert_eq!(door.try_enter(NOW).unwrap_err().reason(), Reason::Closed);
    let new_key = gate.try_enter(&"other", NOW).unwrap_err();
    assert_eq!(new_key.reason(), Reason::Closed);
    let Poll::Ready(Err(told)) = poll(&mut pin!(door.wait(NOW, None))) else {
        panic!("nobody waits at a closed gate")
    };
    assert_eq!(told.reason(), Reason::Closed);
    let registered_late = gate.register("late", Limit::fixed(1)).unwrap();
    let refused = registered_late.try_enter(NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::Closed);
}

// req: GT-01, GT-05
#[test]
fn a_key_never_registered_gets_the_default_limit_which_was_checked_before_any_key_came() {
    let senseless = Gate::<&str>::new(GateConfig::new(Limit::fixed(0)));
    assert_eq!(
        senseless.unwrap_err(),
        GateError::Limit(LimitError::ZeroMax)
    );

    let gate = gate(Limit::fixed(1));
    let known = gate.register("known", Limit::fixed(2)).unwrap();
    let inside = gate.try_enter(&"unknown", NOW).unwrap();
    let stranger = gate.handle(&"unknown", NOW);
    assert_eq!((stranger.limit(), known.limit()), (1, 2));
    let refused = gate.try_enter(&"unknown", NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::Saturated);
    let Poll::Ready(Err(told)) = poll(&mut pin!(stranger.wait(NOW, None))) else {
        panic!("the default limit has no queue to be stuck in")
    };
    assert_eq!(told.reason(), Reason::Saturated);

    let too_late = gate.register("unknown", Limit::fixed(5));
    assert_eq!(too_late.unwrap_err(), GateError::InUse);
    assert_eq!((stranger.limit(), stranger.in_flight()), (1, 1));
    drop(inside);
    assert!(gate.try_enter(&"unknown", NOW).is_ok());
}

// req: GT-05, GT-11
#[test]
fn gates_that_make_no_sense_are_told_when_they_are_made() {
    type Spoil = fn(&mut GateConfig);
    let cases: [(Spoil, GateError); 4] = [
        (|config| config.keys_max = 0, GateError::NoKeys),
        (|config| config.overflow_entries = 1, GateError::NoOverflow),
        (
            |config| config.min_idle_age = Duration::from_millis(999),
            GateError::IdleAgeTooShort,
        ),
        (
            |config| config.sweep_every = Duration::ZERO,
            GateError::NoSweepInterval,
        ),
    ];
    for (spoil, error) in cases {
        let mut config = GateConfig::new(Limit::fixed(1));
        spoil(&mut config);
        assert_eq!(Gate::<u32>::new(config).unwrap_err(), error);
    }
}

// req: GT-01
#[test]
fn limits_that_make_no_sense_are_told_when_registered() {
    let gate = gate(Limit::fixed(1));
    let wrong = |limit: Limit| match gate.register("wrong", limit).unwrap_err() {
        GateError::Limit(error) => error,
        other => panic!("{other}"),
    };
    assert_eq!(wrong(Limit::fixed(0)), LimitError::ZeroMax);
    assert_eq!(
        wrong(Limit::fixed(u32::MAX)),
        LimitError::MaxTooHigh(u32::MAX)
    );
    let impatient = Limit::fixed(1)
        .with_queue(1)
        .with_wait_timeout(Duration::ZERO);
    assert_eq!(wrong(impatient), LimitError::NoTimeToWait);
    assert_eq!(
        wrong(Limit::fixed(1).with_queue(u32::MAX)),
        LimitError::QueueTooLong(u32::MAX)
    );
    let mut breaker = BreakerConfig::ratio();
    breaker.probes = 0;
    assert!(matches!(
        wrong(Limit::fixed(1).with_breaker(breaker)),
        LimitError::Breaker(_)
    ));
    gate.register("right", Limit::fixed(2)).unwrap();
    assert_eq!(
        gate.register("right", Limit::fixed(2)).unwrap_err(),
        GateError::Registered
    );
    let _in_use = gate.handle(&"used", NOW);
    assert_eq!(
        gate.register("used", Limit::fixed(2)).unwrap_err(),
        GateError::InUse
    );
    let door = gate.handle(&"right", NOW);
    assert_eq!(door.resize(0), Err(LimitError::ZeroMax));
    assert_eq!(door.limit(), 2);
}

// req: GT-03, GT-04
#[test]
fn a_cancelled_waiter_passes_on_what_it_had_been_given() {
    let door = Arc::new(door(Limit::fixed(1).with_queue(2)));
    let held = door.try_enter(NOW).unwrap();
    let mut first = Box::pin(door.wait(NOW, None));
    let mut second = Box::pin(door.wait(NOW, None));
    assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
    drop(held);
    drop(first);
    assert!(matches!(poll(&mut second), Poll::Ready(Ok(_))));
    assert_eq!(door.waiting(), 0);
}
