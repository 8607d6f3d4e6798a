//! A finished span, as a collector is told of it.

use std::borrow::Cow;
use std::time::Duration;

use super::attributes::Attributes;
use super::traceparent::{SpanId, Traceparent};

/// A finished span.
#[derive(Debug)]
pub struct Span {
    /// What was done.
    pub name: Cow<'static, str>,
    /// Where it is in its trace.
    pub place: Traceparent,
    /// What caused it.
    pub parent: Option<SpanId>,
    /// Who asked whom.
    pub kind: SpanKind,
    /// When it began, since the epoch.
    pub start: Duration,
    /// When it ended, since the epoch.
    pub end: Duration,
    /// What is known of it.
    pub attributes: Attributes,
    /// What went wrong, if anything.
    pub error: Option<String>,
}

/// Who asked whom; the numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Nobody from outside, nobody outside.
    Internal = 1,
    /// A peer asked this node.
    Server = 2,
    /// This node asked a peer.
    Client = 3,
}
