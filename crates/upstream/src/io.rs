//! The stream under a connection: plain or encrypted, counted, and bounded while a response head is awaited.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// What has passed through a stream; written by who polls it, one task at a time.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    read: AtomicU64,
    written: AtomicU64,
    /// The count of bytes read at which a peer has said too much without having sent a head.
    head_until: AtomicU64,
    /// Whether it was cut off for that.
    cut: AtomicBool,
}

impl Meter {
    /// From here on at most about `bytes` may come before a head is complete, interim heads included.
    pub(crate) fn await_head(&self, bytes: usize) {
        let until = self.read().saturating_add(bytes as u64);
        self.head_until.store(until, Ordering::Relaxed);
    }

    /// The head is there: what follows is bounded by who reads it.
    pub(crate) fn head_came(&self) {
        self.head_until.store(u64::MAX, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether the peer was cut off for saying too much before its head was complete.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    fn is_exceeded(&self) -> bool {
        self.read() > self.head_until.load(Ordering::Relaxed)
    }
}

/// One of an endpoint's connections, for as long as its socket is open.
#[derive(Debug)]
pub(crate) struct OpenCount(Arc<AtomicUsize>);

impl OpenCount {
    /// Counts one more, unless there are `most` already.
    pub(crate) fn try_new(open: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let one_more = |count| (count < most).then_some(count + 1);
        open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        Some(Self(open.clone()))
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
    meter: Arc<Meter>,
    /// Whether the peer went on after it had said too much.
    went_on: bool,
    _open: OpenCount,
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let exceeded = self.meter.is_exceeded();
        // One large read may hold a head and all that follows it; after that there is nothing more to come.
        if exceeded && self.went_on {
            self.meter.cut.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::other("no end of the response head")));
        }
        let before = buf.filled().len();
        let polled = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Wire::Encrypted(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        let bytes = (buf.filled().len() - before) as u64;
        let count = self.meter.read() + bytes;
        self.meter.read.store(count, Ordering::Relaxed);
        self.went_on = exceeded && (self.went_on || bytes > 0);
        polled
    }
}

impl Io {
    pub(crate) fn new(wire: Wire, open: OpenCount) -> Self {
        Self {
            wire,
            meter: Arc::default(),
            went_on: false,
            _open: open,
        }
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    fn wrote(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = polled {
            let count = self.meter.written() + *bytes as u64;
            self.meter.written.store(count, Ordering::Relaxed);
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Wire::Encrypted(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.wrote(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Wire::Encrypted(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        self.wrote(&polled);
        polled
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
