//! The stream under a connection: plain or encrypted, and counted for as long as it is open.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use kernel::net::{self, TcpStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

/// The connections of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// That stand: idle, busy or upgraded.
    open: AtomicUsize,
    /// Those of them that are lent for long.
    lent: AtomicUsize,
}

impl Connections {
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(crate) fn lent(&self) -> usize {
        self.lent.load(Ordering::Relaxed)
    }
}

/// One of an endpoint's connections, for as long as its socket is open.
#[derive(Debug)]
pub(crate) struct OpenCount(Arc<Connections>);

impl OpenCount {
    /// Counts one more, unless there are `most` already.
    pub(crate) fn try_new(of: &Arc<Connections>, most: usize) -> Option<Self> {
        let one_more = |count| (count < most).then_some(count + 1);
        of.open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        Some(Self(of.clone()))
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection that is kept for long by who has it, until this is dropped: [`Pool::room`](crate::Pool::room) is less
/// by it for as long as its endpoint is one of those that are counted there.
#[derive(Debug)]
pub struct Lent(Arc<Connections>);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.lent.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) enum Wire {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

#[derive(Debug)]
pub(crate) struct Io {
    wire: Wire,
    open: OpenCount,
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => net::poll_read(stream, cx, buf),
            Wire::Encrypted(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl Io {
    pub(crate) fn new(wire: Wire, open: OpenCount) -> Self {
        Self { wire, open }
    }

    /// It is kept for long by who has it.
    pub(crate) fn lend(&self) -> Lent {
        let of = &self.open.0;
        of.lent.fetch_add(1, Ordering::Relaxed);
        Lent(of.clone())
    }

    /// The system's socket, where nothing is between it and what is said.
    fn bare(&self) -> Option<&tokio::net::TcpStream> {
        match &self.wire {
            Wire::Plain(stream) => net::socket_of(stream),
            Wire::Encrypted(_) => None,
        }
    }

    /// Ready when there may be something to read, an end or an error among it.
    pub(crate) fn poll_heard(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self.bare() {
            Some(socket) => socket.poll_read_ready(cx).map(drop),
            None => Poll::Ready(()),
        }
    }

    /// Whether nothing is to be heard: no byte, no end.
    pub(crate) fn is_silent(&mut self) -> bool {
        match self.bare() {
            Some(socket) => {
                let heard = socket.try_read(&mut [0]);
                heard.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
            }
            None => self.is_left_alone(),
        }
    }

    /// The same; whoever was to be woken when that changes is forgotten.
    pub(crate) fn is_left_alone(&mut self) -> bool {
        let mut deaf = Context::from_waker(Waker::noop());
        let heard = Pin::new(self).poll_read(&mut deaf, &mut ReadBuf::new(&mut [0]));
        heard.is_pending()
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(stream) => net::poll_write(stream, cx, buf),
            Wire::Encrypted(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(stream) => net::poll_write_vectored(stream, cx, bufs),
            Wire::Encrypted(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Encrypted(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Encrypted(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
