//! Shuttle schedules: more tasks than all interleavings would allow, at random.
//!
//! A failing schedule is printed; `shuttle::replay` runs it again.

use std::future::Future;
use std::task::Poll;
use std::time::Duration;

use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};

use crate::bug::Bug;
use crate::rerun::catches;
use crate::{Class, FairQueue, Refused, Settings, Slot, Work};

const SCHEDULES: usize = 2_000;
const TASKS: u64 = 8;

fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, SCHEDULES);
    println!("shuttle: {name} ran {SCHEDULES} schedules");
}

fn queue(limit: usize) -> FairQueue {
    let settings = Settings {
        limit,
        max_items: 16,
        max_items_per_tenant: 16,
        ..Settings::default()
    };
    FairQueue::new(settings, || Duration::ZERO).expect("good settings")
}

fn work(tenant: u64) -> Work {
    Work::of(Class((tenant % 3) as u16), tenant)
}

/// Polls a few times at most, then gives up.
async fn impatient(queue: &FairQueue, tenant: u64, polls: u32) -> Option<Result<Slot, Refused>> {
    let mut seeker = Box::pin(queue.acquire(work(tenant)));
    for _ in 0..polls {
        let polled = std::future::poll_fn(|cx| Poll::Ready(seeker.as_mut().poll(cx))).await;
        if let Poll::Ready(answer) = polled {
            return Some(answer);
        }
        yield_now().await;
    }
    None
}

async fn visit(queue: FairQueue, tenant: u64, inside: Arc<AtomicUsize>, highest: usize) {
    let answer = if thread_rng().gen_bool(0.5) {
        let polls = thread_rng().gen_range(1..4);
        impatient(&queue, tenant, polls).await
    } else {
        Some(queue.acquire(work(tenant)).await)
    };
    match answer {
        Some(Ok(slot)) => {
            let others = inside.fetch_add(1, Ordering::SeqCst);
            assert!(others < highest, "more inside than any limit there was");
            yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            slot.settle(thread_rng().gen_range(0..4));
        }
        Some(Err(why)) => assert_eq!(why, Refused::Closed),
        None => {}
    }
}

fn visitors(queue: &FairQueue, inside: &Arc<AtomicUsize>) -> Vec<JoinHandle<()>> {
    (0..TASKS)
        .map(|tenant| spawn(visit(queue.clone(), tenant / 2, Arc::clone(inside), 3)))
        .collect()
}

async fn all(visitors: Vec<JoinHandle<()>>) {
    for visitor in visitors {
        visitor.await.expect("no visitor panics");
    }
}

/// Half of those who come give up, while the limit moves: whoever stays is served.
fn storm() {
    let queue = queue(2);
    block_on(async {
        let visitors = visitors(&queue, &Arc::new(AtomicUsize::new(0)));
        for limit in [1, 3, 1, 2] {
            queue.resize(limit).expect("a good limit");
            yield_now().await;
        }
        all(visitors).await;
    });
    assert_eq!(queue.in_use(), 0);
    assert_eq!(queue.snapshot(1).waiting, 0);
    drop(
        queue
            .try_acquire(work(9))
            .expect("a free slot and nobody waits"),
    );
}

/// The only slot stays out until everybody has had an answer.
fn close() {
    let queue = queue(1);
    block_on(async {
        let held = queue.try_acquire(work(9)).expect("a free slot");
        let visitors = visitors(&queue, &Arc::new(AtomicUsize::new(0)));
        yield_now().await;
        queue.close();
        all(visitors).await;
        drop(held);
    });
    assert_eq!(queue.in_use(), 0);
}

#[test]
fn a_storm_of_cancellations_under_a_moving_limit_loses_nobody() {
    explore("cancel storm", storm);
}

#[test]
fn a_close_in_the_middle_answers_everybody() {
    explore("close in a storm", close);
}

#[test]
fn seeded_bugs_are_caught() {
    let storm = "schedules::a_storm_of_cancellations_under_a_moving_limit_loses_nobody";
    let close = "schedules::a_close_in_the_middle_answers_everybody";
    let caught_by = [
        (Bug::FreeInsteadOfHandOver, storm),
        (Bug::KeepSlotOnCancel, storm),
        (Bug::LeaveMark, storm),
        (Bug::CloseSilently, close),
    ];
    for (bug, test) in caught_by {
        catches(bug, test);
    }
}
