//! How many heads a peer may say: one for each answer and a few interim ones before it, not one after another for ever.
//! And whether one was large: the codec does not tell a head that is too large from one that is malformed. And whether
//! a peer says goodbye before it has taken anything.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use http2_wire::frame::{CONTINUATION, Frame, GOAWAY, HEADERS, STREAM_MAX};
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
    /// There was a large one.
    large: AtomicBool,
}

impl Heads {
    /// For so many streams at once.
    pub(super) fn for_streams(streams: usize) -> Self {
        Self {
            left: AtomicUsize::new(0),
            most: streams.max(1).saturating_mul(PER_ANSWER),
            large: AtomicBool::new(false),
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

    /// Whether there was a large one since somebody asked last.
    pub(super) fn were_large(&self) -> bool {
        self.large.swap(false, Ordering::Relaxed)
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
    /// With heads of so many bytes at most, decoded.
    pub(super) fn new(io: Io, room: Arc<Room>, head_bytes: usize) -> Self {
        Self {
            io,
            frames: Frames::with_heads_of(head_bytes),
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
        if self.frames.barren {
            self.room.barren.store(true, Ordering::Relaxed);
        }
        if self.frames.large {
            self.frames.large = false;
            self.room.heads.large.store(true, Ordering::Relaxed);
        }
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
#[derive(Debug)]
struct Frames {
    begun: [u8; Frame::HEAD],
    has: usize,
    /// Bytes of the frame's payload that are still to come.
    payload: usize,
    /// Bytes of the head that came last, as it was sent.
    head: usize,
    /// A head that is as long as this as sent is large.
    long: usize,
    large: bool,
    /// The last stream of a goodbye, and how many bytes of it are still to come.
    last: u32,
    last_lacks: usize,
    /// A request was taken: there is an answer, or a goodbye that says so.
    took: bool,
    /// There was a goodbye to all, and nothing had been taken.
    barren: bool,
}

/// Bytes of the number of a stream, with which a goodbye begins.
const STREAM_BYTES: usize = 4;

impl Frames {
    fn with_heads_of(head_bytes: usize) -> Self {
        Self {
            begun: [0; Frame::HEAD],
            has: 0,
            payload: 0,
            head: 0,
            // The code for text that fields are sent in saves three bits of eight at most, and a little in front of it.
            long: head_bytes / 2,
            large: false,
            last: 0,
            last_lacks: 0,
            took: false,
            barren: false,
        }
    }

    /// How many heads begin in these bytes that leave their stream open. All interim ones do, and no trailers.
    fn open_heads(&mut self, mut bytes: &[u8]) -> usize {
        let mut heads = 0;
        loop {
            let (carried, rest) = bytes.split_at(self.payload.min(bytes.len()));
            self.payload -= carried.len();
            self.hear_last(carried);
            bytes = rest;
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
            self.weigh(frame);
            self.note(frame);
            let open = |frame: Frame| frame.kind == HEADERS && !frame.ends_stream();
            heads += usize::from(frame.is_some_and(open));
        }
    }

    /// Notes whether a frame is an answer, or whether one follows in which a goodbye says what was taken.
    fn note(&mut self, frame: Option<Frame>) {
        let kind = frame.map(|frame| frame.kind);
        self.took |= kind == Some(HEADERS);
        (self.last, self.last_lacks) = match kind {
            Some(GOAWAY) => (0, STREAM_BYTES),
            _ => (0, 0),
        };
    }

    /// Hears the last stream that a goodbye says was taken.
    fn hear_last(&mut self, carried: &[u8]) {
        if self.last_lacks == 0 {
            return;
        }
        for byte in carried.iter().take(self.last_lacks) {
            self.last = self.last << 8 | u32::from(*byte);
            self.last_lacks -= 1;
        }
        match self.last & STREAM_MAX {
            _ if self.last_lacks > 0 => {}
            0 => self.barren |= !self.took,
            // Who leaves in two steps says first that there may yet be any.
            STREAM_MAX => {}
            _ => self.took = true,
        }
    }

    /// Notes how long the head is that a frame is part of.
    fn weigh(&mut self, frame: Option<Frame>) {
        let before = match frame.map(|frame| frame.kind) {
            Some(HEADERS) => 0,
            Some(CONTINUATION) => self.head,
            _ => return,
        };
        self.head = before + self.payload;
        self.large |= self.head > self.long;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http2_wire::frame::{DATA, END_STREAM, SETTINGS};

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
            let mut frames = Frames::with_heads_of(8192);
            let pieces = bytes.chunks(piece);
            let heads: usize = pieces.map(|piece| frames.open_heads(piece)).sum();
            assert_eq!(heads, 3, "in pieces of {piece}");
        }
    }

    // attack: K-15
    #[test]
    fn a_head_is_as_long_as_all_of_its_frames() {
        let head = |flags, more: &[u32]| {
            let more = more.iter().map(|length| frame(CONTINUATION, 0, *length));
            [frame(HEADERS, flags, 40), more.collect::<Vec<_>>().concat()].concat()
        };
        let large = |bytes: &[u8]| {
            let mut frames = Frames::with_heads_of(200);
            frames.open_heads(bytes);
            frames.large
        };
        assert!(!large(&head(4, &[])));
        assert!(!large(&head(0, &[60])));
        assert!(large(&head(0, &[60, 1])));
        assert!(!large(&[head(0, &[50]), head(0, &[50])].concat()));
        assert!(!large(&frame(DATA, 0, 3_000)), "no head");
    }

    // RFC 9113, 6.8: the highest bit is no part of the number.
    #[test]
    fn a_peer_that_says_goodbye_to_all_has_taken_nothing_unless_it_has_said_so_before() {
        let goodbye = |last: u32| {
            let mut bytes = frame(GOAWAY, 0, 30);
            bytes[Frame::HEAD..][..STREAM_BYTES].copy_from_slice(&last.to_be_bytes());
            bytes
        };
        let settings = frame(SETTINGS, 0, 12);
        let cases = [
            (goodbye(0), true),
            (goodbye(1 << 31), true),
            ([settings, goodbye(0)].concat(), true),
            ([goodbye(STREAM_MAX), goodbye(0)].concat(), true),
            (goodbye(STREAM_MAX), false),
            (goodbye(1), false),
            (goodbye(0x0100_0000), false),
            ([goodbye(3), goodbye(0)].concat(), false),
            ([frame(HEADERS, 4, 20), goodbye(0)].concat(), false),
            (frame(DATA, 0, 12), false),
        ];
        for (bytes, barren) in cases {
            for piece in 1..=bytes.len() {
                let mut frames = Frames::with_heads_of(8192);
                for piece in bytes.chunks(piece) {
                    frames.open_heads(piece);
                }
                assert_eq!(frames.barren, barren, "{bytes:?} in pieces of {piece}");
            }
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
