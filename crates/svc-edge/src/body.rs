//! An answer's body: bytes that are here, pieces that come from a file, or what an origin sends.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use front_door::Sealed;
use http_body::{Body, Frame, SizeHint};

use crate::pieces::Pieces;
use crate::shared::Place;

/// The body of an answer, and the place of its request, which is free when the body has gone.
pub struct EdgeBody {
    content: Content,
    sealed: Option<Sealed>,
    place: Option<Place>,
}

enum Content {
    Whole(Bytes),
    Pieces(Box<Pieces>),
    Stream(Stream),
}

/// A body that comes as it is made.
type Stream = Pin<Box<dyn Body<Data = Bytes, Error = BrokenOff> + Send>>;

/// Why an answer broke off after it had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenOff {
    /// The file it comes from changed, or cannot be read any more.
    #[error("what was being sent cannot be read any more")]
    Unreadable,
    /// The origin's answer broke off.
    #[error("what was being fetched broke off")]
    Origin,
}

impl EdgeBody {
    /// All of it is here.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self {
            content: Content::Whole(bytes),
            sealed: None,
            place: None,
        }
    }

    /// It comes from a file.
    pub(crate) fn pieces(pieces: Pieces) -> Self {
        Self {
            content: Content::Pieces(Box::new(pieces)),
            sealed: None,
            place: None,
        }
    }

    /// It comes from elsewhere, as it comes.
    pub(crate) fn stream(
        body: impl Body<Data = Bytes, Error = BrokenOff> + Send + 'static,
    ) -> Self {
        Self {
            content: Content::Stream(Box::pin(body)),
            sealed: None,
            place: None,
        }
    }

    /// Says where its bytes lie.
    pub(crate) fn seal(&mut self, sealed: &Sealed) {
        self.sealed = Some(sealed.clone());
    }

    /// Where its bytes lie, if the system can send them from there.
    pub(crate) fn sealed(&self) -> Option<&Sealed> {
        self.sealed.as_ref()
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
            Content::Stream(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Whole(whole) => whole.is_empty(),
            Content::Pieces(pieces) => pieces.left() == 0,
            Content::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Content::Pieces(pieces) => SizeHint::with_exact(pieces.left()),
            Content::Stream(body) => body.size_hint(),
        }
    }
}
