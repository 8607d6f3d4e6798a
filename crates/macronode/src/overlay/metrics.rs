//! What the overlay counts.

use kernel::metrics::{Counter, Gauge, Kind, MetricSpec, Registry};
use kernel::serve::problem::REJECTED;

use super::reject::{self, Refusal};
use super::routes::ROUTES;

/// Requests by route.
static REQUESTS: MetricSpec = MetricSpec {
    name: "overlay_requests_total",
    kind: Kind::Counter,
    labels: &["route"],
    help: "Requests to the overlay API, by route; what was refused is in rejected_total too",
};
/// Streams of events.
static STREAMS: MetricSpec = MetricSpec {
    name: "overlay_event_streams",
    kind: Kind::Gauge,
    labels: &[],
    help: "Streams of events that are open",
};

/// All of them.
pub(crate) static ALL: [&MetricSpec; 2] = [&REQUESTS, &STREAMS];

/// The overlay's handles.
pub(crate) struct Metrics {
    /// In the order of the table.
    requests: Vec<Counter>,
    rejected: Vec<(&'static str, Counter)>,
    pub(crate) streams: Gauge,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let requests = ROUTES.iter();
        let rejected = reject::all().into_iter().map(|refusal| refusal.reason());
        Self {
            requests: requests
                .map(|route| registry.counter(&REQUESTS, &[route.name]))
                .collect(),
            rejected: rejected
                .map(|reason| (reason, registry.counter(&REJECTED, &[reason])))
                .collect(),
            streams: registry.gauge(&STREAMS, &[]),
        }
    }

    pub(crate) fn asked(&self, route: usize) {
        self.requests[route].inc();
    }

    pub(crate) fn refused(&self, refusal: &Refusal) {
        let reason = refusal.reason();
        if let Some((_, counter)) = self.rejected.iter().find(|(known, _)| *known == reason) {
            counter.inc();
        }
    }
}
