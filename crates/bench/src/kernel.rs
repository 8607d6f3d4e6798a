//! The kernel's hot paths: what every request of every service pays.

use std::hint::black_box;
use std::sync::Arc;

use kernel::Kernel;
use kernel::config::Live;
use kernel::metrics::{Kind, MetricSpec, Registry};
use kernel::queue::{self, OnFull, QueueSpec};
use kernel::tasks::{TaskGroup, TaskKind};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// What the kernel costs.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "kernel",
    about: "metric increment, config snapshot, queue, spawn accounting",
    metrics,
};

const CAPACITY: usize = 512;
static WORK: QueueSpec = QueueSpec {
    name: "bench",
    capacity: CAPACITY,
    on_full: OnFull::RejectNew,
    doc: "benchmark",
};
static HITS: MetricSpec = MetricSpec {
    name: "hits_total",
    kind: Kind::Counter,
    labels: &["door"],
    help: "benchmark",
};
static UNIT: TaskKind = TaskKind {
    name: "bench",
    doc: "benchmark",
};

fn metrics(effort: Effort) -> Vec<Metric> {
    let operations = effort.scaled(2_000_000);
    let tasks = effort.scaled(100_000);
    vec![
        Metric {
            name: "metric increment, held handle",
            unit: "ns",
            ours: increment(operations),
            peer: Peer::Budget(10.0),
            goal_ratio: 1.0,
        },
        Metric {
            name: "config snapshot read",
            unit: "ns",
            ours: snapshot(operations),
            peer: Peer::Budget(30.0),
            goal_ratio: 1.0,
        },
        Metric {
            name: "queue try_send + try_recv",
            unit: "ns",
            ours: queue_turn(operations),
            peer: Peer::Rival {
                name: "tokio mpsc",
                theirs: mpsc_turn(operations),
            },
            goal_ratio: 1.0,
        },
        spawn::<USUAL>("spawn, ends at once", tasks, Waits::No, Peers::Bare),
        spawn::<USUAL>("spawn, waits once", tasks, Waits::Once, Peers::Bare),
        spawn::<LEAST>("spawn, empty, ends at once", tasks, Waits::No, Peers::Bare),
        spawn::<LEAST>("spawn, empty, waits once", tasks, Waits::Once, Peers::Bare),
        spawn::<LEAST>(
            "spawn, two threads, CPU",
            tasks,
            Waits::Once,
            Peers::BareOnThreads,
        ),
        spawn::<LEAST>("spawn, owned by a set", tasks, Waits::Once, Peers::JoinSet),
    ]
}

fn increment(operations: usize) -> Cost {
    let counter = Registry::default().counter(&HITS, &["front"]);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                black_box(&counter).inc();
            }
        })
    })
}

fn snapshot(operations: usize) -> Cost {
    let live = Live::new(7u64);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for _ in 0..operations {
                black_box(black_box(&live).load().generation);
            }
        })
    })
}

fn queue_turn(operations: usize) -> Cost {
    let (kernel, _publisher) = Kernel::new();
    let (sender, receiver) = queue::bounded(&WORK, &kernel.queues);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for number in 0..operations {
                black_box(sender.try_send(number)).expect("there is room");
                black_box(receiver.try_recv());
            }
        })
    })
}

fn mpsc_turn(operations: usize) -> Cost {
    let (sender, mut receiver) = mpsc::channel(CAPACITY);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for number in 0..operations {
                black_box(sender.try_send(number)).expect("there is room");
                black_box(receiver.try_recv()).expect("it is there");
            }
        })
    })
}

#[derive(Clone, Copy)]
enum Waits {
    No,
    Once,
}

/// Bytes a task holds: less than any of the node's does, the smallest of which waits for a socket.
const USUAL: usize = 128;
/// A task without anything fills the runtime's 128-byte cell to the last byte, so that whatever is added takes two.
const LEAST: usize = 0;

async fn unit<const HELD: usize>(waits: Waits, held: [u8; HELD]) -> u64 {
    match waits {
        Waits::No => {}
        Waits::Once => tokio::task::yield_now().await,
    }
    black_box(&held);
    7
}

/// Who spawns on the other side: nobody who owns the task, or a set that does as a group does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peers {
    Bare,
    BareOnThreads,
    JoinSet,
}

fn spawn<const HELD: usize>(
    name: &'static str,
    tasks: usize,
    waits: Waits,
    peers: Peers,
) -> Metric {
    let threads = peers == Peers::BareOnThreads;
    let clock = if threads { Clock::Cpu } else { Clock::Wall };
    let (peer, theirs, goal_ratio) = match peers {
        Peers::JoinSet => ("JoinSet", spawn_in_set::<HELD>(tasks, waits), 1.0),
        Peers::Bare | Peers::BareOnThreads => (
            "tokio::spawn",
            spawn_bare::<HELD>(tasks, waits, threads, clock),
            1.1,
        ),
    };
    Metric {
        name,
        unit: "ns",
        ours: spawn_counted::<HELD>(tasks, waits, threads, clock),
        peer: Peer::Rival { name: peer, theirs },
        goal_ratio,
    }
}

/// Spawned in batches, the way connections come: a few under way at a time.
const BATCH: usize = 100;

fn spawn_counted<const HELD: usize>(
    tasks: usize,
    waits: Waits,
    threads: bool,
    clock: Clock,
) -> Cost {
    let runtime = runtime(threads);
    Box::new(move || {
        let group = TaskGroup::new(&Registry::default());
        let spawner = group.kind(&UNIT);
        clock.nanos_each(tasks, || {
            runtime.block_on(async {
                for _ in 0..tasks / BATCH {
                    let batch: Vec<_> = (0..BATCH)
                        .map(|_| spawner.spawn(unit(waits, [0; HELD])))
                        .collect();
                    for task in batch {
                        black_box(task.join().await);
                    }
                }
            });
        })
    })
}

fn spawn_bare<const HELD: usize>(tasks: usize, waits: Waits, threads: bool, clock: Clock) -> Cost {
    let runtime = runtime(threads);
    Box::new(move || {
        clock.nanos_each(tasks, || {
            runtime.block_on(async {
                for _ in 0..tasks / BATCH {
                    let batch: Vec<_> = (0..BATCH)
                        .map(|_| tokio::spawn(unit(waits, [0; HELD])))
                        .collect();
                    for task in batch {
                        black_box(task.await.expect("it does not panic"));
                    }
                }
            });
        })
    })
}

fn spawn_in_set<const HELD: usize>(tasks: usize, waits: Waits) -> Cost {
    let runtime = runtime(false);
    Box::new(move || {
        let mut set = tokio::task::JoinSet::new();
        Clock::Wall.nanos_each(tasks, || {
            runtime.block_on(async {
                for _ in 0..tasks / BATCH {
                    for _ in 0..BATCH {
                        set.spawn(unit(waits, [0; HELD]));
                    }
                    while let Some(done) = set.join_next().await {
                        black_box(done.expect("it does not panic"));
                    }
                }
            });
        })
    })
}

fn runtime(threads: bool) -> Arc<Runtime> {
    let mut builder = if threads {
        Builder::new_multi_thread()
    } else {
        Builder::new_current_thread()
    };
    Arc::new(
        builder
            .build()
            .expect("a runtime without drivers needs nothing"),
    )
}
