//! The body of a request on its way from the connection that reads it to whoever asked for it, a piece at a time.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::Frame;
use http1_wire::Piece;
use kernel::lock::{Lock, LockSpec};

use crate::upload::UploadError;

/// The piece of a body that has been read and not been taken.
pub(crate) static MAIL: LockSpec = LockSpec {
    name: "door_mail",
    level: 47,
    doc: "hands pieces of a request's body from its connection to its reader, which may be in another task",
};

/// A piece for whoever reads the body, and whether it is the last.
type Delivery = (Result<Frame<Bytes>, UploadError>, bool);

/// What both sides see.
#[derive(Default)]
struct Letterbox {
    piece: Option<Result<Piece, UploadError>>,
    /// Nothing will come after the piece.
    ended: bool,
    /// Somebody waits for a piece.
    wanted: Option<Waker>,
    /// The connection waits to be asked for one.
    idle: Option<Waker>,
    /// Nobody will ask any more.
    abandoned: bool,
}

/// The connection's side.
pub(super) struct Sender(Arc<Lock<Letterbox>>);

/// The reader's side.
pub(crate) struct Receiver(Arc<Lock<Letterbox>>);

/// What the reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// A piece.
    Piece,
    /// Nothing at the moment; whoever waits will be woken.
    Nothing,
    /// Nothing, for ever.
    Never,
}

pub(super) fn pair() -> (Sender, Receiver) {
    let shared = Arc::new(Lock::new(&MAIL, Letterbox::default()));
    (Sender(shared.clone()), Receiver(shared))
}

impl Sender {
    pub(super) fn wish(&self, cx: &Context<'_>) -> Wish {
        let mut mail = self.0.lock();
        if mail.abandoned {
            return Wish::Never;
        }
        if mail.wanted.is_some() {
            return Wish::Piece;
        }
        match &mut mail.idle {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Wish::Nothing
    }

    /// Hands over what was asked for; nothing is the end.
    pub(super) fn hand(
        &self,
        piece: Option<Result<Piece, UploadError>>,
        ended: bool,
        cx: &Context<'_>,
    ) {
        let wanted = {
            let mut mail = self.0.lock();
            mail.ended = ended || !matches!(piece, Some(Ok(_)));
            mail.piece = piece;
            mail.wanted.take()
        };
        // Who is polled by this very task is asked again without being woken.
        if let Some(waker) = wanted
            && !waker.will_wake(cx.waker())
        {
            waker.wake();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let wanted = {
            let mut mail = self.0.lock();
            if !mail.ended {
                mail.ended = true;
                mail.piece = Some(Err(UploadError::gone("the connection has ended")));
            }
            mail.wanted.take()
        };
        if let Some(waker) = wanted {
            waker.wake();
        }
    }
}

impl Receiver {
    /// The next piece; nothing at the end.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Option<Delivery>> {
        let idle = {
            let mut mail = self.0.lock();
            if let Some(piece) = mail.piece.take() {
                let frame = piece.map(|piece| match piece {
                    Piece::Data(data) => Frame::data(data),
                    Piece::Trailers(trailers) => Frame::trailers(trailers),
                });
                return Poll::Ready(Some((frame, mail.ended)));
            }
            if mail.ended {
                return Poll::Ready(None);
            }
            match &mut mail.wanted {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            mail.idle.take()
        };
        wake_other(idle, cx);
        Poll::Pending
    }
}

/// A connection that polls its reader looks what it wants anyway.
fn wake_other(waker: Option<Waker>, cx: &Context<'_>) {
    if let Some(waker) = waker
        && !waker.will_wake(cx.waker())
    {
        waker.wake();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let idle = {
            let mut mail = self.0.lock();
            mail.abandoned = true;
            mail.piece = None;
            mail.idle.take()
        };
        if let Some(waker) = idle {
            waker.wake();
        }
    }
}
