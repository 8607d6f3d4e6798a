//! What this crate brings into the node: its locks, tasks and metrics, for the reference pages.

use kernel::lock::LockSpec;
use kernel::metrics::{Kind, MetricSpec};
use kernel::reference::Tables;
use kernel::tasks::TaskKind;

/// Whose turn it is.
pub static TURNS: LockSpec = LockSpec {
    name: "upstream_turns",
    level: 42,
    doc: "round robin's credits; once per choice of a pool that goes in turns",
};
/// What is known of an endpoint.
pub static RECORD: LockSpec = LockSpec {
    name: "upstream_record",
    level: 44,
    doc: "an endpoint's breaker; once per outcome, and per choice while it is not closed",
};
/// Idle connections of an endpoint.
pub static IDLE: LockSpec = LockSpec {
    name: "upstream_idle",
    level: 46,
    doc: "an endpoint's idle connections; twice per request",
};
/// The pool's members.
pub static MEMBERS: LockSpec = LockSpec {
    name: "upstream_members",
    level: 40,
    doc: "orders changes of a pool's endpoints; never on a request",
};

/// Drives an HTTP/2 connection.
pub static H2_TASK: TaskKind = TaskKind {
    name: "upstream_h2",
    doc: "one HTTP/2 connection to an upstream, and the bodies sent on it",
};

/// Connections asked for.
pub static DIALS: MetricSpec = MetricSpec {
    name: "upstream_dials_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Connections to upstreams that were tried: ok, failed, timeout, forbidden",
};
/// Breakers opened.
pub static OPENED: MetricSpec = MetricSpec {
    name: "upstream_breaker_opened_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Times an endpoint's breaker opened",
};
/// Health changes.
pub static HEALTH: MetricSpec = MetricSpec {
    name: "upstream_health_changes_total",
    kind: Kind::Counter,
    labels: &["to"],
    help: "Times active health took an endpoint out (down) or back (up)",
};
/// Names resolved.
pub static RESOLVED: MetricSpec = MetricSpec {
    name: "upstream_resolutions_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Names of upstreams looked up: ok, failed, timeout, forbidden",
};

/// All of it.
pub static UPSTREAM: Tables = Tables {
    queues: &[],
    tasks: &[&H2_TASK],
    locks: &[&MEMBERS, &TURNS, &RECORD, &IDLE],
    metrics: &[&DIALS, &OPENED, &HEALTH, &RESOLVED],
};
