//! The body of a request on its way from its connection to whoever reads it: as much of it as its window lets come.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Frame;
use kernel::lock::{Lock, LockSpec};

use super::bell::Bell;
use crate::upload::UploadError;

/// The part of a body that has come and not been taken.
pub(crate) static INFLOW: LockSpec = LockSpec {
    name: "door_inflow",
    level: 46,
    doc: "hands the body of an HTTP/2 request from its connection to its reader, which may be in another task",
};

/// Bytes of a body that may come unread.
pub(super) const WINDOW: u32 = 128 * 1024;

/// A piece of a body, and whether it is the last; nothing at the end.
type Delivery = Poll<Option<(Result<Frame<Bytes>, UploadError>, bool)>>;

/// What both sides see.
struct Basin {
    bytes: BytesMut,
    trailers: Option<HeaderMap>,
    end: End,
    /// Somebody waits for more.
    wanted: Option<Waker>,
    /// Bytes that were taken since the sender was given room for more.
    taken: u32,
    /// The sender waits to be told that its body is wanted.
    expects: bool,
    /// Nobody will read on.
    abandoned: bool,
}

enum End {
    Open,
    /// All of it has come.
    Whole,
    /// No more will come, and why.
    Broken(UploadError),
    Told,
}

struct Shared {
    basin: Lock<Basin>,
    bell: Arc<Bell>,
    slot: usize,
}

/// The connection's side. Dropped before the end, the body breaks off.
pub(super) struct Inflow(Arc<Shared>);

/// The reader's side.
pub(crate) struct Outflow(Arc<Shared>);

/// What the reader's side of a stream needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Room for so many bytes more.
    pub(super) room: u32,
    /// That the sender is told to go on.
    pub(super) go_on: bool,
}

pub(super) fn pair(bell: Arc<Bell>, slot: usize, expects: bool) -> (Inflow, Outflow) {
    let basin = Basin {
        bytes: BytesMut::new(),
        trailers: None,
        end: End::Open,
        wanted: None,
        taken: 0,
        expects,
        abandoned: false,
    };
    let shared = Arc::new(Shared {
        basin: Lock::new(&INFLOW, basin),
        bell,
        slot,
    });
    (Inflow(shared.clone()), Outflow(shared))
}

impl Inflow {
    /// More has come, and of the same piece so many bytes are about to.
    pub(super) fn push(&self, bytes: &[u8], coming: usize) {
        self.change(|basin| {
            if !basin.abandoned {
                basin.bytes.reserve(bytes.len() + coming);
                basin.bytes.extend_from_slice(bytes);
            }
        });
    }

    /// All has come.
    pub(super) fn end(&self, trailers: Option<HeaderMap>) {
        self.change(|basin| {
            basin.trailers = trailers;
            basin.end = End::Whole;
        });
    }

    /// No more will come.
    pub(super) fn fail(&self, why: UploadError) {
        self.change(|basin| {
            if let End::Open = basin.end {
                basin.bytes = BytesMut::new();
                basin.end = End::Broken(why);
            }
        });
    }

    /// What the reader needs now.
    pub(super) fn needs(&self) -> Needs {
        let mut basin = self.0.basin.lock();
        let mut needs = Needs::default();
        if let End::Open = basin.end {
            needs.go_on = basin.expects && basin.wanted.is_some();
            basin.expects &= !needs.go_on;
            if basin.taken >= WINDOW / 2 {
                needs.room = std::mem::take(&mut basin.taken);
            }
        }
        needs
    }

    fn change(&self, change: impl FnOnce(&mut Basin)) {
        let wanted = {
            let mut basin = self.0.basin.lock();
            change(&mut basin);
            basin.wanted.take()
        };
        if let Some(waker) = wanted {
            waker.wake();
        }
    }
}

impl Drop for Inflow {
    fn drop(&mut self) {
        self.fail(UploadError::gone("the stream has ended"));
    }
}

impl Outflow {
    /// What comes next.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Delivery {
        let (polled, rings) = self.0.basin.lock().poll(cx);
        if rings {
            self.0.bell.ring(self.0.slot);
        }
        polled
    }
}

impl Basin {
    /// All that is there. Whoever keeps it keeps its buffer too, which is to be no larger than it need.
    fn take_bytes(&mut self) -> Bytes {
        if self.bytes.len() < self.bytes.capacity() / 4 {
            let copied = Bytes::copy_from_slice(&self.bytes);
            self.bytes.clear();
            return copied;
        }
        std::mem::take(&mut self.bytes).freeze()
    }

    /// Also whether the connection is to look at what is needed.
    fn poll(&mut self, cx: &Context<'_>) -> (Delivery, bool) {
        if !self.bytes.is_empty() {
            let bytes = self.take_bytes();
            self.taken += bytes.len() as u32;
            let last = matches!(self.end, End::Whole) && self.trailers.is_none();
            let rings = matches!(self.end, End::Open) && self.taken >= WINDOW / 2;
            return (Poll::Ready(Some((Ok(Frame::data(bytes)), last))), rings);
        }
        if let Some(trailers) = self.trailers.take() {
            let frame = Frame::trailers(trailers);
            return (Poll::Ready(Some((Ok(frame), true))), false);
        }
        match std::mem::replace(&mut self.end, End::Told) {
            End::Broken(why) => (Poll::Ready(Some((Err(why), true))), false),
            End::Whole | End::Told => (Poll::Ready(None), false),
            End::Open => {
                self.end = End::Open;
                match &mut self.wanted {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                (Poll::Pending, self.expects)
            }
        }
    }
}

impl Drop for Outflow {
    fn drop(&mut self) {
        let mut basin = self.0.basin.lock();
        basin.abandoned = true;
        basin.bytes = BytesMut::new();
    }
}

#[cfg(test)]
mod tests;
