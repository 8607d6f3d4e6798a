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
use crate::h2::Stream;

pin_project! {
    /// A body, and who is to know when it has been handed over.
    pub(crate) struct Reply<B> {
        #[pin]
        content: Content<B>,
        // What was too much to be handed over at once.
        rest: Bytes,
        handover: Handover,
    }
}

/// A stream hands over no more at once: what the codec has taken, nobody can take back when the peer stands still.
const PIECE: usize = 64 * 1024;

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
    /// One of many; also told how it goes on, since each may stand still for itself.
    H2(Arc<Stream>),
}

impl Drop for Handover {
    fn drop(&mut self) {
        match self {
            Handover::H1(talk) => talk.handed_over(),
            Handover::H2(stream) => stream.handed_over(),
        }
    }
}

impl<B> Reply<B> {
    /// The service's answer.
    pub(crate) fn service(answer: Response<B>, handover: Handover) -> Response<Self> {
        answer.map(|body| Self {
            content: Content::Service { body },
            rest: Bytes::new(),
            handover,
        })
    }

    /// An answer of a few bytes.
    pub(crate) fn own(answer: Response<Bytes>, handover: Handover) -> Response<Self> {
        answer.map(|bytes| Self {
            content: Content::Own {
                bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
            },
            rest: Bytes::new(),
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
        let stream = match &*this.handover {
            Handover::H1(_) => None,
            Handover::H2(stream) => Some(stream),
        };
        if let Some(stream) = stream {
            stream.moves();
            if !this.rest.is_empty() {
                stream.waits();
                let length = this.rest.len().min(PIECE);
                return Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(length)))));
            }
        }
        let frame = match this.content.project() {
            ContentProjection::Service { body } => ready!(body.poll_frame(cx)),
            ContentProjection::Own { bytes } => bytes.take().map(|bytes| Ok(Frame::data(bytes))),
        };
        let mut frame = frame.map(|frame| frame.map_err(Into::into));
        if let (Some(stream), Some(Ok(frame))) = (stream, &mut frame) {
            stream.waits();
            if let Some(data) = frame.data_mut()
                && data.len() > PIECE
            {
                *this.rest = data.split_off(PIECE);
            }
        }
        Poll::Ready(frame)
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        let over = match &self.content {
            Content::Service { body } => body.is_end_stream(),
            Content::Own { bytes } => bytes.is_none(),
        };
        over && self.rest.is_empty()
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        // Asked before the first piece, when nothing is left over.
        match &self.content {
            Content::Service { body } => body.size_hint(),
            Content::Own { bytes } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
        }
    }
}
