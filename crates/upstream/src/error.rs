//! Why a request got no answer: at which stage, whether it may have been heard, whether it is worth another try.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::endpoint::{Endpoint, EndpointId};
use crate::outgoing::BoxError;

/// How far a request had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The connection.
    Connect,
    /// TLS, or the first words of HTTP/2.
    Handshake,
    /// Sending it.
    Send,
    /// Waiting for the head of the response.
    Head,
    /// Reading the body of the response.
    Body,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The address may not be dialled.
    Forbidden,
    /// The endpoint has as many connections as it may have, all busy.
    Busy,
    /// Nobody listens there, or no way leads there.
    Unreachable,
    /// The peer's certificate or its TLS is not acceptable.
    Untrusted,
    /// It took too long.
    Timeout,
    /// An idle connection turned out to be closed, before a byte of an answer.
    Stale,
    /// The peer closed or reset the connection.
    Closed,
    /// The peer ended before the length it had promised.
    Short,
    /// What came is not HTTP.
    Garbage,
    /// The head is larger than allowed, or interim responses do not end.
    Oversized,
    /// The peer reset this stream, or refused it.
    StreamReset,
    /// The body of the request failed: its client's fault.
    RequestBody,
    /// The peer left after it had long waited for the client: for the rest of the request, or to take the answer.
    KeptWaiting,
}

/// A request that got no answer, or not all of it.
#[derive(Debug)]
pub struct SendError {
    stage: Stage,
    cause: Cause,
    reached: bool,
    endpoint: SocketAddr,
    id: EndpointId,
    connecting: Option<Duration>,
    source: Option<BoxError>,
}

impl SendError {
    pub(crate) fn new(stage: Stage, cause: Cause, reached: bool, endpoint: &Endpoint) -> Self {
        Self {
            stage,
            cause,
            reached,
            endpoint: endpoint.target.address,
            id: endpoint.id,
            connecting: None,
            source: None,
        }
    }

    pub(crate) fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn after_connecting(mut self, took: Option<Duration>) -> Self {
        self.connecting = took;
        self
    }

    /// How long a connection was being opened for it, if one was: with success or without.
    pub fn connecting(&self) -> Option<Duration> {
        self.connecting
    }

    /// How far it had come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What went wrong.
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Whether the upstream may have acted on the request: if not, any request may be tried again, even elsewhere.
    pub fn may_have_reached(&self) -> bool {
        self.reached
    }

    /// Whether it took too long.
    pub fn is_timeout(&self) -> bool {
        self.cause == Cause::Timeout
    }

    /// Whether an idle connection turned out to be closed: an idempotent request may go again at once.
    pub fn is_stale(&self) -> bool {
        self.cause == Cause::Stale
    }

    /// Whose endpoint it was.
    pub fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    /// Which one that is, for [`Tried`](crate::Tried).
    pub fn id(&self) -> EndpointId {
        self.id
    }

    /// A stable word for logs and metrics.
    pub fn reason(&self) -> &'static str {
        match self.cause {
            Cause::Forbidden => "upstream_forbidden",
            Cause::Busy => "upstream_busy",
            Cause::Unreachable => "upstream_unreachable",
            Cause::Untrusted => "upstream_untrusted",
            Cause::Timeout => "upstream_timeout",
            Cause::Stale => "upstream_stale",
            Cause::Closed => "upstream_closed",
            Cause::Short => "upstream_short",
            Cause::Garbage => "upstream_garbage",
            Cause::Oversized => "upstream_oversized",
            Cause::StreamReset => "upstream_stream_reset",
            Cause::RequestBody => "request_body",
            Cause::KeptWaiting => "kept_waiting",
        }
    }

    /// Whether it speaks against the endpoint.
    pub fn is_failure(&self) -> bool {
        // A closed idle connection says nothing of the next; a busy pool and a client that left, or came too slowly,
        // are not its fault.
        !matches!(
            self.cause,
            Cause::Stale | Cause::Busy | Cause::RequestBody | Cause::KeptWaiting | Cause::Forbidden
        )
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Connect => "connecting",
            Stage::Handshake => "handshaking",
            Stage::Send => "sending",
            Stage::Head => "awaiting the head",
            Stage::Body => "reading the body",
        };
        write!(f, "{} while {stage} at {}", self.reason(), self.endpoint)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
