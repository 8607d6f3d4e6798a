//! What the gateway counts. Label values are route and upstream names from the config, never a client's words.

use std::time::Duration;

use hashbrown::{HashMap, HashSet};
use kernel::metrics::{Counter, Gauge, Histogram, Kind, MetricSpec, Registry};
use kernel::serve::problem::REJECTED;

use kernel::lock::{Lock, LockSpec};

use crate::labels::{self, Bound, Label};

/// Upper bounds of times, in seconds.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// Requests by route and class of status.
pub static REQUESTS: MetricSpec = MetricSpec {
    name: "gateway_requests_total",
    kind: Kind::Counter,
    labels: &["route", "status"],
    help: "Requests answered, by route and class of status; routes beyond 32 share `other`",
};
/// How long answers took.
pub static SECONDS_TOTAL: MetricSpec = MetricSpec {
    name: "gateway_request_seconds",
    kind: Kind::Histogram(SECONDS),
    labels: &["route"],
    help: "Time from a request's head to the end of its answer; routes beyond 14 share `other`",
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
    help: "Time from sending a request to an upstream to the head of its answer; upstreams beyond 8 share `other`",
};
/// Requests refused because a share or queue was full.
pub static BUSY: MetricSpec = MetricSpec {
    name: "busy_rejections_total",
    kind: Kind::Counter,
    labels: &["endpoint"],
    help: "Requests answered 429, by route; routes beyond 32 share `other`",
};
/// Retries.
pub static RETRIES: MetricSpec = MetricSpec {
    name: "backoff_retries_total",
    kind: Kind::Counter,
    labels: &["op"],
    help: "Requests sent to an upstream once more, by upstream; those beyond 16 share `other`",
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
    help: "Requests an upstream is given at once, configured or found; those beyond 16 are summed as `other`",
};
/// Requests that wait for an upstream.
pub static WAITING: MetricSpec = MetricSpec {
    name: "upstream_waiting",
    kind: Kind::Gauge,
    labels: &["upstream"],
    help: "Requests that wait for a place; upstreams beyond 16 are summed as `other`",
};
/// Whether the gateway lacks something.
pub static DEGRADED: MetricSpec = MetricSpec {
    name: "gateway_degraded",
    kind: Kind::Gauge,
    labels: &[],
    help: "1 while an upstream has no endpoint that is up, keys of tokens are stale, or new certificates are no use",
};
/// Certificates that were of no use.
pub static CERTIFICATE_FAILURES: MetricSpec = MetricSpec {
    name: "gateway_certificate_failures_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Times that files of certificates had changed and could not be taken over",
};
/// Streams and tunnels.
pub static STREAMS: MetricSpec = MetricSpec {
    name: "gateway_streams",
    kind: Kind::Gauge,
    labels: &[],
    help: "Event streams and upgraded connections open",
};

/// All of them, for the reference page.
pub(crate) static ALL: [&MetricSpec; 13] = [
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
    &CERTIFICATE_FAILURES,
    &STREAMS,
];

/// Guards the names that have become label values.
pub(crate) static NAMES: LockSpec = LockSpec {
    name: "gateway_names",
    level: 30,
    doc: "names of routes and upstreams that have become label values; asked when a config is applied",
};

/// Names that become label values in the life of a process, which keeps each of them.
const MOST_NAMES: usize = 16_384;

/// The classes, in the order of the fair queue.
pub const CLASSES: [&str; 3] = ["anon", "authed", "internal"];

/// The classes of status.
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// A metric by its name, with label values.
type Series = ((&'static str, Vec<&'static str>), &'static MetricSpec);

/// What has become of names.
#[derive(Default)]
struct Names {
    kept: HashSet<&'static str>,
    /// What is rendered for them.
    shown: HashMap<(&'static str, Vec<&'static str>), &'static MetricSpec>,
}

/// The gateway's handles.
pub(crate) struct Metrics {
    registry: Registry,
    names: Lock<Names>,
    rejected: HashMap<&'static str, Counter>,
    pub(crate) waited: [Histogram; 3],
    pub(crate) streams: Gauge,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry) -> Self {
        let rejected = |reason: &&'static str| (*reason, registry.counter(&REJECTED, &[reason]));
        Self {
            registry: registry.clone(),
            names: Lock::new(&NAMES, Names::default()),
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

    /// The labels of these names, each of which had perhaps one before.
    pub(crate) fn labels(
        &self,
        names: &[&str],
        bound: Bound,
        had: impl Fn(&str) -> Option<Label>,
    ) -> Vec<Label> {
        let mut known = self.names.lock();
        labels::assign(names, bound, had, |name| known.keep(name))
    }

    /// Renders these labels only: those of names that are in no config any more make room for others.
    pub(crate) fn show(
        &self,
        routes: impl Iterator<Item = Label>,
        upstreams: impl Iterator<Item = Label>,
    ) {
        let routes = routes.flat_map(of_route);
        let wanted: HashMap<_, _> = routes.chain(upstreams.flat_map(of_upstream)).collect();
        let shown = std::mem::replace(&mut self.names.lock().shown, wanted.clone());
        for (series, spec) in shown {
            if !wanted.contains_key(&series) {
                self.registry.forget(spec, &series.1);
            }
        }
    }

    /// The handles of a route that was known by these before, if it was.
    pub(crate) fn route(&self, label: Label, known: Option<&RouteMetrics>) -> RouteMetrics {
        self.will_show(of_route(label));
        let status = |class| self.registry.counter(&REQUESTS, &[label.counts, class]);
        let shared = STATUSES.map(status);
        let (own, shared) = match label.is_shared() {
            false => (shared, None),
            true => {
                let apart = known.filter(|known| known.shared.is_some());
                let own = apart.map(|known| known.own.clone());
                (own.unwrap_or_default(), Some(shared))
            }
        };
        RouteMetrics {
            own,
            shared,
            seconds: self.registry.histogram(&SECONDS_TOTAL, &[label.times]),
            busy: self.registry.counter(&BUSY, &[label.counts]),
        }
    }

    pub(crate) fn upstream(&self, label: Label) -> UpstreamMetrics {
        self.will_show(of_upstream(label));
        UpstreamMetrics {
            seconds: self.registry.histogram(&UPSTREAM_SECONDS, &[label.times]),
            retries: self.registry.counter(&RETRIES, &[label.counts]),
            limit: self.registry.gauge(&LIMIT, &[label.counts]),
            waiting: self.registry.gauge(&WAITING, &[label.counts]),
        }
    }

    /// Remembers what a config that is made ready renders, for it may come to nothing.
    fn will_show(&self, series: impl Iterator<Item = Series>) {
        self.names.lock().shown.extend(series);
    }
}

impl Names {
    /// A name as a label value. Names come from the config alone, and only so many are kept.
    fn keep(&mut self, name: &str) -> Option<&'static str> {
        if let Some(known) = self.kept.get(name) {
            return Some(known);
        }
        if self.kept.len() >= MOST_NAMES {
            return None;
        }
        let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
        self.kept.insert(kept);
        Some(kept)
    }
}

fn of_route(label: Label) -> impl Iterator<Item = Series> {
    let statuses = STATUSES.map(|class| series(&REQUESTS, &[label.counts, class]));
    let others = [
        series(&BUSY, &[label.counts]),
        series(&SECONDS_TOTAL, &[label.times]),
    ];
    statuses.into_iter().chain(others)
}

fn of_upstream(label: Label) -> impl Iterator<Item = Series> {
    let counts = [&RETRIES, &LIMIT, &WAITING].map(|spec| series(spec, &[label.counts]));
    let times = series(&UPSTREAM_SECONDS, &[label.times]);
    counts.into_iter().chain([times])
}

fn series(spec: &'static MetricSpec, values: &[&'static str]) -> Series {
    ((spec.name, values.to_vec()), spec)
}

/// A route's handles.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    /// By class of status: what is rendered for the route, or what nobody sees but the view where it has no label.
    own: [Counter; 5],
    /// What is rendered for all that have none.
    shared: Option<[Counter; 5]>,
    seconds: Histogram,
    busy: Counter,
}

impl RouteMetrics {
    /// Answers so far, by class of status.
    pub(crate) fn statuses(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.own.iter().map(Counter::get);
        STATUSES.into_iter().zip(counts)
    }

    pub(crate) fn answered(&self, status: u16, took: Duration) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.own[class].inc();
        if let Some(shared) = &self.shared {
            shared[class].inc();
        }
        self.seconds.observe(took.as_secs_f64());
        if status == 429 {
            self.busy.inc();
        }
    }
}

/// An upstream's handles. Some share theirs with others.
#[derive(Debug)]
pub(crate) struct UpstreamMetrics {
    pub(crate) seconds: Histogram,
    pub(crate) retries: Counter,
    pub(crate) limit: Gauge,
    pub(crate) waiting: Gauge,
}

impl UpstreamMetrics {
    /// Brings gauges up to date: those that are shared are sums.
    pub(crate) fn set<'a>(all: impl Iterator<Item = (&'a Self, i64, i64)> + Clone) {
        for (metrics, ..) in all.clone() {
            metrics.limit.set(0);
            metrics.waiting.set(0);
        }
        for (metrics, limit, waiting) in all {
            metrics.limit.inc_by(limit);
            metrics.waiting.inc_by(waiting);
        }
    }
}

#[cfg(test)]
mod tests;
