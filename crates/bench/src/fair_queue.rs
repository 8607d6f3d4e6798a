//! The fair queue: what its order costs, and its slots against `tokio::sync::Semaphore`.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use fair_queue::{Class, FairQueue, Queue, Settings, Work};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "fair-queue",
    about: "deficit round robin by number of tenants; slots against tokio's semaphore",
    metrics,
};

const ORDER_BUDGET_NANOS: f64 = 100.0;
/// A million tenants may cost this much more than ten: what a colder cache costs, no search.
const FLAT: f64 = 1.5;
const WAITERS: usize = 1_000;
const NOW: Duration = Duration::ZERO;

fn metrics(effort: Effort) -> Vec<Metric> {
    let operations = effort.scaled(2_000_000);
    let hand_overs = effort.scaled(400_000);
    let order = |name, tenants| Metric {
        name,
        unit: "ns/item",
        ours: order_of(tenants, operations),
        peer: Peer::Budget(ORDER_BUDGET_NANOS),
        goal_ratio: 1.0,
    };
    vec![
        order("order_of_10_tenants", 10),
        order("order_of_1k_tenants", 1_000),
        order("order_of_1m_tenants", 1_000_000),
        Metric {
            name: "order_1m_to_10_tenants",
            unit: "ns/item",
            ours: order_of(1_000_000, operations),
            peer: Peer::Rival {
                name: "ours, 10 tenants",
                theirs: order_of(10, operations),
            },
            goal_ratio: FLAT,
        },
        slots("bypass", ours_bypass(operations), theirs_bypass(operations)),
        slots(
            "bypass_async",
            ours_immediate(operations),
            theirs_immediate(operations),
        ),
        slots(
            "hand_over_1k_waiters",
            ours_saturated(WAITERS as u64, hand_overs),
            theirs_saturated(hand_overs),
        ),
        slots(
            "hand_over_10_tenants",
            ours_saturated(10, hand_overs),
            theirs_saturated(hand_overs),
        ),
        slots(
            "hand_over_timed",
            ours_timed(hand_overs),
            theirs_timed(hand_overs),
        ),
    ]
}

fn slots(name: &'static str, ours: Cost, theirs: Cost) -> Metric {
    Metric {
        name,
        unit: "ns/op",
        ours,
        peer: Peer::Rival {
            name: "tokio Semaphore",
            theirs,
        },
        goal_ratio: 1.0,
    }
}

/// One push and one pop of a queue that is half full, tenants coming in an order without pattern.
fn order_of(tenants: u64, operations: usize) -> Cost {
    let settings = Settings {
        max_items_per_tenant: 512,
        ..Settings::default()
    };
    let mut queue = Queue::new(settings).expect("good settings");
    let mut next = tenants_at_random(tenants);
    for _ in 0..256 {
        push(&mut queue, next());
    }
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                push(&mut queue, next());
                black_box(queue.pop(NOW, |_, _| ()));
            }
        })
    })
}

fn push(queue: &mut Queue<u64>, tenant: u64) {
    let work = Work::of(Class((tenant % 3) as u16), tenant);
    let pushed = queue.push(black_box(work), tenant, NOW, |_, _| ());
    black_box(pushed).expect("there is room");
}

/// A multiplicative walk: cheap, and no two neighbours alike.
fn tenants_at_random(tenants: u64) -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 32) % tenants
    }
}

fn fair(limit: usize) -> FairQueue {
    let settings = Settings {
        limit,
        max_items: 2 * WAITERS,
        max_items_per_tenant: 2 * WAITERS,
        ..Settings::default()
    };
    FairQueue::new(settings, coarse).expect("good settings")
}

/// The clock that the documentation advises: precise to a few milliseconds, and nearly free.
pub(crate) fn coarse() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for one timespec, which the call fills when it succeeds.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, time.as_mut_ptr()) };
    assert_eq!(status, 0, "every Linux has a coarse clock");
    // SAFETY: the call succeeded.
    let time = unsafe { time.assume_init() };
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

fn ours_bypass(operations: usize) -> Cost {
    let queue = fair(32);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for tenant in 0..operations as u64 {
                let work = Work::of(Class::AUTHED, black_box(tenant));
                drop(black_box(queue.try_acquire(work)));
            }
        })
    })
}

/// Owned, as ours is: a slot outlives the call that got it.
fn theirs_bypass(operations: usize) -> Cost {
    let semaphore = Arc::new(Semaphore::new(32));
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                drop(black_box(Arc::clone(&semaphore).try_acquire_owned()));
            }
        })
    })
}

fn ours_immediate(operations: usize) -> Cost {
    let queue = fair(32);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            runtime().block_on(async {
                for tenant in 0..operations as u64 {
                    let work = Work::of(Class::AUTHED, black_box(tenant));
                    drop(black_box(queue.acquire(work).await));
                }
            });
        })
    })
}

fn theirs_immediate(operations: usize) -> Cost {
    let semaphore = Arc::new(Semaphore::new(32));
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            runtime().block_on(async {
                for _ in 0..operations {
                    drop(black_box(Arc::clone(&semaphore).acquire_owned().await));
                }
            });
        })
    })
}

/// A thousand tasks that wait for one slot, pass it on and wait again.
fn saturated<F: Future<Output = ()> + Send + 'static>(task: impl Fn(usize) -> F) {
    runtime().block_on(async {
        let tasks: Vec<_> = (0..WAITERS).map(|at| tokio::spawn(task(at))).collect();
        for task in tasks {
            task.await.expect("a waiter ends");
        }
    });
}

fn ours_saturated(tenants: u64, operations: usize) -> Cost {
    let each = operations / WAITERS;
    Box::new(move || {
        let queue = fair(1);
        let task = |at: usize| {
            let (queue, tenant) = (queue.clone(), at as u64 % tenants);
            async move {
                for _ in 0..each {
                    let slot = queue.acquire(Work::of(Class::AUTHED, tenant)).await;
                    tokio::task::yield_now().await;
                    drop(slot.expect("there is room"));
                }
            }
        };
        Clock::Wall.nanos_each(each * WAITERS, || saturated(task))
    })
}

fn theirs_saturated(operations: usize) -> Cost {
    let each = operations / WAITERS;
    Box::new(move || {
        let semaphore = Arc::new(Semaphore::new(1));
        let task = |_| {
            let semaphore = Arc::clone(&semaphore);
            async move {
                for _ in 0..each {
                    let permit = Arc::clone(&semaphore).acquire_owned().await;
                    tokio::task::yield_now().await;
                    drop(permit.expect("never closed"));
                }
            }
        };
        Clock::Wall.nanos_each(each * WAITERS, || saturated(task))
    })
}

/// As who measures what it does: the clock is read before and after, whoever hands out the slots. Ours is told what was
/// read.
fn ours_timed(operations: usize) -> Cost {
    let each = operations / WAITERS;
    Box::new(move || {
        let queue = fair(1);
        let task = |at: usize| {
            let (queue, tenant) = (queue.clone(), at as u64);
            async move {
                for _ in 0..each {
                    let (work, began) = (Work::of(Class::AUTHED, tenant), coarse());
                    let slot = queue.acquire_at(work, began).await;
                    tokio::task::yield_now().await;
                    let ended = coarse();
                    slot.expect("there is room").settle_at(1, ended);
                    black_box(ended.saturating_sub(began));
                }
            }
        };
        Clock::Wall.nanos_each(each * WAITERS, || saturated(task))
    })
}

fn theirs_timed(operations: usize) -> Cost {
    let each = operations / WAITERS;
    Box::new(move || {
        let semaphore = Arc::new(Semaphore::new(1));
        let task = |_| {
            let semaphore = Arc::clone(&semaphore);
            async move {
                for _ in 0..each {
                    let began = coarse();
                    let permit = Arc::clone(&semaphore).acquire_owned().await;
                    tokio::task::yield_now().await;
                    let ended = coarse();
                    drop(permit.expect("never closed"));
                    black_box(ended.saturating_sub(began));
                }
            }
        };
        Clock::Wall.nanos_each(each * WAITERS, || saturated(task))
    })
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers starts")
}
