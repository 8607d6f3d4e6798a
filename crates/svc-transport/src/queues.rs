//! Where requests wait for a worker.

use kernel::limits;
use kernel::pool::PoolSpec;
use kernel::queue::{OnFull, QueueSpec};

/// Workers of the pool, and requests each has at once: the config allows no more.
pub(crate) const WORKERS_MAX: usize = 64;
/// See [`WORKERS_MAX`].
pub(crate) const UNITS_MAX: usize = 64;

/// Requests waiting for a worker.
pub(crate) static WORK: QueueSpec = QueueSpec {
    name: "transport_work",
    capacity: limits::WORK_QUEUE,
    on_full: OnFull::RejectNew,
    doc: "framed requests that have passed their gate → workers; full is 429 `busy`",
};
/// Requests whose worker died.
pub(crate) static WORK_AGAIN: QueueSpec = QueueSpec {
    name: "transport_work_again",
    capacity: WORKERS_MAX * UNITS_MAX,
    on_full: OnFull::RejectNew,
    doc: "framed requests whose worker died and that may be repeated → living workers; holds all they can hold",
};

/// The pool's shape.
pub(crate) static POOL: PoolSpec = PoolSpec {
    name: "transport",
    queue: &WORK,
    requeue: &WORK_AGAIN,
};
