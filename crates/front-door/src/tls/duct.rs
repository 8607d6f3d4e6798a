//! The two directions of a TLS connection in cipher text, with no memory of their own while nothing is on its way.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at once, unless a record has begun that is longer.
const READ: usize = 4096;
/// Of a record, before its content.
const RECORD_HEAD: usize = 5;

/// What came and was not looked at, what is to leave.
pub(super) struct Duct<IO> {
    pub(super) io: IO,
    pub(super) incoming: Vec<u8>,
    pub(super) outgoing: Vec<u8>,
    /// How many bytes of `outgoing` have left.
    gone: usize,
}

impl<IO> Duct<IO> {
    pub(super) fn new(io: IO) -> Self {
        Self {
            io,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            gone: 0,
        }
    }

    /// The first bytes that came are done with.
    pub(super) fn discard(&mut self, length: usize) {
        if length == self.incoming.len() {
            self.incoming.clear();
        } else if length > 0 {
            self.incoming.drain(..length);
        }
    }

    /// Room for what is read next: for the rest of a record, if one has begun.
    fn room(&self) -> usize {
        let held = self.incoming.len();
        let length = self.incoming.get(3..RECORD_HEAD);
        let length = length.map_or(0, |bytes| {
            usize::from(bytes[0]) << 8 | usize::from(bytes[1])
        });
        (RECORD_HEAD + length).saturating_sub(held).max(READ)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Duct<IO> {
    /// Reads on, as long as no more than `most` bytes wait. Nothing is the end.
    pub(super) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let held = self.incoming.len();
        if held >= most {
            let endless = "a TLS message is longer than any may be";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, endless)));
        }
        self.incoming.resize(held + self.room(), 0);
        let mut buf = ReadBuf::new(&mut self.incoming[held..]);
        let polled = Pin::new(&mut self.io).poll_read(cx, &mut buf);
        let read = buf.filled().len();
        self.incoming.truncate(held + read);
        if self.incoming.is_empty() {
            // Whoever waits for the first byte of a record may do so for long.
            self.incoming = Vec::new();
        }
        ready!(polled)?;
        Poll::Ready(Ok(read))
    }

    /// Whether something waits to leave.
    pub(super) fn is_waiting(&self) -> bool {
        self.gone < self.outgoing.len()
    }

    /// Ready when everything has left.
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.is_waiting() {
            let left = &self.outgoing[self.gone..];
            match ready!(Pin::new(&mut self.io).poll_write(cx, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.gone += written,
            }
        }
        (self.outgoing, self.gone) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    /// Ready when everything has left, and what is below has passed it on.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }
}
