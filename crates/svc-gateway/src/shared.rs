//! What outlives a config: counters, clocks, gates, what is open.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http_rules::forward::Node;
use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::clock::Timeline;
use kernel::drain::Stage;
use kernel::pool::PoolHandle;
use kernel::tasks::Spawner;
use kernel::telemetry::otlp::Recorder;
use passport::Seed;

use crate::dispatch::Sending;
use crate::gates::Gates;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::plan::Plan;
use crate::slots::Place;
use crate::streams::Streams;
use crate::wall::Wall;

/// What outlives a config.
pub(crate) struct Shared {
    pub(crate) kernel: Kernel,
    pub(crate) metrics: Metrics,
    /// Where files are read and names looked up.
    pub(crate) blocking: Blocking,
    pub(crate) timeline: Timeline,
    pub(crate) wall: Wall,
    /// This node's name in `Via`.
    pub(crate) node: Node,
    /// What tenants' numbers are made with.
    pub(crate) seed: Seed,
    workers: OnceLock<PoolHandle<Sending>>,
    tunnels: ArcSwapOption<Spawner>,
    lingering: ArcSwapOption<Spawner>,
    /// Routes with a bound of their own.
    pub(crate) gates: Gates,
    /// Who had to wait or was refused.
    pub(crate) ledger: Ledger,
    /// Who takes spans, where traces are asked for.
    pub(crate) recorder: Option<Recorder>,
    inflight: AtomicU32,
    pub(crate) streams: Streams,
}

impl Shared {
    pub(crate) fn new(kernel: &Kernel) -> Result<Arc<Self>, String> {
        let unique = format!("macronode-{:08x}", fastrand::u32(..));
        let metrics = Metrics::new(&kernel.registry);
        Ok(Arc::new(Self {
            kernel: kernel.clone(),
            blocking: Blocking::new(&kernel.registry),
            timeline: Timeline::start(),
            wall: Wall::default(),
            node: Node::new(&unique).expect("letters, digits and a hyphen are a token"),
            seed: Seed::draw().ok_or("the system gives no random numbers")?,
            workers: OnceLock::new(),
            tunnels: ArcSwapOption::empty(),
            lingering: ArcSwapOption::empty(),
            gates: Gates::new(),
            ledger: Ledger::new(),
            recorder: kernel.tracer.recorder().cloned(),
            inflight: AtomicU32::new(0),
            streams: Streams::new(metrics.streams.clone()),
            metrics,
        }))
    }

    /// Who does the work in `pool` mode.
    pub(crate) fn workers(&self) -> Option<&PoolHandle<Sending>> {
        self.workers.get()
    }

    /// Lets workers do the work from now on.
    pub(crate) fn employ(&self, workers: PoolHandle<Sending>) {
        let _employed_before = self.workers.set(workers);
    }

    /// Who keeps tunnels; nobody while the node is not up, or ends.
    pub(crate) fn tunnels(&self) -> Option<Arc<Spawner>> {
        self.tunnels.load_full()
    }

    /// Keeps a place for a while whose upstream may not have noticed that nobody waits any more.
    pub(crate) fn linger(&self, place: Place, left: Duration) {
        let Some(keeper) = self.lingering.load_full() else {
            return;
        };
        let shutdown = self.kernel.shutdown.clone();
        keeper.spawn(async move {
            let _place = place;
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = shutdown.reached(Stage::Grace) => {}
            }
        });
    }

    pub(crate) fn keep_lingering(&self, keeper: Option<Spawner>) {
        self.lingering.store(keeper.map(Arc::new));
    }

    pub(crate) fn keep_tunnels(&self, keeper: Option<Spawner>) {
        self.tunnels.store(keeper.map(Arc::new));
    }

    /// One more request is in the node; whether there is room for it among `most`.
    fn enter(&self, most: u32) -> bool {
        self.inflight.fetch_add(1, Ordering::Relaxed) < most
    }

    /// Requests in the node.
    pub(crate) fn inflight(&self) -> u32 {
        self.inflight.load(Ordering::Relaxed)
    }
}

/// A request's place in the node, and the plan that holds for it from beginning to end.
pub(crate) struct Presence {
    plan: Arc<Plan>,
    let_in: bool,
    /// It is one of the requests in the node.
    counts: bool,
}

impl Presence {
    /// Where requests are in the node until they are done; those it has no room for are about to be told so.
    pub(crate) fn begin(plan: Arc<Plan>) -> Self {
        let let_in = plan.shared.enter(plan.inflight);
        let counts = true;
        Self {
            plan,
            let_in,
            counts,
        }
    }

    /// Whether the node had room for it.
    pub(crate) fn is_let_in(&self) -> bool {
        self.let_in
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.plan.clone()
    }

    /// It goes on as a stream, of which each tenant has its own number: others may come in.
    pub(crate) fn makes_room(&mut self) {
        if std::mem::take(&mut self.counts) {
            self.plan.shared.inflight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Deref for Presence {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.makes_room();
    }
}

/// A `Duration` as milliseconds for people.
pub(crate) fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
