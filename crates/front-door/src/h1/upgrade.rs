//! A connection that goes on in another protocol, and the promise of it.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use kernel::lock::{Lock, LockSpec};
use kernel::serve::Stay;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::line::Line;
use crate::socket::Socket;

/// A connection that has been promised.
pub(crate) static UPGRADE: LockSpec = LockSpec {
    name: "door_upgrade",
    level: 48,
    doc: "hands a connection that changes its protocol to whoever speaks it; once per connection",
};

/// Found among the extensions of a request whose sender would go on in another protocol. Once the answer agrees to
/// that, by its status, and has been written, this becomes the connection. Of several clones one gets it.
#[derive(Clone)]
pub struct Upgrade(Arc<Lock<Slot>>);

/// Who keeps the promise; broken when dropped.
pub(super) struct Promise(Arc<Lock<Slot>>);

#[derive(Default)]
struct Slot {
    kept: Option<Upgraded>,
    over: bool,
    waiting: Option<Waker>,
}

pub(super) fn promise() -> (Promise, Upgrade) {
    let slot = Arc::new(Lock::new(&UPGRADE, Slot::default()));
    (Promise(slot.clone()), Upgrade(slot))
}

impl Promise {
    pub(super) fn keep(self, upgraded: Upgraded) {
        self.0.lock().kept = Some(upgraded);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let waiting = {
            let mut slot = self.0.lock();
            slot.over = true;
            slot.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade").finish_non_exhaustive()
    }
}

impl Future for Upgrade {
    type Output = io::Result<Upgraded>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.0.lock();
        if let Some(upgraded) = slot.kept.take() {
            return Poll::Ready(Ok(upgraded));
        }
        if slot.over {
            let kept_its_protocol = io::Error::other("the connection did not change its protocol");
            return Poll::Ready(Err(kept_its_protocol));
        }
        slot.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// A connection that is HTTP no more. It counts as the door's until it is dropped.
pub struct Upgraded {
    socket: Socket,
    /// What the peer has said in the new protocol already.
    early: BytesMut,
    line: Arc<Line>,
    _stay: Stay,
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = self.line.visit.peer;
        f.debug_struct("Upgraded").field("peer", &peer).finish()
    }
}

impl Upgraded {
    pub(super) fn new(socket: Socket, early: BytesMut, line: Arc<Line>, stay: Stay) -> Self {
        Self {
            socket,
            early,
            line,
            _stay: stay,
        }
    }
}

impl AsyncRead for Upgraded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.socket).poll_read(cx, buf);
        }
        let length = self.early.len().min(buf.remaining());
        buf.put_slice(&self.early.split_to(length));
        if self.early.is_empty() {
            self.early = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Upgraded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.line.written(polled, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.line.written(polled, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.line.written(polled, cx)
    }
}
