//! What cached origins count.

use std::sync::{Arc, Weak};

use kernel::metrics::{Counter, Kind, MetricSpec, Registry, Sampling};

use crate::flight::Desk;

/// What became of requests.
pub(crate) static OUTCOMES: MetricSpec = MetricSpec {
    name: "edge_origin_requests_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "Requests for cached origins: hit, stale (given out past its time), fetched, collapsed (one fetch for \
           several), passed (not for a cache), failed",
};
/// What became of fetches.
pub(crate) static FETCHES: MetricSpec = MetricSpec {
    name: "edge_fills_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Fetches from origins: fetched, confirmed (what is kept still holds), retried, failed",
};
/// Bytes either way; their ratio shows who makes an origin send more than is asked for.
pub(crate) static BYTES: MetricSpec = MetricSpec {
    name: "edge_origin_bytes_total",
    kind: Kind::Counter,
    labels: &["way"],
    help: "Bytes of bodies fetched from origins, and given out of what is kept of them",
};
/// What came of the bucket.
pub(crate) static BUCKET: MetricSpec = MetricSpec {
    name: "edge_bucket_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "The bucket behind the store: found, absent, damaged (not what was put), failed, left_alone (failed too \
           often), put, dropped (no time to put it), doubted (what was forgotten could not be removed)",
};
/// Purges.
pub(crate) static PURGED: MetricSpec = MetricSpec {
    name: "edge_purged_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Addresses whose answers were purged",
};

/// Bytes in memory.
pub(crate) static KEPT_BYTES: MetricSpec = MetricSpec {
    name: "edge_origin_kept_bytes",
    kind: Kind::Gauge,
    labels: &[],
    help: "Bytes of origins' answers in memory",
};
/// Addresses in memory.
pub(crate) static KEPT_ITEMS: MetricSpec = MetricSpec {
    name: "edge_origin_kept_items",
    kind: Kind::Gauge,
    labels: &[],
    help: "Addresses of origins whose answers are in memory",
};
/// Fetches under way.
pub(crate) static FLIGHTS: MetricSpec = MetricSpec {
    name: "edge_flights",
    kind: Kind::Gauge,
    labels: &[],
    help: "Fetches from origins under way, each for all who wait for it",
};

/// Bytes of fetches under way.
pub(crate) static FLIGHT_BYTES: MetricSpec = MetricSpec {
    name: "edge_flight_bytes",
    kind: Kind::Gauge,
    labels: &[],
    help: "Bytes that fetches from origins hold for those who read them",
};

/// All of them.
pub(crate) static ALL: [&MetricSpec; 9] = [
    &OUTCOMES,
    &FETCHES,
    &BYTES,
    &BUCKET,
    &PURGED,
    &KEPT_BYTES,
    &KEPT_ITEMS,
    &FLIGHTS,
    &FLIGHT_BYTES,
];

pub(crate) struct OriginMetrics {
    pub(crate) hit: Counter,
    pub(crate) stale: Counter,
    pub(crate) miss: Counter,
    pub(crate) collapsed: Counter,
    pub(crate) passed: Counter,
    pub(crate) refused: Counter,
    pub(crate) fetched: Counter,
    pub(crate) confirmed: Counter,
    pub(crate) retried: Counter,
    pub(crate) failed: Counter,
    pub(crate) fetched_bytes: Counter,
    pub(crate) given_bytes: Counter,
    pub(crate) purged: Counter,
}

impl OriginMetrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let outcome = |outcome| registry.counter(&OUTCOMES, &[outcome]);
        let fetch = |result| registry.counter(&FETCHES, &[result]);
        let bytes = |way| registry.counter(&BYTES, &[way]);
        Self {
            hit: outcome("hit"),
            stale: outcome("stale"),
            miss: outcome("fetched"),
            collapsed: outcome("collapsed"),
            passed: outcome("passed"),
            refused: outcome("failed"),
            fetched: fetch("fetched"),
            confirmed: fetch("confirmed"),
            retried: fetch("retried"),
            failed: fetch("failed"),
            fetched_bytes: bytes("fetched"),
            given_bytes: bytes("given"),
            purged: registry.counter(&PURGED, &[]),
        }
    }
}

pub(crate) struct DepotMetrics {
    pub(crate) found: Counter,
    pub(crate) absent: Counter,
    pub(crate) damaged: Counter,
    pub(crate) failed: Counter,
    pub(crate) left_alone: Counter,
    pub(crate) put: Counter,
    pub(crate) dropped: Counter,
    pub(crate) doubted: Counter,
}

impl DepotMetrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let result = |result| registry.counter(&BUCKET, &[result]);
        Self {
            found: result("found"),
            absent: result("absent"),
            damaged: result("damaged"),
            failed: result("failed"),
            left_alone: result("left_alone"),
            put: result("put"),
            dropped: result("dropped"),
            doubted: result("doubted"),
        }
    }
}

/// Values that are cheaper to read than to maintain.
pub(crate) fn sample(desk: &Arc<Desk>, registry: &Registry) {
    let desk: Weak<Desk> = Arc::downgrade(desk);
    let gauge = |spec| registry.gauge(spec, &[]);
    let (bytes, items) = (gauge(&KEPT_BYTES), gauge(&KEPT_ITEMS));
    let (flights, coming) = (gauge(&FLIGHTS), gauge(&FLIGHT_BYTES));
    registry.sampled(move || {
        let Some(desk) = desk.upgrade() else {
            return Sampling::Over;
        };
        bytes.set(desk.kept.bytes() as i64);
        items.set(desk.kept.count() as i64);
        flights.set(desk.board.count() as i64);
        coming.set(desk.board.bytes() as i64);
        Sampling::Continue
    });
}
