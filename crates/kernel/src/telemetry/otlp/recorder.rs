//! Takes finished spans: from the layer, and from those who know of themselves when they began and ended.

use std::sync::{Arc, OnceLock};

use super::span::Span;
use super::traceparent::TraceId;
use crate::queue::Sender;

/// Where a recorder is found once traces are asked for, which is before any service is made.
#[derive(Clone, Default)]
pub struct Tracer(Arc<OnceLock<Recorder>>);

impl Tracer {
    /// The recorder; absent where nobody asked for traces.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.0.get()
    }

    pub(super) fn begin(&self, recorder: Recorder) {
        let _begun_before = self.0.set(recorder);
    }
}

/// Takes finished spans of traces that are kept.
#[derive(Clone)]
pub struct Recorder {
    sender: Sender<Span>,
    ratio: f64,
}

impl Recorder {
    pub(super) fn new(sender: Sender<Span>, ratio: f64) -> Self {
        Self { sender, ratio }
    }

    /// Whether a trace that begins here is kept. One that a peer began is kept if the peer keeps it.
    pub fn keeps(&self, trace: TraceId) -> bool {
        trace.kept(self.ratio)
    }

    /// Queues a span; the oldest goes where there is no room.
    pub fn record(&self, span: Span) {
        // Refused only once the exporter has ended, which it does with the node.
        let _closed = self.sender.try_send(span);
    }
}
