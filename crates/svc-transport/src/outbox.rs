//! What is on its way out of a connection: small frames together, large payloads from where they lie.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use oap::Frame;
use tokio::io::AsyncWrite;

/// Payloads up to here are copied: that is cheaper than to send them apart.
const COPIED_BYTES: usize = 4 * 1024;
/// With so much on its way, no more is made.
const ENOUGH_BYTES: usize = 256 * 1024;
/// Pieces that are handed over at once.
const PIECES: usize = 16;

/// The frames that wait to be written. One writes: the connection.
#[derive(Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Bytes>,
    tail: BytesMut,
    bytes: usize,
    unflushed: bool,
}

impl Outbox {
    /// Whether there is room for more.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < ENOUGH_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0 && !self.unflushed
    }

    /// Puts a frame behind the others. A session makes none that is too large.
    pub(crate) fn push(&mut self, frame: Frame) {
        self.bytes += frame.wire_len();
        if frame.payload.len() <= COPIED_BYTES {
            frame
                .encode(&mut self.tail)
                .expect("a session makes no frame beyond the limit");
            return;
        }
        let payload = frame
            .encode_head(&mut self.tail)
            .expect("a session makes no frame beyond the limit");
        self.close_tail();
        self.pieces.push_back(payload);
    }

    fn close_tail(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push_back(self.tail.split().freeze());
        }
    }

    /// Writes on; ready with the bytes the peer's side took, nothing when there was nothing to do.
    pub(crate) fn poll_write(
        &mut self,
        io: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.close_tail();
        if self.pieces.is_empty() {
            if self.unflushed {
                ready!(Pin::new(io).poll_flush(cx))?;
                self.unflushed = false;
            }
            // A resting connection keeps no buffer.
            self.tail = BytesMut::new();
            return Poll::Ready(Ok(0));
        }
        let mut slices = [IoSlice::new(&[]); PIECES];
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
        }
        let count = self.pieces.len().min(PIECES);
        let written = ready!(Pin::new(io).poll_write_vectored(cx, &slices[..count]))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.took(written);
        Poll::Ready(Ok(written))
    }

    fn took(&mut self, mut written: usize) {
        self.bytes -= written;
        self.unflushed = true;
        while let Some(first) = self.pieces.front_mut()
            && written > 0
        {
            let some = written.min(first.len());
            first.advance(some);
            written -= some;
            if first.is_empty() {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests;
