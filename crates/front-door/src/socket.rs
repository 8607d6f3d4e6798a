//! The other end of a connection, plain or behind TLS, with what was read of it too early.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use kernel::net::{self, TcpStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls::Session;

/// Bytes read at a time while nothing bigger is set up to take them.
pub(crate) const SIP: usize = 2048;

/// A TCP stream, part of which has been read to find out what it is.
pub(crate) struct Early {
    stream: TcpStream,
    early: Bytes,
}

impl Early {
    pub(crate) fn new(stream: TcpStream, early: Bytes) -> Self {
        Self { stream, early }
    }
}

/// What a connection is spoken over.
pub(crate) enum Socket {
    Plain(TcpStream),
    /// Boxed: most of a session's state lies here, and a plain connection should not make room for it.
    Tls(Box<Session<Early>>),
}

/// Reads a little, for those who have no buffer of their own yet. `Bytes` without any is the end.
pub(crate) fn poll_sip(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
) -> Poll<io::Result<Bytes>> {
    poll_sip_of::<SIP>(stream, cx).map_ok(BytesMut::freeze)
}

/// Reads at most `MOST` bytes into a buffer as large as what came; nothing is the end.
pub fn poll_sip_of<const MOST: usize>(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
) -> Poll<io::Result<BytesMut>> {
    let mut sip = [std::mem::MaybeUninit::uninit(); MOST];
    let mut sip = ReadBuf::uninit(&mut sip);
    ready!(Pin::new(stream).poll_read(cx, &mut sip))?;
    let read = BytesMut::from(sip.filled());
    // No allocator wipes what lies on a stack, and a request may bring a secret.
    sip.filled_mut().fill(0);
    std::hint::black_box(&mut sip);
    Poll::Ready(Ok(read))
}

/// Moves the first `length` bytes of `held`, for which there has to be room, into `buf`.
pub(crate) fn pour(held: &mut Bytes, length: usize, buf: &mut ReadBuf<'_>) {
    buf.put_slice(&held[..length]);
    held.advance(length);
    if held.is_empty() {
        // An empty rest would keep its whole buffer alive.
        *held = Bytes::new();
    }
}

impl AsyncRead for Early {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let length = self.early.len().min(buf.remaining());
            pour(&mut self.early, length, buf);
            return Poll::Ready(Ok(()));
        }
        net::poll_read(&mut self.stream, cx, buf)
    }
}

impl AsyncWrite for Early {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        net::poll_write(&mut self.stream, cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        net::poll_write_vectored(&mut self.stream, cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Socket::Plain(stream) => net::poll_write(stream, cx, buf),
            Socket::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Socket::Plain(stream) => net::poll_write_vectored(stream, cx, bufs),
            Socket::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Socket::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Socket::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl Socket {
    /// The system's socket, where nothing is between it and what is said.
    pub(crate) fn bare(&self) -> Option<&tokio::net::TcpStream> {
        match self {
            Socket::Plain(stream) => net::socket_of(stream),
            Socket::Tls(_) => None,
        }
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Socket::Plain(stream) => stream,
            Socket::Tls(session) => &session.carrier().stream,
        }
    }

    /// Whether the peer has closed its side or is gone, also while there is something left to read.
    pub(crate) fn has_hung_up(&self) -> bool {
        net::has_hung_up(self.tcp())
    }

    /// Has the peer see that it was broken off when this is dropped. Where it cannot, it sees an end.
    pub(crate) fn break_off(&self) {
        let _as_well_as_can_be = net::break_off(self.tcp());
    }

    /// Ready when there may be something to read, an end or an error among it.
    pub(crate) fn poll_heard(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self.bare() {
            Some(socket) => socket.poll_read_ready(cx).map(drop),
            None => Poll::Ready(()),
        }
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Socket::Plain(stream) => net::poll_read(stream, cx, buf),
            Socket::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}
