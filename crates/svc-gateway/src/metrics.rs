//! What the gateway counts. Label values are route and upstream names from the config, never a client's words.

use std::time::Duration;

use hashbrown::HashMap;
use kernel::metrics::{Counter, Gauge, Histogram, Kind, MetricSpec, Registry};
use kernel::serve::problem::REJECTED;

use kernel::lock::{Lock, LockSpec};

/// Upper bounds of times, in seconds.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// Requests by route and class of status.
pub static REQUESTS: MetricSpec = MetricSpec {
    name: "gateway_requests_total",
    kind: Kind::Counter,
    labels: &["route", "status"],
    help: "Requests answered, by route and class of status",
};
/// How long answers took.
pub static SECONDS_TOTAL: MetricSpec = MetricSpec {
    name: "gateway_request_seconds",
    kind: Kind::Histogram(SECONDS),
    labels: &["route"],
    help: "Time from a request's head to the end of its answer",
};
/// How long requests waited for a place.
pub static QUEUE_SECONDS: MetricSpec = MetricSpec {
    name: "fq_wait_seconds",
    kind: Kind::Histogram(SECONDS),
    labels: &["class"],
    help: "Time requests that had to wait for a place waited",
};
/// How long upstreams took.
pub static UPSTREAM_SECONDS: MetricSpec = MetricSpec {
    name: "downstream_latency_seconds",
    kind: Kind::Histogram(SECONDS),
    labels: &["service"],
    help: "Time from sending a request to an upstream to the head of its answer",
};
/// Requests refused because a share or queue was full.
pub static BUSY: MetricSpec = MetricSpec {
    name: "busy_rejections_total",
    kind: Kind::Counter,
    labels: &["endpoint"],
    help: "Requests answered 429, by route",
};
/// Retries.
pub static RETRIES: MetricSpec = MetricSpec {
    name: "backoff_retries_total",
    kind: Kind::Counter,
    labels: &["op"],
    help: "Requests sent to an upstream once more, by upstream",
};
/// Places in use by class.
pub static INFLIGHT: MetricSpec = MetricSpec {
    name: "fq_inflight",
    kind: Kind::Gauge,
    labels: &["class"],
    help: "Requests that have a place, over all upstreams",
};
/// What classes may still spend.
pub static TOKENS: MetricSpec = MetricSpec {
    name: "fq_tokens",
    kind: Kind::Gauge,
    labels: &["class"],
    help: "Deficit of the class in cost units, summed over all upstreams",
};
/// Places of an upstream.
pub static LIMIT: MetricSpec = MetricSpec {
    name: "upstream_limit",
    kind: Kind::Gauge,
    labels: &["upstream"],
    help: "Requests an upstream is given at once, configured or found",
};
/// Requests that wait for an upstream.
pub static WAITING: MetricSpec = MetricSpec {
    name: "upstream_waiting",
    kind: Kind::Gauge,
    labels: &["upstream"],
    help: "Requests that wait for a place",
};
/// Whether the gateway lacks something.
pub static DEGRADED: MetricSpec = MetricSpec {
    name: "gateway_degraded",
    kind: Kind::Gauge,
    labels: &[],
    help: "1 while an upstream has no endpoint that is up, or the keys of tokens are stale",
};
/// Streams and tunnels.
pub static STREAMS: MetricSpec = MetricSpec {
    name: "gateway_streams",
    kind: Kind::Gauge,
    labels: &[],
    help: "Event streams and upgraded connections open",
};

/// All of them, for the reference page.
pub(crate) static ALL: [&MetricSpec; 12] = [
    &REQUESTS,
    &SECONDS_TOTAL,
    &QUEUE_SECONDS,
    &UPSTREAM_SECONDS,
    &BUSY,
    &RETRIES,
    &INFLIGHT,
    &TOKENS,
    &LIMIT,
    &WAITING,
    &DEGRADED,
    &STREAMS,
];

/// Guards the names that have become label values.
pub(crate) static NAMES: LockSpec = LockSpec {
    name: "gateway_names",
    level: 30,
    doc: "names of routes and upstreams that have become label values; asked when a config is applied",
};

/// Names that become label values; beyond these they are all `other`.
const MOST_NAMES: usize = 64;

/// The classes, in the order of the fair queue.
pub const CLASSES: [&str; 3] = ["anon", "authed", "internal"];

/// The classes of status.
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The gateway's handles.
pub(crate) struct Metrics {
    registry: Registry,
    names: Lock<HashMap<String, &'static str>>,
    rejected: HashMap<&'static str, Counter>,
    pub(crate) waited: [Histogram; 3],
    pub(crate) streams: Gauge,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let rejected = |reason: &&'static str| (*reason, registry.counter(&REJECTED, &[reason]));
        Self {
            registry: registry.clone(),
            names: Lock::new(&NAMES, HashMap::new()),
            rejected: crate::reject::REASONS.iter().map(rejected).collect(),
            waited: CLASSES.map(|class| registry.histogram(&QUEUE_SECONDS, &[class])),
            streams: registry.gauge(&STREAMS, &[]),
        }
    }

    /// Counts a refusal by its reason.
    pub(crate) fn rejected(&self, reason: &'static str) {
        match self.rejected.get(reason) {
            Some(counter) => {
                counter.inc();
            }
            None => {
                self.registry.counter(&REJECTED, &[reason]).inc();
            }
        }
    }

    /// A name as a label value. Names come from the config alone, and only so many are kept.
    pub(crate) fn label(&self, name: &str) -> &'static str {
        let mut names = self.names.lock();
        if let Some(known) = names.get(name) {
            return known;
        }
        if names.len() >= MOST_NAMES {
            return "other";
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(name.to_owned(), kept);
        kept
    }

    pub(crate) fn route(&self, label: &'static str) -> RouteMetrics {
        let status = |class| self.registry.counter(&REQUESTS, &[label, class]);
        RouteMetrics {
            statuses: STATUSES.map(status),
            seconds: self.registry.histogram(&SECONDS_TOTAL, &[label]),
            busy: self.registry.counter(&BUSY, &[label]),
        }
    }

    pub(crate) fn upstream(&self, label: &'static str) -> UpstreamMetrics {
        UpstreamMetrics {
            seconds: self.registry.histogram(&UPSTREAM_SECONDS, &[label]),
            retries: self.registry.counter(&RETRIES, &[label]),
            limit: self.registry.gauge(&LIMIT, &[label]),
            waiting: self.registry.gauge(&WAITING, &[label]),
        }
    }
}

/// A route's handles.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    statuses: [Counter; 5],
    seconds: Histogram,
    busy: Counter,
}

impl RouteMetrics {
    /// Answers so far, by class of status.
    pub(crate) fn statuses(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.statuses.iter().map(Counter::get);
        STATUSES.into_iter().zip(counts)
    }

    pub(crate) fn answered(&self, status: u16, took: Duration) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.statuses[class].inc();
        self.seconds.observe(took.as_secs_f64());
        if status == 429 {
            self.busy.inc();
        }
    }
}

/// An upstream's handles.
#[derive(Debug)]
pub(crate) struct UpstreamMetrics {
    pub(crate) seconds: Histogram,
    pub(crate) retries: Counter,
    pub(crate) limit: Gauge,
    pub(crate) waiting: Gauge,
}
