//! What carries a request: an HTTP/1 connection of its own, or a place on a shared HTTP/2 one.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http1_wire::Ask;
use hyper::body::{Body, Frame, SizeHint};
use kernel::clock;
use tokio::time::Instant;

use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::error::SendError;
use crate::fault::{self, Broken, Seen, Talk};
use crate::h2::{self, Stream};
use crate::line::Line;
use crate::outgoing::Outgoing;
use crate::spec::Protocol;

/// A peer that has waited for the rest of a request for so long may have had enough of it.
const LONG: Duration = Duration::from_millis(500);

pub(crate) enum Channel {
    /// Boxed: it is handed on many times in its life, and made once.
    Line(Box<Line>),
    Stream(Stream),
}

/// A connection of its own, or a place on a shared one; true if it is new.
pub(crate) async fn open(
    endpoint: &Endpoint,
    until: Instant,
) -> Result<(Channel, bool), SendError> {
    let settings = endpoint.settings.load_full();
    if settings.protocol == Protocol::H2 {
        let (stream, new) = h2::stream(endpoint, &settings, until).await?;
        return Ok((Channel::Stream(stream), new));
    }
    let generation = endpoint.idle.generation();
    let io = dial(endpoint, &settings, until).await?;
    let line = Line::new(io, settings.head_bytes, generation);
    Ok((Channel::Line(Box::new(line)), true))
}

impl Channel {
    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn exchange(
        &mut self,
        endpoint: &Endpoint,
        ask: &Ask<'_>,
        body: Outgoing,
        reused: bool,
        until: Instant,
    ) -> Result<Response<()>, SendError> {
        let spec = &endpoint.target.spec;
        match self {
            Self::Line(line) => {
                let answer = line.exchange(ask, || spec.authority(), body).await;
                answer.map_err(|error| {
                    let talk = Talk {
                        reused,
                        read: line.read(),
                        written: line.wrote(),
                        kept_waiting: is_long(line.lacks_since()),
                    };
                    fault::of_line(endpoint, error, talk)
                })
            }
            Self::Stream(stream) => {
                let request = h2::request(ask, spec, body);
                // Boxed: it is large, and who speaks HTTP/1 should not have to keep room for it.
                let answer = Box::pin(stream.exchange(endpoint, request, until)).await;
                answer.map_err(|error| {
                    let seen = Seen {
                        large_head: stream.heard_large_head(),
                        kept_waiting: is_long(stream.lacks_since()),
                        request_failed: stream.request_failed(),
                        barren: stream.is_barren(),
                    };
                    fault::of_stream(endpoint, error, seen)
                })
            }
        }
    }

    /// The next frame of the answer's body, if it can be had without waiting.
    pub(crate) fn frame_at_hand(&mut self) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.poll_frame(&mut Context::from_waker(Waker::noop()))
    }

    /// The next frame of the answer's body.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self {
            Self::Line(line) => line.poll_frame(cx).map_err(Broken::Line),
            Self::Stream(stream) => stream.poll_frame(cx),
        }
    }

    /// Whether the rest of the request is waited for, and its peer would take it.
    pub(crate) fn lacks_body(&self) -> bool {
        self.lacks_since().is_some()
    }

    /// What was seen of an exchange whose answer breaks off.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            large_head: false,
            kept_waiting: is_long(self.lacks_since()),
            request_failed: match self {
                // Its error says so itself.
                Self::Line(_) => false,
                Self::Stream(stream) => stream.request_failed(),
            },
            barren: false,
        }
    }

    fn lacks_since(&self) -> Option<Instant> {
        match self {
            Self::Line(line) => line.lacks_since(),
            Self::Stream(stream) => stream.lacks_since(),
        }
    }

    /// Whether all of the answer was taken.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Line(line) => line.is_done(),
            Self::Stream(stream) => stream.body.as_ref().is_none_or(Body::is_end_stream),
        }
    }

    /// What is known of the length of what has yet to be taken.
    pub(crate) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Line(line) => line.size_hint(),
            Self::Stream(stream) => match &stream.body {
                Some(body) => body.size_hint(),
                None => SizeHint::with_exact(0),
            },
        }
    }
}

fn is_long(since: Option<Instant>) -> bool {
    since.is_some_and(|since| clock::now().saturating_duration_since(since) >= LONG)
}
