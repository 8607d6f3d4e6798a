//! An answer's body: bytes that are here, pieces that come from a file, or what an origin sends.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::pieces::Pieces;
use crate::shared::Place;

/// The body of an answer, and the place of its request, which is free when the body has gone.
pub struct EdgeBody {
    content: Content,
    place: Option<Place>,
}

enum Content {
    Whole(Bytes),
    Pieces(Box<Pieces>),
}

/// Why an answer broke off after it had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenOff {
    /// The file it comes from changed, or cannot be read any more.
    #[error("what was being sent cannot be read any more")]
    Unreadable,
}

impl EdgeBody {
    /// All of it is here.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self {
            content: Content::Whole(bytes),
            place: None,
        }
    }

    /// It comes from a file.
    pub(crate) fn pieces(pieces: Pieces) -> Self {
        Self {
            content: Content::Pieces(Box::new(pieces)),
            place: None,
        }
    }

    /// Keeps the place of its request.
    pub(crate) fn keeping(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }
}

impl Body for EdgeBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut self.get_mut().content {
            Content::Whole(whole) if whole.is_empty() => Poll::Ready(None),
            Content::Whole(whole) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(whole))))),
            Content::Pieces(pieces) => pieces
                .poll_next(cx)
                .map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(whole) => whole.is_empty(),
            Content::Pieces(pieces) => pieces.left() == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.content {
            Content::Whole(whole) => whole.len() as u64,
            Content::Pieces(pieces) => pieces.left(),
        })
    }
}
