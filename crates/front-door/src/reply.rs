//! The body of an answer on its way out: the service's, or a few bytes of the door's own.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::h2::Stream;

pin_project! {
    /// The body of an answer over HTTP/2, and the stream that is to know how it goes.
    pub(crate) struct Reply<B> {
        #[pin]
        content: Content<B>,
        // What was too much to be handed over at once.
        rest: Bytes,
        handover: Handover,
    }
}

/// No more is handed over at once: what the codec has taken, nobody can take back when the peer stands still.
const PIECE: usize = 64 * 1024;

pin_project! {
    #[project = ContentProjection]
    enum Content<B> {
        Service { #[pin] body: B },
        Own { whole: Whole },
    }
}

/// Told how the answer goes on, since each of many may stand still for itself, and when it is dropped: all of it has
/// been handed over then, or it never will be.
pub(crate) struct Handover(pub(crate) Arc<Stream>);

impl Drop for Handover {
    fn drop(&mut self) {
        self.0.handed_over();
    }
}

/// A body of a few bytes of the door's own.
pub(crate) struct Whole(pub(crate) Bytes);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
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
                whole: Whole(bytes),
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
        let stream = &this.handover.0;
        stream.moves();
        if !this.rest.is_empty() {
            stream.waits();
            let length = this.rest.len().min(PIECE);
            return Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(length)))));
        }
        let mut frame = match this.content.project() {
            ContentProjection::Service { body } => {
                ready!(body.poll_frame(cx)).map(|frame| frame.map_err(Into::into))
            }
            ContentProjection::Own { whole } => {
                ready!(Pin::new(whole).poll_frame(cx)).map(|frame| frame.map_err(Into::into))
            }
        };
        if let Some(Ok(frame)) = &mut frame {
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
            Content::Own { whole } => whole.is_end_stream(),
        };
        over && self.rest.is_empty()
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        // Asked before the first piece, when nothing is left over.
        match &self.content {
            Content::Service { body } => body.size_hint(),
            Content::Own { whole } => whole.size_hint(),
        }
    }
}
