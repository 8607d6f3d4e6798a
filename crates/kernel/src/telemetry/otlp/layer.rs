//! Records spans as they open and close, and queues those that belong to a kept trace.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes as Opening, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};
use tracing_subscriber::{Layer, Registry};

use super::attributes::{Attributes, text};
use super::recorder::Recorder;
use super::span::{Span, SpanKind};
use super::traceparent::{SpanId, TraceId, Traceparent};
use crate::clock;

/// The field of a span by which a peer's trace goes on: `info_span!("request", traceparent = header)`.
const TRACEPARENT: &str = "traceparent";

/// What the layer keeps with a span while it is open. Those of traces that are not kept carry only their place.
struct Open {
    place: Traceparent,
    parent: Option<SpanId>,
    kind: SpanKind,
    began: Instant,
    start: Duration,
    attributes: Attributes,
    error: Option<String>,
}

pub(super) struct SpanLayer {
    recorder: Recorder,
}

/// Where the current span is in its trace, to be passed on to an upstream.
pub fn current() -> Option<Traceparent> {
    let place = tracing::Span::current().with_subscriber(|(id, dispatch)| {
        let span = dispatch.downcast_ref::<Registry>()?.span(id)?;
        span.scope().find_map(|span| place_of(&span))
    });
    place.flatten()
}

fn place_of<'a, R: LookupSpan<'a>>(span: &SpanRef<'a, R>) -> Option<Traceparent> {
    span.extensions().get::<Open>().map(|open| open.place)
}

impl SpanLayer {
    pub(super) fn new(recorder: Recorder) -> Self {
        Self { recorder }
    }

    fn open(&self, remote: Option<Traceparent>, local: Option<Traceparent>) -> Open {
        let parent = remote.or(local);
        let trace = parent.map_or_else(TraceId::random, |parent| parent.trace);
        let sampled = parent.map_or_else(|| self.recorder.keeps(trace), |parent| parent.sampled);
        Open {
            place: Traceparent {
                trace,
                span: SpanId::random(),
                sampled,
            },
            parent: parent.map(|parent| parent.span),
            kind: match remote {
                Some(_) => SpanKind::Server,
                None => SpanKind::Internal,
            },
            began: clock::now(),
            start: clock::unix_time(),
            attributes: Attributes::default(),
            error: None,
        }
    }
}

impl<S> Layer<S> for SpanLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, opening: &Opening<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut header = Header::default();
        if opening.metadata().fields().field(TRACEPARENT).is_some() {
            opening.record(&mut header);
        }
        let local = span.parent().and_then(|parent| place_of(&parent));
        let mut open = self.open(header.found, local);
        if open.place.sampled {
            opening.record(&mut open.attributes);
        }
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        with_sampled(context.span(id), |open| values.record(&mut open.attributes));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if *event.metadata().level() != Level::ERROR {
            return;
        }
        with_sampled(context.event_span(event), |open| {
            let mut message = Message::default();
            event.record(&mut message);
            open.error = Some(message.0);
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let Some(open) = span.extensions_mut().remove::<Open>() else {
            return;
        };
        if open.place.sampled {
            self.recorder.record(open.finish(span.name()));
        }
    }
}

fn with_sampled<'a, R: LookupSpan<'a>>(span: Option<SpanRef<'a, R>>, edit: impl FnOnce(&mut Open)) {
    let Some(span) = span else {
        return;
    };
    let mut extensions = span.extensions_mut();
    if let Some(open) = extensions
        .get_mut::<Open>()
        .filter(|open| open.place.sampled)
    {
        edit(open);
    }
}

impl Open {
    /// The end is reckoned by the monotonic clock: no span ends before it began.
    fn finish(self, name: &'static str) -> Span {
        let took = clock::now().saturating_duration_since(self.began);
        Span {
            name: name.into(),
            place: self.place,
            parent: self.parent,
            kind: self.kind,
            start: self.start,
            end: self.start + took,
            attributes: self.attributes,
            error: self.error,
        }
    }
}

/// Finds a peer's place in a trace among the fields of a span.
#[derive(Default)]
struct Header {
    found: Option<Traceparent>,
}

impl Visit for Header {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACEPARENT {
            self.found = Traceparent::parse(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == TRACEPARENT {
            self.found = Traceparent::parse(&text(format_args!("{value:?}")));
        }
    }
}

/// Finds what an event says.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = text(format_args!("{value:?}"));
        }
    }
}
