//! What the edge counts. No label value comes from a client.

use std::time::Duration;

use hashbrown::HashMap;
use kernel::metrics::{Counter, Gauge, Histogram, Kind, MetricSpec, Registry};
use kernel::serve::problem::REJECTED;

use crate::reject::{Refusal, reasons};
use crate::wish::KINDS;

/// Upper bounds of times, in seconds.
const SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.04, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// Requests by kind and class of status.
pub static REQUESTS: MetricSpec = MetricSpec {
    name: "edge_requests_total",
    kind: Kind::Counter,
    labels: &["kind", "status"],
    help: "Requests answered, by what they asked for and class of status",
};
/// How long it took until answers began.
pub static SECONDS_TOTAL: MetricSpec = MetricSpec {
    name: "edge_request_seconds",
    kind: Kind::Histogram(SECONDS),
    labels: &["kind"],
    help: "Time from a request's head to the beginning of its answer",
};
/// Refusals.
pub static REJECTS: MetricSpec = MetricSpec {
    name: "edge_rejects_total",
    kind: Kind::Counter,
    labels: &["reason"],
    help: "Requests refused, by reason",
};
/// Where tiles came from.
pub static TILES: MetricSpec = MetricSpec {
    name: "edge_tiles_total",
    kind: Kind::Counter,
    labels: &["from"],
    help: "Tiles found: ready in memory, read from the page cache, read from a disk, made over into another coding",
};
/// Packs.
pub static PACKS: MetricSpec = MetricSpec {
    name: "edge_packs",
    kind: Kind::Gauge,
    labels: &["state"],
    help: "Packs that are served, and that cannot be",
};
/// What is kept in memory.
pub static MEMORY_BYTES: MetricSpec = MetricSpec {
    name: "edge_memory_bytes",
    kind: Kind::Gauge,
    labels: &[],
    help: "Bytes of ready answers in memory",
};
/// How many are kept in memory.
pub static MEMORY_ITEMS: MetricSpec = MetricSpec {
    name: "edge_memory_items",
    kind: Kind::Gauge,
    labels: &[],
    help: "Ready answers in memory",
};
/// What the store holds.
pub static STORE_BYTES: MetricSpec = MetricSpec {
    name: "edge_store_bytes",
    kind: Kind::Gauge,
    labels: &[],
    help: "Bytes of the objects in the store",
};
/// How many objects the store holds.
pub static STORE_OBJECTS: MetricSpec = MetricSpec {
    name: "edge_store_objects",
    kind: Kind::Gauge,
    labels: &[],
    help: "Objects in the store",
};
/// What has happened to objects.
pub static STORE_EVENTS: MetricSpec = MetricSpec {
    name: "edge_store_events_total",
    kind: Kind::Counter,
    labels: &["event"],
    help: "Objects written, evicted for room, found damaged, unreadable, and writes that failed",
};
/// Requests in the node.
pub static INFLIGHT: MetricSpec = MetricSpec {
    name: "edge_inflight",
    kind: Kind::Gauge,
    labels: &[],
    help: "Requests at once, until the last byte of their answers",
};

/// All of them, for the reference page.
pub(crate) static ALL: [&MetricSpec; 11] = [
    &REQUESTS,
    &SECONDS_TOTAL,
    &REJECTS,
    &TILES,
    &PACKS,
    &MEMORY_BYTES,
    &MEMORY_ITEMS,
    &STORE_BYTES,
    &STORE_OBJECTS,
    &STORE_EVENTS,
    &INFLIGHT,
];

/// The classes of status.
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Where a tile came from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Memory,
    Cached,
    Disk,
    Transcoded,
}

const FROM: [&str; 4] = ["memory", "page_cache", "disk", "transcoded"];

/// The edge's handles.
pub(crate) struct Metrics {
    kinds: [KindMetrics; KINDS.len()],
    rejects: HashMap<&'static str, [Counter; 2]>,
    tiles: [Counter; FROM.len()],
    packs: [Gauge; 2],
}

struct KindMetrics {
    statuses: [Counter; STATUSES.len()],
    seconds: Histogram,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let counters = |reason: crate::reject::Reason| {
            let own = registry.counter(&REJECTS, &[reason.label]);
            let all = registry.counter(&REJECTED, &[reason.reason]);
            (reason.reason, [own, all])
        };
        let kind = |kind| KindMetrics {
            statuses: STATUSES.map(|status| registry.counter(&REQUESTS, &[kind, status])),
            seconds: registry.histogram(&SECONDS_TOTAL, &[kind]),
        };
        Self {
            kinds: KINDS.map(kind),
            rejects: reasons().into_iter().map(counters).collect(),
            tiles: FROM.map(|from| registry.counter(&TILES, &[from])),
            packs: ["ready", "unready"].map(|state| registry.gauge(&PACKS, &[state])),
        }
    }

    pub(crate) fn answered(&self, kind: usize, status: u16, took: Duration) {
        let kind = &self.kinds[kind.min(KINDS.len() - 1)];
        kind.statuses[usize::from(status / 100).clamp(1, STATUSES.len()) - 1].inc();
        kind.seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn refused(&self, refusal: &Refusal) {
        for counter in self.rejects.get(refusal.reason()).into_iter().flatten() {
            counter.inc();
        }
    }

    pub(crate) fn tile(&self, from: From) {
        self.tiles[from as usize].inc();
    }

    pub(crate) fn packs(&self, ready: usize, unready: usize) {
        self.packs[0].set(ready as i64);
        self.packs[1].set(unready as i64);
    }
}
