//! A body that is sent on as it comes, of which what has gone is kept while it is small: where nobody has looked at it,
//! all of it can go again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use kernel::lock::{Lock, LockSpec};

use crate::intake::{Intake, KEPT_BYTES, Spoiled};
use crate::reject::Refusal;

/// A body between two tries.
pub(crate) static KEPT: LockSpec = LockSpec {
    name: "gateway_kept_body",
    level: 41,
    doc: "a request body that may go again: the task that sends it reads, its request begins it anew",
};

struct Inside {
    intake: Box<Intake>,
    /// What has gone, copied: a piece as it came may hold on to much more memory than its own.
    gone: BytesMut,
    /// What came behind it.
    trailers: Option<HeaderMap>,
    /// Too much has gone, or an answer has begun: it cannot go again.
    once: bool,
    /// Who may read it: the last that began to.
    turn: u32,
}

/// One way through a body. It leads nowhere once another has begun.
pub(crate) struct Kept {
    inside: Arc<Lock<Inside>>,
    turn: u32,
    /// How much of what had gone before has gone again.
    at: usize,
    ended: bool,
}

impl Kept {
    pub(crate) fn new(intake: Box<Intake>) -> Self {
        let inside = Inside {
            intake,
            gone: BytesMut::new(),
            trailers: None,
            once: false,
            turn: 0,
        };
        Self {
            inside: Arc::new(Lock::new(&KEPT, inside)),
            turn: 0,
            at: 0,
            ended: false,
        }
    }

    /// Whether all of it can be had again.
    pub(crate) fn is_whole(&self) -> bool {
        !self.inside.lock().once
    }

    /// The same from its beginning; whoever read it before reads no further.
    pub(crate) fn again(&self) -> Self {
        let mut inside = self.inside.lock();
        inside.turn += 1;
        Self {
            inside: self.inside.clone(),
            turn: inside.turn,
            at: 0,
            ended: false,
        }
    }

    /// It will not have to go again.
    pub(crate) fn forget(&self) {
        self.inside.lock().forget();
    }
}

impl Inside {
    fn forget(&mut self) {
        self.once = true;
        (self.gone, self.trailers) = (BytesMut::new(), None);
    }

    /// Keeps what goes, as far as there is room.
    fn keep(&mut self, frame: &Frame<Bytes>) {
        if self.once {
            return;
        }
        if let Some(data) = frame.data_ref() {
            match (self.gone.len() + data.len()) as u64 <= KEPT_BYTES {
                true => self.gone.extend_from_slice(data),
                false => self.forget(),
            }
        } else {
            self.trailers = frame.trailers_ref().cloned();
        }
    }
}

impl Body for Kept {
    type Data = Bytes;
    type Error = Spoiled;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Spoiled>>> {
        let this = &mut *self;
        let mut inside = this.inside.lock();
        if this.ended {
            return Poll::Ready(None);
        }
        if this.turn != inside.turn {
            // An end would be taken for the end of the body.
            this.ended = true;
            return Poll::Ready(Some(Err(Spoiled(Refusal::Internal))));
        }
        if this.at < inside.gone.len() {
            let again = Bytes::copy_from_slice(&inside.gone[this.at..]);
            this.at = inside.gone.len();
            return Poll::Ready(Some(Ok(Frame::data(again))));
        }
        if let Some(trailers) = &inside.trailers {
            this.ended = true;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers.clone()))));
        }
        let frame = ready!(Pin::new(&mut *inside.intake).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                inside.keep(frame);
                this.at = inside.gone.len();
                this.ended = frame.is_trailers();
            }
            // It has no end: what has gone of it would be taken for all of it.
            Some(Err(_)) => inside.forget(),
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let inside = self.inside.lock();
        let all_gone = self.at >= inside.gone.len() && inside.trailers.is_none();
        self.ended || (self.turn == inside.turn && all_gone && inside.intake.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let inside = self.inside.lock();
        let again = inside.gone.len().saturating_sub(self.at) as u64;
        match inside.intake.size_hint().exact() {
            Some(coming) => SizeHint::with_exact(again + coming),
            None => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests;
