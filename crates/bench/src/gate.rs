//! The concurrency gate against semaphores, tower's limits and a map of semaphores.

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use concurrency_gate::{Gate, GateConfig, KeyHandle, Limit};
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

mod crowd;
mod keys;
mod tower;

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "gate",
    about: "entering and leaving a concurrency gate against tokio's semaphore, tower and dashmap",
    metrics,
};

const OPERATIONS: usize = 1_000_000;
const NOW: Duration = Duration::from_secs(1_000);
const SEMAPHORE: &str = "tokio Semaphore";

fn metrics(effort: Effort) -> Vec<Metric> {
    let count = effort.scaled(OPERATIONS);
    let rival = |name, ours, peer, theirs, goal_ratio| Metric {
        name,
        unit: "ns/op",
        ours,
        peer: Peer::Rival { name: peer, theirs },
        goal_ratio,
    };
    let budget = |name, unit, ours, allowance| Metric {
        name,
        unit,
        ours,
        peer: Peer::Budget(allowance),
        goal_ratio: 1.0,
    };
    let hand_overs = count / 4;
    vec![
        rival(
            "try_enter",
            gate_try(count),
            SEMAPHORE,
            semaphore_try(count),
            0.6,
        ),
        rival(
            "enter_at_once",
            gate_enter(count),
            SEMAPHORE,
            semaphore_enter(count),
            0.5,
        ),
        budget("refusal", "ns/op", gate_refuse(count), 20.0),
        budget("refusal_queue_full", "ns/op", gate_queue_full(count), 20.0),
        rival(
            "hand_over_1000",
            crowd::gate(hand_overs),
            SEMAPHORE,
            crowd::semaphore(hand_overs),
            1.0,
        ),
        rival(
            "hand_over_1000_timed",
            crowd::gate_timed(hand_overs),
            "Semaphore + timeout",
            crowd::semaphore_timed(hand_overs),
            1.0,
        ),
        rival(
            "tower",
            tower::gate(count),
            "limit + load_shed",
            tower::theirs(count),
            1.0,
        ),
        rival(
            "by_key",
            keys::gate(count),
            "dashmap Semaphore",
            keys::dashmap(count),
            1.0,
        ),
        budget("lookup_1e6", "ns/op", keys::lookup(count), 200.0),
        // Not judged: it says what part of the budget is the machine's.
        rival(
            "lookup_1e6_beside_map",
            keys::lookup(count),
            "HashMap, no lock",
            keys::lookup_in_map(count),
            f64::INFINITY,
        ),
        budget("memory_1e6", "B/key", keys::memory(), 96.0),
    ]
}

fn door(limit: Limit) -> KeyHandle<u64> {
    let gate = Gate::new(GateConfig::new(limit)).expect("the limit makes sense");
    gate.handle(&0, NOW)
}

fn gate_try(operations: usize) -> Cost {
    let door = door(Limit::fixed(8));
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                let entered = door.try_enter(black_box(NOW));
                black_box(&entered);
            }
        })
    })
}

fn semaphore_try(operations: usize) -> Cost {
    let semaphore = Arc::new(Semaphore::new(8));
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                let entered = semaphore.try_acquire();
                black_box(&entered);
            }
        })
    })
}

/// What a task pays for a future that is ready at its first poll. The future stays where it was
/// made, as it does within a task.
#[inline(always)]
fn at_once<F: Future>(future: Pin<&mut F>) -> F::Output {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing is crowded here"),
    }
}

fn gate_enter(operations: usize) -> Cost {
    let door = door(Limit::fixed(8).with_queue(8));
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            at_once(pin!(async {
                for _ in 0..operations {
                    let entered = door.enter(black_box(NOW), None).await;
                    black_box(&entered);
                }
            }));
        })
    })
}

fn semaphore_enter(operations: usize) -> Cost {
    let semaphore = Arc::new(Semaphore::new(8));
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            at_once(pin!(async {
                for _ in 0..operations {
                    let entered = semaphore.acquire().await;
                    black_box(&entered);
                }
            }));
        })
    })
}

fn gate_refuse(operations: usize) -> Cost {
    let door = door(Limit::fixed(1));
    let held = door.try_enter_owned(NOW).expect("a slot");
    Box::new(move || {
        black_box(&held);
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                black_box(door.try_enter(black_box(NOW)).is_err());
            }
        })
    })
}

fn gate_queue_full(operations: usize) -> Cost {
    let door = door(Limit::fixed(1).with_queue(1));
    let held = door.try_enter_owned(NOW).expect("a slot");
    let mut waiter = Box::pin(door.wait_owned(NOW, None));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiter.as_mut().poll(&mut cx).is_pending());
    Box::new(move || {
        black_box((&held, &waiter));
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                black_box(at_once(pin!(door.enter(black_box(NOW), None))).is_err());
            }
        })
    })
}
