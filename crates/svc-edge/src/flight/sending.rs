//! What the errors of sending mean to who waits for an answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use upstream::{Cause, NoEndpoint, SendError};

use crate::origin::failure::Failure;

/// No body.
pub(crate) struct Nothing;

impl Body for Nothing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}

pub(crate) fn nobody(none: NoEndpoint) -> Failure {
    match none {
        NoEndpoint::AllOpen { retry_after } => Failure::Open(retry_after),
        NoEndpoint::AllBusy => Failure::Queue,
        NoEndpoint::NoneResolved | NoEndpoint::NoneHealthy => Failure::Unreachable,
    }
}

pub(crate) fn failure(error: &SendError) -> Failure {
    tracing::debug!(%error, "an origin gave no answer");
    match error.cause() {
        Cause::Busy => Failure::Queue,
        Cause::Timeout => Failure::Late,
        Cause::Forbidden | Cause::Unreachable => Failure::Unreachable,
        Cause::Untrusted => Failure::Untrusted,
        Cause::RequestBody => Failure::Body,
        Cause::Garbage
        | Cause::Oversized
        | Cause::Stale
        | Cause::Closed
        | Cause::Short
        | Cause::StreamReset
        | Cause::KeptWaiting => Failure::Broken,
    }
}
