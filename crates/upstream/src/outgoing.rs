//! The body of a request, of one type for all connections: nothing, or somebody's stream.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// Any error of a body.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Most requests have no body, and pay for none.
#[derive(Default)]
pub(crate) enum Outgoing {
    #[default]
    Empty,
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>),
}

impl Outgoing {
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if body.is_end_stream() {
            return Self::Empty;
        }
        Self::Stream(Box::pin(Erased { body }))
    }
}

/// The error of a request's body, which says that it is one.
#[derive(Debug, thiserror::Error)]
#[error("the body of the request failed: {0}")]
pub(crate) struct ClientBody(pub(crate) BoxError);

pin_project_lite::pin_project! {
    struct Erased<B> {
        #[pin]
        body: B,
    }
}

impl<B> Body for Erased<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = self.project().body.poll_frame(cx);
        let failed = |error: B::Error| BoxError::from(ClientBody(error.into()));
        polled.map(|frame| frame.map(|frame| frame.map_err(failed)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Stream(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(body) => body.size_hint(),
        }
    }
}
