//! What a collector is told of a request whose trace is kept: a span for all of it, and one for its upstream's part.

use std::time::Duration;

use http::request::Parts;
use http_rules::trace::TraceContext;
use kernel::clock;
use kernel::telemetry::otlp::{Attributes, Recorder, Span, SpanId, SpanKind, TraceId, Traceparent};

use super::Journey;
use crate::caller::Caller;
use crate::naming::Names;

/// The spans of one request, by their numbers.
pub(super) struct Spans {
    trace: TraceId,
    /// The caller's.
    parent: Option<SpanId>,
    whole: SpanId,
    upstream: SpanId,
}

impl Spans {
    /// Those of a request, if its trace is kept: as its caller says, else by the share that is. Its upstream is then
    /// told of the span in which it is asked.
    pub(super) fn begin(
        recorder: &Recorder,
        request: &Parts,
        names: &mut Names,
    ) -> Option<Box<Self>> {
        let given = TraceContext::given(&request.headers);
        let trace = TraceId::of(names.trace_id)?;
        if !given.map_or_else(|| recorder.keeps(trace), |given| given.sampled) {
            return None;
        }
        let context = TraceContext {
            trace_id: names.trace_id,
            span_id: fastrand::u64(1..),
            sampled: true,
        };
        names.trace = Some(context);
        Some(Box::new(Self {
            trace,
            parent: given.and_then(|given| SpanId::of(given.span_id)),
            whole: SpanId::random(),
            upstream: SpanId::of(context.span_id)?,
        }))
    }

    fn place(&self, span: SpanId) -> Traceparent {
        Traceparent {
            trace: self.trace,
            span,
            sampled: true,
        }
    }
}

impl Journey {
    /// Tells of it, once it has ended.
    pub(super) fn record(&self, spans: &Spans) {
        let Some(recorder) = &self.plan.shared.recorder else {
            return;
        };
        // Only here the wall clock matters: both clocks are read once, and all else is reckoned from there.
        let behind = clock::unix_time().saturating_sub(self.plan.shared.timeline.now());
        let times = &self.times;
        if self.tries > 0 {
            let name = self.backend.as_ref().map_or("", |backend| &backend.name);
            recorder.record(Span {
                name: name.to_owned().into(),
                place: spans.place(spans.upstream),
                parent: Some(spans.whole),
                kind: SpanKind::Client,
                start: behind + times.since,
                end: behind + times.since + times.upstream,
                attributes: self.of_upstream(name),
                error: self.error(400),
            });
        }
        let route = self.route.as_ref().map(|route| route.name.clone());
        recorder.record(Span {
            name: route.unwrap_or_else(|| self.method().to_owned()).into(),
            place: spans.place(spans.whole),
            parent: spans.parent,
            kind: SpanKind::Server,
            start: behind + self.began,
            end: behind + self.seen.max(self.began),
            attributes: self.of_whole(),
            error: self.error(500),
        });
    }

    fn method(&self) -> &str {
        self.asked
            .as_ref()
            .map_or("", |(method, _)| method.as_str())
    }

    /// Names as in the semantic conventions of OpenTelemetry, where these have one.
    fn of_whole(&self) -> Attributes {
        let mut known = Attributes::default();
        known.text("http.request.method", self.method());
        if let Some((_, uri)) = &self.asked {
            known.text("url.path", uri.path());
        }
        known.number("http.response.status_code", self.status.into());
        known.text("client.address", &self.from.address.to_string());
        known.text("macronode.request_id", self.id.as_str());
        if let Some(tenant) = self.caller.as_ref().and_then(Caller::tenant) {
            known.text("macronode.tenant", tenant);
        }
        if !self.reason.is_empty() {
            known.text("macronode.reason", self.reason);
        }
        self.add_error(500, &mut known);
        if self.times.queue > Duration::ZERO {
            let queued = self.times.queue.as_micros();
            known.number("macronode.queue_us", queued.try_into().unwrap_or(i64::MAX));
        }
        known
    }

    fn of_upstream(&self, name: &str) -> Attributes {
        let mut known = Attributes::default();
        known.text("http.request.method", self.method());
        known.text("macronode.upstream", name);
        if self.reason.is_empty() {
            known.number("http.response.status_code", self.status.into());
        }
        if self.tries > 1 {
            known.number("http.request.resend_count", (self.tries - 1).into());
        }
        self.add_error(400, &mut known);
        known
    }

    fn add_error(&self, from: u16, known: &mut Attributes) {
        if let Some(error) = self.error(from) {
            known.text("error.type", &error);
        }
    }

    /// What went wrong: for who asks, an answer of 400 or more is an error; for who is asked, one of 500 or more.
    fn error(&self, from: u16) -> Option<String> {
        if self.status < from && (self.reason.is_empty() || from > 400) {
            return None;
        }
        Some(match self.reason {
            "" => self.status.to_string(),
            reason => reason.to_owned(),
        })
    }
}
