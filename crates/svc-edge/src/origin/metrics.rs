//! What cached origins count.

use kernel::metrics::{Counter, Kind, MetricSpec, Registry};

/// What became of requests.
pub static OUTCOMES: MetricSpec = MetricSpec {
    name: "edge_origin_requests_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "Requests for cached origins: hit, stale (given out past its time), fetched, collapsed (one fetch for \
           several), passed (not for a cache), failed",
};
/// What became of fetches.
pub static FETCHES: MetricSpec = MetricSpec {
    name: "edge_fills_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Fetches from origins: fetched, confirmed (what is kept still holds), retried, failed",
};
/// Bytes either way; their ratio shows who makes an origin send more than is asked for.
pub static BYTES: MetricSpec = MetricSpec {
    name: "edge_origin_bytes_total",
    kind: Kind::Counter,
    labels: &["way"],
    help: "Bytes of bodies fetched from origins, and given out of what is kept of them",
};
/// Purges.
pub static PURGED: MetricSpec = MetricSpec {
    name: "edge_purged_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Addresses whose answers were purged",
};

/// All of them.
pub static ALL: [&MetricSpec; 4] = [&OUTCOMES, &FETCHES, &BYTES, &PURGED];

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
