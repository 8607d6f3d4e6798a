//! A worker pool: supervised workers, each running many units at once.
//!
//! A unit whose worker dies is put back once if it may be repeated, else its caller is told at once. The unit
//! itself does this when it is dropped unfinished, so no path loses one: not a panic, not an abort.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;

use crate::Kernel;
use crate::metrics::{Counter, Kind, MetricSpec, Registry};
use crate::queue::{self, QueueSpec, Receiver, Refused, Sender};
use crate::reject::Reject;
use crate::restart::Restarts;
use crate::tasks::{Ended, TaskKind};
use crate::tree::{Context, Failure};

/// The task a worker lives in.
pub static WORKER: TaskKind = TaskKind {
    name: "worker",
    doc: "one worker of a pool, running many units",
};

/// Fates of units.
pub static UNITS: MetricSpec = MetricSpec {
    name: "pool_units_total",
    kind: Kind::Counter,
    labels: &["pool", "fate"],
    help: "Units by fate: done, requeued (its worker died), lost (same, not repeatable), panicked, abandoned",
};
/// Worker restarts.
pub static RESTARTS: MetricSpec = MetricSpec {
    name: "pool_worker_restarts_total",
    kind: Kind::Counter,
    labels: &["pool"],
    help: "Times a worker that died was started again",
};

/// What a pool does.
pub trait Work: Send + Sync + 'static {
    /// What is to be done; kept until answered, so that it can be repeated.
    type Unit: Send + Sync + 'static;
    /// What comes of it.
    type Answer: Send + 'static;

    /// Whether doing `unit` twice does no harm.
    fn repeatable(&self, unit: &Self::Unit) -> bool;

    /// Does it.
    fn perform(&self, unit: Arc<Self::Unit>) -> impl Future<Output = Self::Answer> + Send;
}

/// The shape of a pool.
#[derive(Debug)]
pub struct PoolSpec {
    /// Label value.
    pub name: &'static str,
    /// Where units wait.
    pub queue: &'static QueueSpec,
    /// Where units of dead workers wait; refuses nothing, because it holds all that workers can hold.
    pub requeue: &'static QueueSpec,
}

/// How many of what.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// Workers.
    pub workers: usize,
    /// Units each runs at once.
    pub units_per_worker: usize,
}

struct Job<W: Work> {
    unit: Arc<W::Unit>,
    repeatable: bool,
    repeated: bool,
    reply: oneshot::Sender<Result<W::Answer, Reject>>,
}

/// Hands units to the pool.
pub struct PoolHandle<W: Work> {
    work: Arc<W>,
    sender: Sender<Job<W>>,
    #[cfg(feature = "chaos")]
    kill: Arc<chaos::Kill>,
}

impl<W: Work> Clone for PoolHandle<W> {
    fn clone(&self) -> Self {
        Self {
            work: self.work.clone(),
            sender: self.sender.clone(),
            #[cfg(feature = "chaos")]
            kill: self.kill.clone(),
        }
    }
}

impl<W: Work> PoolHandle<W> {
    /// Hands in a unit, or says `Busy` (full) or `Canceled` (closing) at once. The ticket resolves to the answer;
    /// dropping it abandons the unit.
    pub fn submit(&self, unit: W::Unit) -> Result<Ticket<W::Answer>, Reject> {
        let (reply, answer) = oneshot::channel();
        let job = Job {
            repeatable: self.work.repeatable(&unit),
            unit: Arc::new(unit),
            repeated: false,
            reply,
        };
        match self.sender.try_send(job) {
            Ok(()) => Ok(Ticket { answer }),
            Err(Refused::Busy(_)) => Err(Reject::Busy),
            Err(Refused::Closed(_)) => Err(Reject::Canceled),
        }
    }

    /// Units waiting for a worker.
    pub fn waiting(&self) -> usize {
        self.sender.len()
    }
}

/// The claim to an answer.
pub struct Ticket<A> {
    answer: oneshot::Receiver<Result<A, Reject>>,
}

impl<A> Ticket<A> {
    /// Waits for the answer: the work's own, or why there is none.
    pub async fn answer(self) -> Result<A, Reject> {
        self.answer.await.unwrap_or(Err(Reject::Canceled))
    }
}

/// The pool itself: made once, run as a child.
pub struct Pool<W: Work> {
    inner: Arc<Inner<W>>,
}

struct Inner<W: Work> {
    spec: &'static PoolSpec,
    size: PoolSize,
    work: Arc<W>,
    fresh: Receiver<Job<W>>,
    again: Receiver<Job<W>>,
    put_back: Sender<Job<W>>,
    fates: Fates,
    /// Set once the pool is told to end: from then on a dead worker's units are not put back.
    ending: AtomicBool,
    #[cfg(feature = "chaos")]
    kill: Arc<chaos::Kill>,
}

struct Fates {
    done: Counter,
    requeued: Counter,
    lost: Counter,
    panicked: Counter,
    abandoned: Counter,
    restarts: Counter,
}

impl Fates {
    fn new(registry: &Registry, pool: &'static str) -> Self {
        let fate = |fate| registry.counter(&UNITS, &[pool, fate]);
        Self {
            done: fate("done"),
            requeued: fate("requeued"),
            lost: fate("lost"),
            panicked: fate("panicked"),
            abandoned: fate("abandoned"),
            restarts: registry.counter(&RESTARTS, &[pool]),
        }
    }
}

impl<W: Work> Pool<W> {
    /// A pool and the way into it.
    ///
    /// # Panics
    /// If the requeue cannot hold all units that workers of this size hold: they would be lost.
    pub fn new(
        spec: &'static PoolSpec,
        size: PoolSize,
        work: W,
        kernel: &Kernel,
    ) -> (Self, PoolHandle<W>) {
        assert!(
            size.workers * size.units_per_worker <= spec.requeue.capacity,
            "{}: requeue too small",
            spec.name
        );
        let work = Arc::new(work);
        let (sender, fresh) = queue::bounded(spec.queue, &kernel.queues);
        let (put_back, again) = queue::bounded(spec.requeue, &kernel.queues);
        #[cfg(feature = "chaos")]
        let kill = Arc::new(chaos::Kill::new(size.workers));
        let handle = PoolHandle {
            work: work.clone(),
            sender,
            #[cfg(feature = "chaos")]
            kill: kill.clone(),
        };
        let inner = Inner {
            spec,
            size,
            work,
            fresh,
            again,
            put_back,
            fates: Fates::new(&kernel.registry, spec.name),
            ending: AtomicBool::new(false),
            #[cfg(feature = "chaos")]
            kill,
        };
        (
            Self {
                inner: Arc::new(inner),
            },
            handle,
        )
    }

    /// The pool's life as a child: keeps its workers alive until told to end, then lets them finish.
    pub async fn run(&self, context: Context) -> Result<(), Failure> {
        let mut crew = Crew::new(&self.inner, &context);
        let told = context.told_to_end();
        tokio::pin!(told);
        loop {
            crew.report();
            tokio::select! {
                () = &mut told => break,
                Some(change) = crew.changes.next() => crew.on_change(change),
            }
        }
        self.inner.ending.store(true, Ordering::Release);
        self.inner.fresh.close();
        while crew.alive > 0 {
            if let Some(Change::Died { .. }) = crew.changes.next().await {
                crew.alive -= 1;
            }
        }
        self.inner.give_up_what_is_left();
        Ok(())
    }
}

/// The workers, seen by who keeps them alive.
struct Crew<'a, W: Work> {
    inner: &'a Arc<Inner<W>>,
    context: &'a Context,
    alive: usize,
    histories: Vec<Restarts>,
    changes: FuturesUnordered<BoxFuture<'static, Change>>,
}

enum Change {
    Died {
        index: usize,
        started: Duration,
        ended: Ended<()>,
    },
    BackoffOver {
        index: usize,
    },
}

impl<'a, W: Work> Crew<'a, W> {
    fn new(inner: &'a Arc<Inner<W>>, context: &'a Context) -> Self {
        let histories = std::iter::repeat_with(Restarts::default)
            .take(inner.size.workers)
            .collect();
        let mut crew = Self {
            inner,
            context,
            alive: 0,
            histories,
            changes: FuturesUnordered::new(),
        };
        for index in 0..inner.size.workers {
            crew.start(index);
        }
        crew
    }

    fn start(&mut self, index: usize) {
        self.alive += 1;
        let started = self.context.kernel.timeline.now();
        let life = worker::live(self.inner.clone(), index);
        let watchdog = &self.context.kernel.watchdog;
        let life = watchdog.watched(self.inner.spec.name, index, self.inner.relief(), life);
        let worker = self.context.tasks.kind(&WORKER).spawn(life);
        self.changes.push(Box::pin(async move {
            Change::Died {
                index,
                started,
                ended: worker.join().await,
            }
        }));
    }

    fn on_change(&mut self, change: Change) {
        match change {
            Change::BackoffOver { index } => {
                self.inner.fates.restarts.inc();
                self.start(index);
            }
            Change::Died {
                index,
                started,
                ended,
            } => {
                self.alive -= 1;
                let now = self.context.kernel.timeline.now();
                let verdict = self.histories[index].crashed(
                    now,
                    now.saturating_sub(started),
                    fastrand::f64(),
                );
                let delay_ms = verdict.delay.as_millis() as u64;
                tracing::error!(
                    pool = self.inner.spec.name,
                    worker = index,
                    ?ended,
                    delay_ms,
                    "worker died; restarting"
                );
                self.changes.push(Box::pin(async move {
                    tokio::time::sleep(verdict.delay).await;
                    Change::BackoffOver { index }
                }));
            }
        }
    }

    fn report(&self) {
        let (alive, all) = (self.alive, self.inner.size.workers);
        match alive {
            alive if alive == all => self.context.ready.ready(),
            0 => self
                .context
                .ready
                .unready(format!("none of {all} workers is alive")),
            alive => self
                .context
                .ready
                .degraded(format!("{alive} of {all} workers are alive")),
        }
    }
}

mod worker;

#[cfg(feature = "chaos")]
pub mod chaos;
#[cfg(test)]
mod tests;
