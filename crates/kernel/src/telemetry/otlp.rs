//! Spans over OTLP/HTTP, in the protocol's JSON: recorded by a layer, queued like log lines, sent by a child.
//!
//! The protocol is small enough to be written here: what a queue sheds and what a collector refuses are then counted
//! by the same means as everything else, and the client is the one the node has anyway.

use std::fmt;

use http::Uri;
use http::uri::Scheme;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;

use super::Extra;
use crate::tree::Child;
use crate::{Kernel, queue};

mod attributes;
mod encode;
mod export;
mod layer;
mod recorder;
mod span;
mod traceparent;

pub use super::trace_specs::{CHILD, EXPORTED, FAILURES, LOST, SPANS};
pub use attributes::Attributes;
pub use layer::current;
pub use recorder::{Recorder, Tracer};
pub use span::{Span, SpanKind};
pub use traceparent::{SpanId, TraceId, Traceparent};

/// What an operator chose for traces.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// Where spans go.
    pub endpoint: Endpoint,
    /// What the collector calls this node.
    pub service: String,
    /// The part of traces that begin here to keep, from 0 to 1. One that a peer began is kept if the peer keeps it.
    pub ratio: f64,
}

/// A layer that records spans of level info and above, and the child that sends them. From now on the kernel's tracer
/// takes others that are finished already.
pub fn traces(settings: TraceSettings, kernel: &Kernel) -> (Extra, Child) {
    let (sender, receiver) = queue::bounded(&SPANS, &kernel.queues);
    let recorder = Recorder::new(sender, settings.ratio);
    kernel.tracer.begin(recorder.clone());
    let layer = layer::SpanLayer::new(recorder);
    let child = export::child(settings, receiver);
    (layer.with_filter(LevelFilter::INFO).boxed(), child)
}

/// The URL of a collector, such as `http://localhost:4318/v1/traces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Uri);

/// Why a URL is no endpoint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It does not parse.
    #[error("it is no URL; write http://host:port/v1/traces")]
    Malformed,
    /// Not plain HTTP.
    #[error("only http:// is spoken to a collector; run one beside the node to reach others")]
    Scheme,
    /// It carries a user or a password, which would end up in logs.
    #[error("it must not carry a user or password")]
    UserInfo,
}

impl Endpoint {
    /// Reads a URL.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let uri: Uri = text.parse().map_err(|_| EndpointError::Malformed)?;
        let authority = uri.authority().ok_or(EndpointError::Malformed)?;
        if uri.scheme().ok_or(EndpointError::Malformed)? != &Scheme::HTTP {
            return Err(EndpointError::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(EndpointError::UserInfo);
        }
        // The parser takes any digits after the colon, and then says that there is no port.
        if authority.port().is_none() && authority.as_str() != authority.host() {
            return Err(EndpointError::Malformed);
        }
        Ok(Self(uri))
    }

    /// What to connect to; the port is the protocol's own unless given.
    fn address(&self) -> (&str, u16) {
        let host = self.0.host().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        (bare.unwrap_or(host), self.0.port_u16().unwrap_or(4318))
    }

    fn authority(&self) -> &str {
        self.0
            .authority()
            .map_or("", |authority| authority.as_str())
    }

    fn path(&self) -> &str {
        self.0.path_and_query().map_or("/", |path| path.as_str())
    }
}

/// As it may be logged.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&strict_config::masked_url(&self.0.to_string()))
    }
}

#[cfg(test)]
mod tests;
