//! What the transport counts. No label value comes from a client.

use std::time::Duration;

use hashbrown::HashMap;
use kernel::metrics::{Counter, Gauge, Histogram, Kind, MetricSpec, Registry};
use kernel::serve::IO_TIMEOUTS;
use kernel::serve::problem::REJECTED;
use oap::Violation;

use crate::gates::Services;
use crate::reject::{Refusal, reasons};

/// Upper bounds of times, in seconds.
const SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// Requests by opcode and class of status.
pub static REQUESTS: MetricSpec = MetricSpec {
    name: "transport_requests_total",
    kind: Kind::Counter,
    labels: &["opcode", "status"],
    help: "Framed requests answered, by opcode and class of status",
};
/// How long it took until answers began.
pub static SECONDS_TOTAL: MetricSpec = MetricSpec {
    name: "transport_request_seconds",
    kind: Kind::Histogram(SECONDS),
    labels: &["opcode"],
    help: "Time from a request's first frame to the beginning of its answer",
};
/// Frames.
pub static FRAMES: MetricSpec = MetricSpec {
    name: "transport_frames_total",
    kind: Kind::Counter,
    labels: &["direction"],
    help: "Frames read and written",
};
/// Broken rules.
pub static VIOLATIONS: MetricSpec = MetricSpec {
    name: "transport_violations_total",
    kind: Kind::Counter,
    labels: &["reason"],
    help: "Connections ended because their peer broke a rule of the protocol",
};
/// Requests given up.
pub static CANCELED: MetricSpec = MetricSpec {
    name: "transport_canceled_total",
    kind: Kind::Counter,
    labels: &["by"],
    help: "Requests given up before they were answered: reset by the client, its connection lost",
};
/// Streams cut off.
pub static STALLED: MetricSpec = MetricSpec {
    name: "transport_stalled_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Answers broken off because the client granted no credit in time",
};
/// Requests under way.
pub static INFLIGHT: MetricSpec = MetricSpec {
    name: "transport_inflight",
    kind: Kind::Gauge,
    labels: &[],
    help: "Framed requests at once, until the last of their answers",
};

/// All of them, for the reference page.
pub(crate) static ALL: [&MetricSpec; 7] = [
    &REQUESTS,
    &SECONDS_TOTAL,
    &FRAMES,
    &VIOLATIONS,
    &CANCELED,
    &STALLED,
    &INFLIGHT,
];

/// The classes of status.
const STATUSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// The transport's handles.
pub(crate) struct Metrics {
    opcodes: HashMap<(u16, u16), OpcodeMetrics>,
    /// What no service was asked for.
    other: OpcodeMetrics,
    rejected: HashMap<&'static str, Counter>,
    violations: HashMap<&'static str, Counter>,
    pub(crate) read: Counter,
    pub(crate) written: Counter,
    pub(crate) reset: Counter,
    pub(crate) lost: Counter,
    pub(crate) stalled: Counter,
    pub(crate) inflight: Gauge,
    pub(crate) late_reads: Counter,
    pub(crate) late_writes: Counter,
}

struct OpcodeMetrics {
    statuses: [Counter; STATUSES.len()],
    seconds: Histogram,
}

impl OpcodeMetrics {
    fn new(registry: &Registry, opcode: &'static str) -> Self {
        Self {
            statuses: STATUSES.map(|status| registry.counter(&REQUESTS, &[opcode, status])),
            seconds: registry.histogram(&SECONDS_TOTAL, &[opcode]),
        }
    }
}

impl Metrics {
    pub(crate) fn new(registry: &Registry, services: &Services) -> Self {
        let each = services.iter().flat_map(|(app_proto, handler)| {
            let opcodes = handler.opcodes().iter();
            opcodes.map(|opcode| {
                (
                    (*app_proto, opcode.code),
                    OpcodeMetrics::new(registry, opcode.name),
                )
            })
        });
        let rejected = |reason| (reason, registry.counter(&REJECTED, &[reason]));
        let violation = |violation: &Violation| {
            let reason = violation.reason();
            (reason, registry.counter(&VIOLATIONS, &[reason]))
        };
        let op = |op| registry.counter(&IO_TIMEOUTS, &[op]);
        Self {
            opcodes: each.collect(),
            other: OpcodeMetrics::new(registry, "other"),
            rejected: reasons()
                .into_iter()
                .map(|reason| rejected(reason.reason))
                .collect(),
            violations: Violation::ALL.iter().map(violation).collect(),
            read: registry.counter(&FRAMES, &["read"]),
            written: registry.counter(&FRAMES, &["written"]),
            reset: registry.counter(&CANCELED, &["reset"]),
            lost: registry.counter(&CANCELED, &["lost"]),
            stalled: registry.counter(&STALLED, &[]),
            inflight: registry.gauge(&INFLIGHT, &[]),
            late_reads: op("read"),
            late_writes: op("write"),
        }
    }

    pub(crate) fn answered(&self, opcode: (u16, u16), status: u16, took: Duration) {
        let opcode = self.opcodes.get(&opcode).unwrap_or(&self.other);
        opcode.statuses[usize::from(status / 100).clamp(2, 5) - 2].inc();
        opcode.seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn refused(&self, refusal: Refusal) {
        if let Some(counter) = self.rejected.get(refusal.reason()) {
            counter.inc();
        }
    }

    pub(crate) fn violated(&self, violation: Violation) {
        if let Some(counter) = self.violations.get(violation.reason()) {
            counter.inc();
        }
    }
}
