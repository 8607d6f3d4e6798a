//! A reject-new ring against `tokio::sync::mpsc`, both with a push that never waits.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;

use bounded_ring::RejectNew;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::coop;

use crate::clock::Clock;
use crate::cores::pin;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "queue",
    about: "push and pop of a bounded queue against tokio::sync::mpsc",
    metrics,
};

const CAPACITY: usize = 512;
const CONSUMER_CORE: usize = 0;
const PRODUCER_CORE: usize = 1;
const PING_OPERATIONS: usize = 1_000_000;
const STREAM_OPERATIONS: usize = 400_000;

fn metrics(effort: Effort) -> Vec<Metric> {
    let pings = effort.scaled(PING_OPERATIONS);
    let items = effort.scaled(STREAM_OPERATIONS);
    let streamed = |name, producers, clock| {
        let (ours, theirs) = (
            ring_stream(producers, items, clock),
            mpsc_stream(producers, items, clock),
        );
        metric(name, ours, theirs)
    };
    vec![
        metric("uncontended", ring_ping(pings), mpsc_ping(pings)),
        metric(
            "hand_over",
            ring_hand_over(pings / 4),
            mpsc_hand_over(pings / 4),
        ),
        streamed("one_to_one", 1, Clock::Wall),
        streamed("one_to_one_cpu", 1, Clock::Cpu),
        streamed("four_to_one", 4, Clock::Wall),
        streamed("four_to_one_cpu", 4, Clock::Cpu),
    ]
}

fn metric(name: &'static str, ours: Cost, theirs: Cost) -> Metric {
    let peer = Peer::Rival {
        name: "tokio::sync::mpsc",
        theirs,
    };
    Metric {
        name,
        unit: "ns/op",
        ours,
        peer,
        goal_ratio: 1.0,
    }
}

fn ring_ping(operations: usize) -> Cost {
    let ring = RejectNew::new(CAPACITY);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for number in 0..operations {
                ring.try_push(black_box(number)).expect("one item fits");
                black_box(ring.try_pop());
            }
        })
    })
}

fn mpsc_ping(operations: usize) -> Cost {
    let (sender, mut receiver) = mpsc::channel(CAPACITY);
    Box::new(move || {
        Clock::Wall.nanos_each(operations, || {
            for number in 0..operations {
                sender.try_send(black_box(number)).expect("one item fits");
                let _ = black_box(receiver.try_recv());
            }
        })
    })
}

/// Each item finds its receiver asleep: two tasks of one thread pass a number to and fro.
fn hand_over(ping: impl Future<Output = ()>, pong: impl Future<Output = ()> + Send + 'static) {
    runtime().block_on(async {
        let pong = tokio::spawn(pong);
        ping.await;
        pong.await.expect("the answering task ends");
    });
}

fn ring_hand_over(operations: usize) -> Cost {
    Box::new(move || {
        let (there, back) = (
            Arc::new(RejectNew::new(CAPACITY)),
            Arc::new(RejectNew::new(CAPACITY)),
        );
        let answer = {
            let (there, back) = (Arc::clone(&there), Arc::clone(&back));
            async move {
                while let Some(number) = coop::cooperative(there.pop()).await {
                    back.try_push(number).expect("one item fits");
                }
            }
        };
        let ask = async {
            for number in 0..operations / 2 {
                there.try_push(number).expect("one item fits");
                black_box(coop::cooperative(back.pop()).await);
            }
            there.close();
        };
        Clock::Wall.nanos_each(operations, || hand_over(ask, answer))
    })
}

fn mpsc_hand_over(operations: usize) -> Cost {
    Box::new(move || {
        let (there, mut asked) = mpsc::channel(CAPACITY);
        let (back, mut answered) = mpsc::channel(CAPACITY);
        let answer = async move {
            while let Some(number) = asked.recv().await {
                back.try_send(number).expect("one item fits");
            }
        };
        let ask = async move {
            for number in 0..operations / 2 {
                there.try_send(number).expect("one item fits");
                black_box(answered.recv().await);
            }
        };
        Clock::Wall.nanos_each(operations, || hand_over(ask, answer))
    })
}

/// Producers on threads of their own, away from the consumer's core, so that they truly meet; the
/// consumer is a task, as it would be in a service.
fn stream(
    producers: usize,
    items: usize,
    push: impl Fn(usize) -> bool + Sync,
    drain: impl Future<Output = ()>,
) {
    thread::scope(|scope| {
        for _ in 0..producers {
            scope.spawn(|| {
                pin(PRODUCER_CORE);
                for number in 0..items / producers {
                    while !push(number) {
                        thread::yield_now();
                    }
                }
            });
        }
        pin(CONSUMER_CORE);
        runtime().block_on(drain);
    });
}

fn ring_stream(producers: usize, items: usize, clock: Clock) -> Cost {
    Box::new(move || {
        let ring = RejectNew::new(CAPACITY);
        let drain = async {
            for _ in 0..items / producers * producers {
                // tokio's receiver yields when its task has run long enough; so does this.
                black_box(coop::cooperative(ring.pop()).await);
            }
        };
        let push = |number| ring.try_push(number).is_ok();
        clock.nanos_each(items, || stream(producers, items, push, drain))
    })
}

fn mpsc_stream(producers: usize, items: usize, clock: Clock) -> Cost {
    Box::new(move || {
        let (sender, mut receiver) = mpsc::channel(CAPACITY);
        let drain = async {
            for _ in 0..items / producers * producers {
                black_box(receiver.recv().await);
            }
        };
        let push = |number| sender.try_send(number).is_ok();
        clock.nanos_each(items, || stream(producers, items, push, drain))
    })
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers needs nothing")
}
