//! One connection: two bounded pipes whose pieces arrive later than they were sent, and which may break.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// What a socket's buffers hold.
const CAPACITY_BYTES: usize = 64 * 1024;

/// One direction.
#[derive(Debug)]
struct Pipe {
    pieces: VecDeque<(Instant, Bytes)>,
    held_bytes: usize,
    delay: Duration,
    /// Nothing comes after this.
    ended: Option<Instant>,
    /// Reset: what was under way is lost.
    broken: bool,
    /// Nobody reads any more.
    abandoned: bool,
    /// What is written never arrives.
    swallows: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

type Shared = Arc<Mutex<Pipe>>;

impl Pipe {
    fn new(delay: Duration) -> Shared {
        Arc::new(Mutex::new(Self {
            pieces: VecDeque::new(),
            held_bytes: 0,
            delay,
            ended: None,
            broken: false,
            abandoned: false,
            swallows: false,
            reader: None,
            writer: None,
        }))
    }

    fn wake(&mut self) {
        self.reader.take().into_iter().for_each(Waker::wake);
        self.writer.take().into_iter().for_each(Waker::wake);
    }

    fn break_off(&mut self) {
        self.broken = true;
        self.pieces.clear();
        self.held_bytes = 0;
        self.wake();
    }
}

fn locked(pipe: &Shared) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both directions of a connection, for who may do it harm.
#[derive(Clone, Debug)]
pub(crate) struct Cable(Shared, Shared);

impl Cable {
    /// Resets the connection at both ends.
    pub(crate) fn cut(&self) {
        locked(&self.0).break_off();
        locked(&self.1).break_off();
    }

    /// Lets nothing through any more, without telling anybody.
    pub(crate) fn swallow(&self) {
        locked(&self.0).swallows = true;
        locked(&self.1).swallows = true;
    }

    /// Whether both ends are gone.
    pub(crate) fn is_gone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    inbound: Shared,
    outbound: Shared,
    local: SocketAddr,
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A connection between two addresses, whose pieces take so long.
pub(crate) fn connection(from: SocketAddr, to: SocketAddr, delay: Duration) -> (End, End, Cable) {
    let (there, back) = (Pipe::new(delay), Pipe::new(delay));
    let end = |inbound: &Shared, outbound: &Shared, local| End {
        inbound: inbound.clone(),
        outbound: outbound.clone(),
        local,
        alarm: None,
    };
    let (near, far) = (end(&back, &there, from), end(&there, &back, to));
    (near, far, Cable(there, back))
}

impl End {
    fn wait_until(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if alarm.deadline() != at {
            alarm.as_mut().reset(at);
        }
        alarm.as_mut().poll(cx)
    }
}

impl kernel::net::Stream for End {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let inbound = self.inbound.clone();
            let mut pipe = locked(&inbound);
            if pipe.broken {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            let due = match (pipe.pieces.front(), pipe.ended) {
                (Some((due, _)), _) => *due,
                (None, Some(ended)) => ended,
                (None, None) => {
                    pipe.reader = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            };
            if due > Instant::now() {
                // A break is heard of before its time.
                pipe.reader = Some(cx.waker().clone());
                drop(pipe);
                ready!(self.wait_until(due, cx));
                continue;
            }
            let Some((_, piece)) = pipe.pieces.front_mut() else {
                return Poll::Ready(Ok(()));
            };
            let taken = piece.len().min(buf.remaining());
            buf.put_slice(&piece[..taken]);
            piece.advance(taken);
            if piece.is_empty() {
                pipe.pieces.pop_front();
            }
            pipe.held_bytes -= taken;
            pipe.writer.take().into_iter().for_each(Waker::wake);
            return Poll::Ready(Ok(()));
        }
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = locked(&self.outbound);
        if pipe.broken || pipe.abandoned {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if pipe.ended.is_some() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let taken = buf.len().min(CAPACITY_BYTES - pipe.held_bytes);
        if taken == 0 && !buf.is_empty() {
            pipe.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        pipe.held_bytes += taken;
        if !pipe.swallows {
            let due = Instant::now() + pipe.delay;
            pipe.pieces
                .push_back((due, Bytes::copy_from_slice(&buf[..taken])));
            pipe.reader.take().into_iter().for_each(Waker::wake);
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = locked(&self.outbound);
        let due = Instant::now() + pipe.delay;
        if !pipe.swallows {
            pipe.ended.get_or_insert(due);
        }
        pipe.wake();
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let unread = {
            let mut inbound = locked(&self.inbound);
            inbound.abandoned = true;
            inbound.wake();
            !inbound.pieces.is_empty()
        };
        let mut outbound = locked(&self.outbound);
        let due = Instant::now() + outbound.delay;
        match (unread, outbound.swallows) {
            // As the system does: who closes without having read all resets.
            (true, false) => outbound.break_off(),
            (false, false) => {
                outbound.ended.get_or_insert(due);
            }
            (_, true) => {}
        }
        outbound.wake();
    }
}
