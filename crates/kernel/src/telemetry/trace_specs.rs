//! What the trace exporter is made of.

use crate::drain::Phase;
use crate::limits;
use crate::metrics::{Kind, MetricSpec};
use crate::queue::{OnFull, QueueSpec};
use crate::tree::{ChildSpec, Restart};

/// Finished spans on their way out.
pub static SPANS: QueueSpec = QueueSpec {
    name: "traces",
    capacity: limits::TELEMETRY_QUEUE,
    on_full: OnFull::DropOldest,
    doc: "finished spans: any thread puts in, the trace exporter takes out",
};
/// The exporter.
pub static CHILD: ChildSpec = ChildSpec {
    name: "traces",
    doc: "sends finished spans to a collector over OTLP/HTTP",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::OnFailure,
    essential: false,
};
/// Spans a collector took.
pub static EXPORTED: MetricSpec = MetricSpec {
    name: "otlp_spans_exported_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Spans the collector accepted",
};
/// Spans no collector took.
pub static LOST: MetricSpec = MetricSpec {
    name: "otlp_spans_lost_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Spans taken from the queue that the collector did not accept",
};
/// Batches that failed.
pub static FAILURES: MetricSpec = MetricSpec {
    name: "otlp_export_failures_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Batches of spans the collector did not accept",
};
