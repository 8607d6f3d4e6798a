//! What must hold: of each request when it ends, of the node all along, and of both when nobody asks anything.

use std::collections::BTreeMap;
use std::time::Duration;

use kernel::readiness::State;
use kernel::tasks;
use tokio::time::Instant;

use crate::config::{RATED, REQUEST_MS};
use crate::request::{Fate, Request, Way};
use crate::world::World;

/// What an answer may be late beyond its deadline, with the way there and back.
const LATE: Duration = Duration::from_millis(150);
/// How long a node that was harmed may take to be ready again.
const RECOVERY: Duration = Duration::from_secs(90);

/// Counts the end of a request, and whether it was one that was promised.
pub(crate) fn ended(world: &World, request: &Request, began: Instant, fate: &Fate) {
    let calm = world.was_calm(began);
    let (draining, killed) = {
        let mut state = world.state();
        if request.upload.is_some() {
            state.once.remove(&request.id);
        }
        (state.draining, state.was_killing(began))
    };
    let wrong = match fate {
        Fate::Left => None,
        Fate::Unending | Fate::Wrong(_) => Some("never allowed"),
        Fate::Refused if draining => None,
        Fate::Refused => Some("the node was not told to end"),
        Fate::Broken(_) if draining || !calm => None,
        Fate::Broken(_) => Some("nothing was wrong"),
        Fate::Answered { after, .. } if *after > Duration::from_millis(REQUEST_MS) + LATE => {
            Some("later than its deadline")
        }
        Fate::Answered { status, .. } => {
            let spared = request.upload.is_none() || !killed;
            unpromised(request, *status, calm && !draining, spared)
        }
    };
    if let Some(why) = wrong {
        world.violated(format!("{why}: {request:?} ended as {fate:?}"));
    }
    let mut books = world.books();
    books.ended += 1;
    books.count(format!("{:8} {}", request.way.name(), fate.name()));
    let at_ms = began.duration_since(world.began).as_millis() as u64;
    books.note(request.id);
    books.note(at_ms);
    books.note(fate.word());
}

/// Why a status is none that was promised.
fn unpromised(request: &Request, status: u16, calm: bool, spared: bool) -> Option<&'static str> {
    let of_edge = request.way == Way::Edge;
    let well = match status {
        200 => true,
        204 | 404 => of_edge,
        429 => request.tenant == RATED || !calm,
        503 => !calm || !spared,
        502 | 504 => !calm,
        _ => false,
    };
    (!well).then_some(if calm {
        "nothing was wrong"
    } else {
        "no fault explains it"
    })
}

/// What holds at any moment: no queue above its capacity, no task ended that was not begun.
pub(crate) fn bounded(world: &World) {
    for queue in world.kernel.queues.status() {
        if queue.depth > queue.capacity {
            world.violated(format!("{queue:?}"));
        }
    }
    for (kind, live) in live_tasks(world) {
        if live < 0 {
            world.violated(format!("{live} tasks of kind {kind} live"));
        }
    }
}

/// Waits until the node is ready, not forever.
pub(crate) async fn recovered(world: &World, from: &str) {
    let began = Instant::now();
    while world.kernel.readiness.snapshot().state != State::Ready {
        if began.elapsed() > RECOVERY {
            let readiness = world.kernel.readiness.snapshot();
            let not_ready = readiness.services.iter();
            let not_ready: Vec<_> = not_ready.filter(|one| one.state != State::Ready).collect();
            return world.violated(format!("not ready again after {from}: {not_ready:?}"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) fn live_tasks(world: &World) -> BTreeMap<&'static str, i64> {
    let entries = tasks::ledger(&world.kernel.registry);
    let live = entries.iter().map(|one| {
        let ended = one.completed + one.canceled + one.aborted;
        (one.kind, one.spawned as i64 - ended as i64)
    });
    live.collect()
}

/// What is in use when nobody asks for anything.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) tasks: BTreeMap<&'static str, i64>,
    pub(crate) bytes: usize,
}

/// Nothing is under way, and no more tasks live than at the first rest.
pub(crate) fn resting(world: &World, first: Option<&Rest>) -> Rest {
    world.net.tidy();
    let rendered = world.kernel.registry.render();
    for name in [
        "fq_inflight",
        "transport_inflight",
        "edge_inflight",
        "queue_depth",
        "connections_open",
    ] {
        let sum = sum(&rendered, name);
        if sum != 0.0 {
            world.violated(format!("{name} is {sum} while nobody asks"));
        }
    }
    all_ended(world);
    let tasks = live_tasks(world);
    if let Some(first) = first
        && first.tasks != tasks
    {
        world.violated(format!(
            "tasks at rest: {:?} at first, {tasks:?} now",
            first.tasks
        ));
    }
    drop(rendered);
    Rest {
        tasks,
        bytes: crate::heap::in_use_bytes(),
    }
}

/// Each request that began has ended.
fn all_ended(world: &World) {
    let books = world.books();
    let (began, ended) = (books.began, books.ended);
    drop(books);
    if began != ended {
        world.violated(format!("{began} requests began and {ended} ended"));
    }
}

/// After the end nothing is left.
pub(crate) fn gone(world: &World) {
    all_ended(world);
    for (kind, live) in live_tasks(world) {
        if live != 0 {
            world.violated(format!("{live} tasks of kind {kind} outlive the node"));
        }
    }
}

fn sum(rendered: &str, name: &str) -> f64 {
    let ours = rendered.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    });
    let values = ours.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}
