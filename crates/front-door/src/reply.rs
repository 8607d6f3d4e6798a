//! The body of an answer on its way out: the service's, or a few bytes of the door's own.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::h1::Talk;

pin_project! {
    /// A body, and who is to know when it has been handed over.
    pub(crate) struct Reply<B> {
        #[pin]
        content: Content<B>,
        handover: Handover,
    }
}

pin_project! {
    #[project = ContentProjection]
    enum Content<B> {
        Service { #[pin] body: B },
        Own { bytes: Option<Bytes> },
    }
}

/// Told when the body is dropped: all of it has been handed over then, or it never will be.
pub(crate) enum Handover {
    /// One answer at a time.
    H1(Arc<Talk>),
}

impl Drop for Handover {
    fn drop(&mut self) {
        match self {
            Handover::H1(talk) => talk.handed_over(),
        }
    }
}

impl<B> Reply<B> {
    /// The service's answer.
    pub(crate) fn service(answer: Response<B>, handover: Handover) -> Response<Self> {
        answer.map(|body| Self {
            content: Content::Service { body },
            handover,
        })
    }

    /// An answer of a few bytes.
    pub(crate) fn own(answer: Response<Bytes>, handover: Handover) -> Response<Self> {
        answer.map(|bytes| Self {
            content: Content::Own {
                bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
            },
            handover,
        })
    }
}

impl<B> Body for Reply<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        let frame = match this.content.project() {
            ContentProjection::Service { body } => ready!(body.poll_frame(cx)),
            ContentProjection::Own { bytes } => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
        };
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Service { body } => body.is_end_stream(),
            Content::Own { bytes } => bytes.is_none(),
        }
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Service { body } => body.size_hint(),
            Content::Own { bytes } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
        }
    }
}
