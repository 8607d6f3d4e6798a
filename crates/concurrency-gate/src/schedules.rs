//! Shuttle schedules: the futures with more tasks than all interleavings would allow, at random.
//!
//! A failing schedule is printed; `shuttle::replay` runs it again.

use std::time::Duration;

use shuttle::future::{block_on, spawn, yield_now};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering};

use crate::bug::{self, Bug};
use crate::{BreakerConfig, Gate, GateConfig, KeyHandle, Limit, Reason};

const SCHEDULES: usize = 2_000;
const TASKS: u32 = 8;
const NOW: Duration = Duration::from_secs(1_000);

fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, SCHEDULES);
    println!("shuttle: {name} ran {SCHEDULES} schedules");
}

fn catches(seed: Bug, test: &str) {
    model_kit::catches(bug::SWITCH, seed, test);
}

fn gate(limit: Limit) -> Gate<u8> {
    Gate::new(GateConfig::new(limit)).expect("the limit makes sense")
}

/// Polls a future a few times at most, then drops it: a caller that went away.
async fn impatient<F: Future>(future: F, polls: u32) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    for _ in 0..polls {
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx)));
        if let std::task::Poll::Ready(output) = polled.await {
            return Some(output);
        }
        yield_now().await;
    }
    None
}

async fn visit(door: KeyHandle<u8>, inside: Arc<AtomicU32>, highest: u32) {
    let lease = if thread_rng().gen_bool(0.5) {
        let polls = thread_rng().gen_range(1..4);
        impatient(door.wait(NOW, None), polls).await
    } else {
        Some(door.wait(NOW, None).await)
    };
    match lease {
        Some(Ok(lease)) => {
            let others = inside.fetch_add(1, Ordering::SeqCst);
            assert!(others < highest, "more inside than any limit there was");
            yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            lease.success(NOW);
        }
        Some(Err(rejection)) => assert_eq!(rejection.reason(), Reason::QueueFull),
        None => {}
    }
}

/// Half of the waiters go away while they wait, the limit moves between one and three: the limit
/// holds, and whoever stays is served.
fn a_cancel_storm_under_a_moving_limit() {
    let gate = gate(Limit::fixed(2).with_queue(TASKS));
    let door = gate.handle(&0, NOW);
    let inside = Arc::new(AtomicU32::new(0));
    block_on(async {
        let visitors: Vec<_> = (0..TASKS)
            .map(|_| spawn(visit(door.clone(), Arc::clone(&inside), 3)))
            .collect();
        for limit in [1, 3, 1, 2] {
            door.resize(limit).expect("a limit");
            yield_now().await;
        }
        for visitor in visitors {
            visitor.await.expect("no visitor panics");
        }
    });
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

/// Failures open the breaker and its time passes while callers wait: everybody is answered, and
/// all slots come back.
fn a_breaker_that_opens_under_waiters() {
    let breaker = BreakerConfig {
        probes: 2,
        ..BreakerConfig::consecutive(2)
    };
    let gate = gate(Limit::fixed(2).with_queue(TASKS).with_breaker(breaker));
    let door = gate.handle(&0, NOW);
    block_on(async {
        let callers: Vec<_> = (0..TASKS)
            .map(|number| {
                let (door, now) = (
                    door.clone(),
                    NOW + Duration::from_secs(u64::from(number)) * 3,
                );
                spawn(async move {
                    if let Ok(lease) = door.wait(now, None).await {
                        yield_now().await;
                        if thread_rng().gen_bool(0.5) {
                            lease.failure(now);
                        } else {
                            lease.success(now);
                        }
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no caller panics");
        }
    });
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

/// Close and a sweep meet callers of two keys, one of which stays occupied: everybody is answered,
/// and nobody enters afterwards.
fn close_and_sweep_meet_callers() {
    let gate = gate(Limit::fixed(1).with_queue(TASKS));
    let occupied = gate.try_enter(&0, NOW).expect("free");
    block_on(async {
        let callers: Vec<_> = (0..TASKS)
            .map(|number| {
                let gate = gate.clone();
                spawn(async move {
                    let door = gate.handle(&(number as u8 % 2), NOW);
                    let entered = door.wait(NOW, None).await;
                    yield_now().await;
                    entered.is_ok()
                })
            })
            .collect();
        gate.sweep(NOW * 1_000);
        yield_now().await;
        gate.close();
        for caller in callers {
            caller.await.expect("no caller panics");
        }
    });
    drop(occupied);
    let refused = gate.try_enter(&0, NOW).expect_err("it is closed");
    assert_eq!(refused.reason(), Reason::Closed);
}

// req: GT-02, GT-03, GT-04, GT-06
#[test]
fn cancel_storms_lose_nothing() {
    explore("gate cancel storm", a_cancel_storm_under_a_moving_limit);
}

// req: GT-07
#[test]
fn an_opening_breaker_answers_everybody() {
    explore("gate breaker", a_breaker_that_opens_under_waiters);
}

// req: GT-05, GT-08
#[test]
fn closing_answers_everybody() {
    explore("gate close", close_and_sweep_meet_callers);
}

// req: GT-03, GT-04
#[test]
fn bugs_of_the_futures_are_caught() {
    let storm = "schedules::cancel_storms_lose_nothing";
    catches(Bug::KeepSlotOnCancel, storm);
    catches(Bug::FreeInsteadOfHandOver, storm);
    catches(Bug::CloseSilently, "schedules::closing_answers_everybody");
}
