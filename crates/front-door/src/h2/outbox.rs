//! What a connection is to say next: frames, and large pieces of bodies between them, as they lie.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http1_wire::spare;
use tokio::io::AsyncWrite;

/// Pieces up to this are copied behind the head of their frame.
const COPIED_BYTES: usize = 4 * 1024;
/// With so much to say, nothing is added.
const FULL_BYTES: usize = 64 * 1024;
/// What leaves at once, in parts.
const SLICES: usize = 16;
/// Places for large pieces that are kept while there is none.
const PIECES_KEPT: usize = 4;

#[derive(Default)]
pub(super) struct Outbox {
    /// Everything but large pieces. No memory of its own while nothing waits: most connections rest.
    lead: Vec<u8>,
    /// How much of it has gone out.
    said: usize,
    /// Large pieces, each with its place: so much of `lead` comes before it.
    pieces: VecDeque<(usize, Bytes)>,
    piece_bytes: usize,
    unflushed: bool,
    /// Bytes that have ever gone out.
    gone: u64,
}

impl Outbox {
    /// Where frames are written.
    pub(super) fn lead(&mut self) -> &mut Vec<u8> {
        if self.lead.capacity() == 0 {
            self.lead = spare::take_outbox();
        }
        &mut self.lead
    }

    /// Says this behind what was written.
    pub(super) fn put(&mut self, piece: Bytes) {
        if piece.len() <= COPIED_BYTES {
            return self.lead().extend_from_slice(&piece);
        }
        self.piece_bytes += piece.len();
        self.pieces.push_back((self.lead.len(), piece));
    }

    /// Bytes that have ever gone out.
    pub(super) fn gone(&self) -> u64 {
        self.gone
    }

    /// Bytes that are to go out before something can be added.
    pub(super) fn excess(&self) -> u64 {
        (self.waiting() + 1).saturating_sub(FULL_BYTES) as u64
    }

    pub(super) fn waiting(&self) -> usize {
        self.lead.len() - self.said + self.piece_bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting() >= FULL_BYTES
    }

    /// Whether all of it has gone out.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting() == 0 && !self.unflushed
    }

    /// Writes once; how much of it has gone out. Nothing when there is nothing to write.
    pub(super) fn poll_write(
        &mut self,
        socket: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let (mut filled, mut at, mut pieces) = (0, self.said, self.pieces.iter());
        loop {
            let piece = pieces.next();
            let until = piece.map_or(self.lead.len(), |(place, _)| *place);
            if until > at {
                slices[filled] = IoSlice::new(&self.lead[at..until]);
                filled += 1;
            }
            let Some((place, piece)) = piece else { break };
            slices[filled] = IoSlice::new(piece);
            (filled, at) = (filled + 1, *place);
            if filled + 2 > SLICES {
                break;
            }
        }
        if filled == 0 {
            return Poll::Ready(Ok(0));
        }
        let polled = Pin::new(socket).poll_write_vectored(cx, &slices[..filled]);
        match polled {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(written)) => {
                self.advance(written);
                self.compact();
                Poll::Ready(Ok(written))
            }
            other => other,
        }
    }

    /// Has what was written leave whatever holds it back.
    pub(super) fn poll_flush(
        &mut self,
        socket: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        let polled = Pin::new(socket).poll_flush(cx);
        self.unflushed = polled.is_pending();
        polled
    }

    fn advance(&mut self, mut written: usize) {
        self.unflushed = true;
        self.gone += written as u64;
        while let Some((place, piece)) = self.pieces.front_mut() {
            let before = written.min(*place - self.said);
            self.said += before;
            written -= before;
            let of_piece = written.min(piece.len());
            piece.advance(of_piece);
            self.piece_bytes -= of_piece;
            written -= of_piece;
            if self.said < *place || !piece.is_empty() {
                return;
            }
            self.pieces.pop_front();
        }
        self.said += written;
        if self.said == self.lead.len() {
            spare::put_outbox(std::mem::take(&mut self.lead));
            self.said = 0;
            if self.pieces.capacity() > PIECES_KEPT {
                self.pieces = VecDeque::new();
            }
        }
    }

    /// Gives back the room of what has gone out: a peer that is never done with it would have all of it kept.
    fn compact(&mut self) {
        if self.said >= FULL_BYTES / 2 {
            self.lead.drain(..self.said);
            for (place, _) in &mut self.pieces {
                *place -= self.said;
            }
            self.said = 0;
        }
    }
}

#[cfg(test)]
mod tests;
