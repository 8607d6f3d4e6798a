//! A body that is still coming, read by one of many at its own pace: what it has not read is kept for it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::body::BrokenOff;
use crate::origin::heads::announced;

use super::{Flight, Landed};

/// One reader.
pub(crate) struct Reader {
    flight: Arc<Flight>,
    next: usize,
    visitor: u64,
    /// Of the length that was announced.
    left: u64,
}

impl Reader {
    pub(super) fn new(flight: &Arc<Flight>) -> Self {
        let length = {
            let state = flight.state.lock();
            let head = state.head.as_ref();
            head.and_then(|head| announced(&head.headers).ok().flatten())
        };
        Self {
            flight: flight.clone(),
            next: 0,
            visitor: flight.visitor(),
            left: length.unwrap_or(0),
        }
    }
}

impl Body for Reader {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = &mut *self;
        let mut state = this.flight.state.lock();
        if let Some(piece) = state.pieces.get(this.next) {
            this.next += 1;
            this.left = this.left.saturating_sub(piece.len() as u64);
            return Poll::Ready(Some(Ok(Frame::data(piece.clone()))));
        }
        match &state.landed {
            Some(Landed::Whole(_) | Landed::Brought(_)) => Poll::Ready(None),
            Some(Landed::Failed(_)) => Poll::Ready(Some(Err(BrokenOff::Origin))),
            None => {
                state.wake_later(this.visitor, cx);
                Poll::Pending
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.flight.forget(self.visitor);
    }
}
