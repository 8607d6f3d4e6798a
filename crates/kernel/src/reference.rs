//! The kernel's part of the generated reference: every queue, task, lock and metric it makes.

use crate::lock::{self, LockSpec};
use crate::metrics::MetricSpec;
use crate::queue::QueueSpec;
use crate::tasks::TaskKind;
use crate::telemetry::trace_specs;
use crate::{
    blocking, bus, config, pool, queue, readiness, serve, shutdown, supervisor, tasks, telemetry,
    watchdog,
};

/// What one crate brings into the node.
#[derive(Clone, Copy)]
pub struct Tables {
    /// Its queues and cells.
    pub queues: &'static [&'static QueueSpec],
    /// Its kinds of task.
    pub tasks: &'static [&'static TaskKind],
    /// Its locks.
    pub locks: &'static [&'static LockSpec],
    /// Its metrics.
    pub metrics: &'static [&'static MetricSpec],
}

/// The kernel's own.
pub static KERNEL: Tables = Tables {
    queues: &[
        &bus::BUS,
        &config::UPDATES,
        &readiness::CHANGES,
        &shutdown::STAGE,
        &shutdown::REQUESTS,
        &telemetry::LINES,
        &trace_specs::SPANS,
    ],
    tasks: &[&supervisor::CHILD, &serve::CONNECTION_TASK, &pool::WORKER],
    locks: &lock::ALL,
    metrics: &[
        &tasks::SPAWNED,
        &tasks::COMPLETED,
        &tasks::CANCELED,
        &tasks::ABORTED,
        &tasks::PANICKED,
        &supervisor::RESTARTS,
        &readiness::READYZ_STATE,
        &readiness::DEPENDENCY_UNMET,
        &queue::DEPTH,
        &queue::DROPPED,
        &queue::REFUSED,
        &queue::COALESCED,
        &bus::LAGGED,
        &pool::UNITS,
        &pool::RESTARTS,
        &watchdog::STALLS,
        &watchdog::STALLED,
        &watchdog::LASTED,
        &serve::ACCEPTED,
        &serve::OPEN,
        &serve::ACCEPT_ERRORS,
        &serve::IO_TIMEOUTS,
        &serve::problem::REJECTED,
        &config::RELOADS,
        &config::COALESCED,
        &config::GENERATION,
        &blocking::IN_USE,
        &blocking::REFUSED,
        &telemetry::WRITE_ERRORS,
        &trace_specs::EXPORTED,
        &trace_specs::LOST,
        &trace_specs::FAILURES,
    ],
};
