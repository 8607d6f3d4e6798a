//! How many heads a peer may say: one for each answer and a few interim ones before it, not one after another for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use http2_wire::frame::{Frame, HEADERS};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::room::Room;
use crate::io::Io;

/// For each request; what answers do not need of it is left to others on the connection.
pub(super) const PER_ANSWER: usize = 32;

/// What a reader says when it has heard too many; nothing else on a connection says so.
pub(crate) const TOO_MANY: io::ErrorKind = io::ErrorKind::QuotaExceeded;

/// Heads that may still come on a connection.
#[derive(Debug)]
pub(super) struct Heads {
    left: AtomicUsize,
    most: usize,
}

impl Heads {
    /// For so many streams at once.
    pub(super) fn for_streams(streams: usize) -> Self {
        Self {
            left: AtomicUsize::new(0),
            most: streams.max(1).saturating_mul(PER_ANSWER),
        }
    }

    /// One more answer is waited for.
    pub(super) fn expect(&self) {
        let more = |left: usize| Some(left.saturating_add(PER_ANSWER).min(self.most));
        // It always takes the new value.
        let _before = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Whether so many more are fine.
    fn take(&self, heads: usize) -> bool {
        let fewer = |left: usize| left.checked_sub(heads);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.is_ok()
    }
}

/// A connection whose heads are counted as they come. The codec passes over interim ones without a word.
#[derive(Debug)]
pub(super) struct Counted {
    io: Io,
    frames: Frames,
    room: Arc<Room>,
}

impl Counted {
    pub(super) fn new(io: Io, room: Arc<Room>) -> Self {
        Self {
            io,
            frames: Frames::default(),
            room,
        }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let heads = self.frames.open_heads(&buf.filled()[before..]);
        if heads > 0 && !self.room.heads.take(heads) {
            let what = "interim answers do not end";
            return Poll::Ready(Err(io::Error::new(TOO_MANY, what)));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Where among frames the bytes stand that come next.
#[derive(Debug, Default)]
struct Frames {
    begun: [u8; Frame::HEAD],
    has: usize,
    /// Bytes of the frame's payload that are still to come.
    payload: usize,
}

impl Frames {
    /// How many heads begin in these bytes that leave their stream open. All interim ones do, and no trailers.
    fn open_heads(&mut self, mut bytes: &[u8]) -> usize {
        let mut heads = 0;
        loop {
            let carried = self.payload.min(bytes.len());
            self.payload -= carried;
            bytes = &bytes[carried..];
            let more = (Frame::HEAD - self.has).min(bytes.len());
            let (taken, rest) = bytes.split_at(more);
            self.begun[self.has..][..more].copy_from_slice(taken);
            self.has += more;
            bytes = rest;
            if self.has < Frame::HEAD {
                return heads;
            }
            self.has = 0;
            let frame = Frame::read(&self.begun);
            self.payload = frame.map_or(0, |frame| frame.length as usize);
            let open = |frame: Frame| frame.kind == HEADERS && !frame.ends_stream();
            heads += usize::from(frame.is_some_and(open));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http2_wire::frame::{DATA, END_STREAM};

    fn frame(kind: u8, flags: u8, length: u32) -> Vec<u8> {
        let head = Frame {
            length,
            kind,
            flags,
            stream: 1,
        };
        let mut bytes = Vec::new();
        head.write(&mut bytes);
        // What looks like a head within a payload is none.
        bytes.resize(Frame::HEAD + length as usize, HEADERS);
        bytes
    }

    // attack: K-15
    #[test]
    fn heads_that_leave_their_stream_open_are_counted_however_the_bytes_are_cut() {
        let bytes = [
            frame(HEADERS, 4, 30),
            frame(DATA, 0, 0),
            frame(HEADERS, 4, 0),
            frame(DATA, END_STREAM, 300),
            frame(HEADERS, 4 | END_STREAM, 20),
            frame(HEADERS, 0, 1),
        ]
        .concat();
        for piece in 1..=bytes.len() {
            let mut frames = Frames::default();
            let pieces = bytes.chunks(piece);
            let heads: usize = pieces.map(|piece| frames.open_heads(piece)).sum();
            assert_eq!(heads, 3, "in pieces of {piece}");
        }
    }

    // attack: K-15
    #[test]
    fn what_answers_leave_of_their_heads_is_kept_for_no_more_than_all_streams() {
        let heads = Heads::for_streams(2);
        assert!(!heads.take(1), "nobody has asked");
        (0..10).for_each(|_| heads.expect());
        assert!(!heads.take(2 * PER_ANSWER + 1));
        assert!(heads.take(2 * PER_ANSWER));
        assert!(!heads.take(1));
    }
}
