//! What every service of the node needs to live: bounded, supervised, drainable, seen.
//!
//! A service is a set of [`tree::Child`]ren that the [`supervisor::Supervisor`] starts when what they depend on
//! is ready, restarts when they crash, and ends phase by phase. Their queues come from [`queue`], their tasks from
//! [`tasks`], their metrics from a [`metrics::Registry`] that is passed down, their settings from [`config`].

pub mod admin;
pub mod backoff;
pub mod blocking;
pub mod bus;
pub mod clock;
pub mod config;
pub mod deadline;
pub mod drain;
pub mod fetch;
pub mod limits;
pub mod lock;
pub mod metrics;
pub mod net;
pub mod pool;
pub mod queue;
pub mod readiness;
pub mod reference;
pub mod reject;
pub mod restart;
pub mod serve;
pub mod shutdown;
pub mod signals;
pub mod supervisor;
pub mod tasks;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod tree;
pub mod watchdog;

use bus::Bus;
use clock::Timeline;
use metrics::Registry;
use queue::Queues;
use readiness::Readiness;
use shutdown::{Shutdown, ShutdownRequests, StagePublisher};
use supervisor::Board;
use telemetry::otlp::Tracer;
use watchdog::Watchdog;

/// What all children share; cheap to clone.
#[derive(Clone)]
pub struct Kernel {
    /// Where metrics are made.
    pub registry: Registry,
    /// Where queues are seen.
    pub queues: Queues,
    /// Where events are told.
    pub bus: Bus,
    /// Who is ready.
    pub readiness: Readiness,
    /// How far the shutdown has come.
    pub shutdown: Shutdown,
    /// Asks for shutdown.
    pub requests: ShutdownRequests,
    /// What the supervisor last said of its children.
    pub board: Board,
    /// Time since the node's start.
    pub timeline: Timeline,
    /// Who sees what does not yield.
    pub watchdog: Watchdog,
    /// Who takes finished spans, where traces are asked for.
    pub tracer: Tracer,
}

impl Kernel {
    /// A kernel with nobody in it, and the right to say how far its shutdown is: that goes to the supervisor.
    pub fn new() -> (Self, StagePublisher) {
        let registry = Registry::default();
        let bus = Bus::new(&registry);
        let (publisher, shutdown) = shutdown::stages();
        let timeline = Timeline::start();
        let kernel = Self {
            queues: Queues::new(&registry),
            readiness: Readiness::new(&registry, &bus),
            watchdog: Watchdog::new(&registry, timeline),
            bus,
            registry,
            shutdown,
            requests: ShutdownRequests::default(),
            board: Board::default(),
            timeline,
            tracer: Tracer::default(),
        };
        (kernel, publisher)
    }
}
