//! The embedded demonstration: an origin that a crowd asks too much of, through the gateway; and the kernel's own: a
//! door, a worker pool behind a bounded queue, a load, and a child that crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::Kernel;
use kernel::config::Live;
use kernel::drain::Phase;
use kernel::limits;
use kernel::pool::{Pool, PoolHandle, PoolSpec, Work};
use kernel::queue::{OnFull, QueueSpec};
use kernel::reference::Tables;
use kernel::reject::Reject;
use kernel::serve::{Door, serve};
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};

use crate::config::{Settings, door_limits};
use config::{DemoSettings, DemoText};

pub(crate) mod config;
pub(crate) mod crowd;
pub(crate) mod origin;
pub(crate) mod page;
pub(crate) mod world;

/// Units waiting for a worker.
pub(crate) static WORK: QueueSpec = QueueSpec {
    name: "work",
    capacity: limits::WORK_QUEUE,
    on_full: OnFull::RejectNew,
    doc: "units of the demonstration: its door and its load → its workers; full is 429",
};
/// Units whose worker died.
pub(crate) static WORK_AGAIN: QueueSpec = QueueSpec {
    name: "work_again",
    capacity: limits::WORK_QUEUE,
    on_full: OnFull::RejectNew,
    doc: "units whose worker died, to be done again: dead workers → living ones; holds all they can hold",
};

static POOL: PoolSpec = PoolSpec {
    name: "demo",
    queue: &WORK,
    requeue: &WORK_AGAIN,
};

/// The workers.
pub(crate) static WORKERS: ChildSpec = ChildSpec {
    name: "demo.workers",
    doc: "runs the demonstration's units",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};
/// The door.
pub(crate) static DOOR: ChildSpec = ChildSpec {
    name: "demo.http",
    doc: "the demonstration's HTTP door",
    depends_on: &["demo.workers"],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: true,
};
/// The load.
pub(crate) static LOAD: ChildSpec = ChildSpec {
    name: "demo.load",
    doc: "hands in units by itself and says each second what came of them",
    depends_on: &["demo.workers"],
    phase: Phase::Intake,
    restart: Restart::Always,
    essential: false,
};
/// The child that crashes.
pub(crate) static FLAKY: ChildSpec = ChildSpec {
    name: "demo.flaky",
    doc: "panics on purpose now and then, to show that nobody else is harmed",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

/// Its part of the reference.
pub(crate) static TABLES: Tables = Tables {
    queues: &[&WORK, &WORK_AGAIN],
    tasks: &[&UNIT, &crowd::VISIT],
    locks: &[&crowd::DESK],
    metrics: &[],
};

/// One piece of work: takes so long, and may be done twice or not.
#[derive(Debug)]
pub(crate) struct Unit {
    /// How long it takes.
    pub(crate) takes: Duration,
    /// Whether doing it twice does no harm.
    pub(crate) repeatable: bool,
}

/// The demonstration's work: it takes time, and that is all.
pub(crate) struct Sleeper;

impl Work for Sleeper {
    type Unit = Unit;
    type Answer = Duration;

    fn repeatable(&self, unit: &Unit) -> bool {
        unit.repeatable
    }

    async fn perform(&self, unit: Arc<Unit>) -> Duration {
        tokio::time::sleep(unit.takes).await;
        unit.takes
    }
}

/// The demonstration's children.
pub(crate) fn children(
    text: &DemoText,
    door: Arc<Door>,
    live: &Live<Settings>,
    kernel: &Kernel,
) -> Vec<Child> {
    let (pool, handle) = Pool::new(&POOL, text.pool_size(), Sleeper, kernel);
    let pool = Arc::new(pool);
    let page = Arc::new(page::Page::new(handle.clone(), live.clone(), kernel));
    let bounds = door_limits(text.max_connections);
    let (loaded, crashing) = (live.clone(), live.clone());
    vec![
        Child::new(&WORKERS, move |context| {
            let pool = pool.clone();
            async move { pool.run(context).await }
        }),
        Child::new(&DOOR, move |context| {
            serve(context, door.clone(), bounds, page.clone())
        }),
        Child::new(&LOAD, move |context| {
            load(context, loaded.clone(), handle.clone())
        }),
        Child::new(&FLAKY, move |context| flaky(context, crashing.clone())),
    ]
}

fn settings(live: &Live<Settings>) -> Option<DemoSettings> {
    live.load().demo
}

/// Lives a while, then panics; a reload may change its mind.
async fn flaky(context: Context, live: Live<Settings>) -> Result<(), Failure> {
    context.ready.ready();
    let glance = Duration::from_millis(50);
    loop {
        let every = settings(&live).and_then(|demo| demo.crash_every);
        tokio::select! {
            () = context.told_to_end() => return Ok(()),
            () = tokio::time::sleep(glance) => {}
        }
        if every.is_some_and(|every| fastrand::f64() < glance.as_secs_f64() / every.as_secs_f64()) {
            panic!("on purpose, to show supervision");
        }
    }
}

/// What came of the load in the last second.
#[derive(Default)]
struct Tally {
    served: AtomicU64,
    busy: AtomicU64,
    failed: AtomicU64,
}

/// Hands in units at the configured rate and reports each second.
async fn load(
    context: Context,
    live: Live<Settings>,
    pool: PoolHandle<Sleeper>,
) -> Result<(), Failure> {
    context.ready.ready();
    let units = context.tasks.kind(&UNIT);
    let tally = Arc::new(Tally::default());
    let mut owed = 0.0;
    let mut ticks = 0u32;
    const TICK: Duration = Duration::from_millis(20);
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = context.told_to_end() => return Ok(()),
            _ = clock.tick() => {}
        }
        let rate = settings(&live).map_or(0, |demo| demo.rate);
        owed += rate as f64 * TICK.as_secs_f64();
        while owed >= 1.0 {
            owed -= 1.0;
            let takes = Duration::from_millis(fastrand::u64(5..50));
            match pool.submit(Unit {
                takes,
                repeatable: true,
            }) {
                Ok(ticket) => {
                    let tally = tally.clone();
                    units.spawn(async move {
                        let counter = match ticket.answer().await {
                            Ok(_) => &tally.served,
                            Err(_) => &tally.failed,
                        };
                        counter.fetch_add(1, Ordering::Relaxed);
                    });
                }
                Err(Reject::Busy) => {
                    tally.busy.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {
                    tally.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        ticks += 1;
        if ticks.is_multiple_of(50) && rate > 0 {
            report(&tally, &pool, &context.kernel);
        }
    }
}

/// The task that waits for one unit of the load.
pub(crate) static UNIT: kernel::tasks::TaskKind = kernel::tasks::TaskKind {
    name: "demo_unit",
    doc: "waits for the answer to one unit of the demonstration's load",
};

fn report(tally: &Tally, pool: &PoolHandle<Sleeper>, kernel: &Kernel) {
    let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
    tracing::info!(
        served = take(&tally.served),
        busy = take(&tally.busy),
        failed = take(&tally.failed),
        waiting = pool.waiting(),
        node = ?kernel.readiness.snapshot().state,
        "demonstration, last second"
    );
}
