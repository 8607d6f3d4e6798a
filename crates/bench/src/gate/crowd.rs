//! A thousand tasks that want one slot, and give others a turn while they have it: each operation
//! hands it over.

use std::sync::Arc;
use std::time::Duration;

use concurrency_gate::Limit;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::{NOW, door};
use crate::clock::Clock;
use crate::frame::Cost;

const TASKS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(20);

fn limit() -> Limit {
    Limit::fixed(1).with_queue(TASKS as u32)
}

/// Every task enters as often as it takes for all to sum up to the number of operations.
fn crowd<F>(operations: usize, task: impl Fn(usize) -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime with a timer needs nothing");
    Clock::Wall.nanos_each(operations, || {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| tokio::spawn(task(operations / TASKS)))
                .collect();
            for task in tasks {
                task.await.expect("no task panics");
            }
        });
    })
}

pub(super) fn gate(operations: usize) -> Cost {
    let door = door(limit());
    Box::new(move || {
        crowd(operations, |visits| {
            let door = door.clone();
            async move {
                for _ in 0..visits {
                    let lease = door.wait(NOW, None).await.expect("room to wait");
                    yield_now().await;
                    drop(lease);
                }
            }
        })
    })
}

pub(super) fn semaphore(operations: usize) -> Cost {
    let semaphore = Arc::new(Semaphore::new(1));
    Box::new(move || {
        crowd(operations, |visits| {
            let semaphore = Arc::clone(&semaphore);
            async move {
                for _ in 0..visits {
                    let permit = semaphore.acquire().await.expect("never closed");
                    yield_now().await;
                    drop(permit);
                }
            }
        })
    })
}

pub(super) fn gate_timed(operations: usize) -> Cost {
    let door = door(limit());
    Box::new(move || {
        crowd(operations, |visits| {
            let door = door.clone();
            async move {
                for _ in 0..visits {
                    let lease = door.enter(NOW, None).await.expect("room to wait");
                    yield_now().await;
                    drop(lease);
                }
            }
        })
    })
}

pub(super) fn semaphore_timed(operations: usize) -> Cost {
    let semaphore = Arc::new(Semaphore::new(1));
    Box::new(move || {
        crowd(operations, |visits| {
            let semaphore = Arc::clone(&semaphore);
            async move {
                for _ in 0..visits {
                    let permit = timeout(PATIENCE, semaphore.acquire()).await;
                    let permit = permit.expect("in time").expect("never closed");
                    yield_now().await;
                    drop(permit);
                }
            }
        })
    })
}
