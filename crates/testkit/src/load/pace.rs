//! When each request leaves: by the clock, or when the last answer has come.

use super::Range;
use super::shot::{Shot, fire};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// Longest sleep, so that a stop is soon seen.
const NAP: Duration = Duration::from_millis(20);

/// Sends each stream's requests at their intended instants.
///
/// Runs on a thread of its own: the runtime's timer ticks in milliseconds, which would be charged
/// to the server, and a busy runtime must not make the generator late.
pub(super) fn open(range: &Arc<Range>, runtime: &Handle) {
    let end = range.started + range.load.duration;
    let mut due: BinaryHeap<_> = first_shots(range).map(Reverse).collect();
    while let Some(Reverse((intended, stream, sent))) = due.pop() {
        if intended >= end || !sleep_until(range, intended) {
            break;
        }
        launch(range, runtime, Shot { stream, intended });
        let next = intended_at(range, stream, sent + 1);
        due.push(Reverse((next, stream, sent + 1)));
    }
}

fn first_shots(range: &Range) -> impl Iterator<Item = (Instant, usize, u64)> {
    let streams = &range.load.streams;
    let sending = streams
        .iter()
        .enumerate()
        .filter(|(_, stream)| stream.rate_per_s > 0.0);
    sending.map(|(index, _)| (intended_at(range, index, 0), index, 0))
}

/// Computed from the start, not from the last request: no error adds up. Streams are shifted
/// against each other, lest equal rates make bursts.
fn intended_at(range: &Range, stream: usize, index: u64) -> Instant {
    let shift = stream as f64 / range.load.streams.len() as f64;
    let offset_s = (index as f64 + shift) / range.load.streams[stream].rate_per_s;
    range.started + Duration::from_secs_f64(offset_s)
}

/// False when the load was stopped meanwhile.
fn sleep_until(range: &Range, intended: Instant) -> bool {
    while !range.is_stopped() {
        match intended.checked_duration_since(Instant::now()) {
            None | Some(Duration::ZERO) => return true,
            Some(early) => std::thread::sleep(early.min(NAP)),
        }
    }
    false
}

fn launch(range: &Arc<Range>, runtime: &Handle, shot: Shot) {
    let counts = range.counts(shot.intended);
    let Ok(permit) = range.outstanding.clone().try_acquire_owned() else {
        range.ledger.overflow(shot.stream, counts);
        return;
    };
    let range = range.clone();
    runtime.spawn(async move {
        fire(&range, shot).await;
        drop(permit);
    });
}

/// Each worker sends, waits for the end, and sends again.
pub(super) async fn closed(range: Arc<Range>, workers: usize) {
    let mut crew = JoinSet::new();
    for worker in 0..workers {
        let stream = worker % range.load.streams.len();
        crew.spawn(work(range.clone(), stream));
    }
    crew.join_all().await;
}

async fn work(range: Arc<Range>, stream: usize) {
    let end = range.started + range.load.duration;
    loop {
        let intended = Instant::now();
        if intended >= end || range.is_stopped() {
            break;
        }
        let permit = range
            .outstanding
            .acquire()
            .await
            .expect("the semaphore is never closed");
        fire(&range, Shot { stream, intended }).await;
        drop(permit);
    }
}
