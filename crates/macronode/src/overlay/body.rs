//! An answer's body: JSON that is here, or events as they come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body, Frame, SizeHint};

/// The body of an answer.
pub(crate) enum OverlayBody {
    /// All of it is here.
    Whole(Bytes),
    /// It comes as it is made, for as long as the client listens.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body for OverlayBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            OverlayBody::Whole(whole) if whole.is_empty() => Poll::Ready(None),
            OverlayBody::Whole(whole) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(whole))))),
            OverlayBody::Stream(stream) => stream
                .as_mut()
                .poll_next(cx)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, OverlayBody::Whole(whole) if whole.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            OverlayBody::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            OverlayBody::Stream(_) => SizeHint::default(),
        }
    }
}
