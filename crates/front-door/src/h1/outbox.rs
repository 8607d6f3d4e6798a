//! An answer on its way out: its head and its body, framed, and written as fast as the peer takes them.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http1_wire::{Framing, chunk_head, spare, write_trailers};

use super::wire::Wire;
use crate::sealed::{Sealed, Spring};

/// Pieces up to this are copied behind the head: one write of one buffer costs less than one of several.
const COPIED_BYTES: usize = 4 * 1024;
/// What is gathered before it is written.
const GATHERED_BYTES: usize = 16 * 1024;

/// Pieces from this on are sent by the system where they are sealed: below, a call more costs more than a copy.
const SENT_BYTES: usize = 16 * 1024;

/// What is to be written next.
#[derive(Default)]
pub(super) struct Outbox {
    /// Heads, what begins a chunk, and small pieces of a body.
    lead: Vec<u8>,
    /// How much of it has been written.
    said: usize,
    /// A large piece of a body.
    piece: Bytes,
    /// What is said behind it.
    tail: &'static [u8],
    /// Where it may lie, so that the system can send it by itself.
    sealed: Option<Sealed>,
}

/// How the body of an answer is framed, and what is left of it.
pub(super) struct Sending {
    framing: Framing,
    ended: bool,
}

/// The body has fewer bytes than were promised.
#[derive(Debug)]
pub(super) struct Short;

impl Sending {
    pub(super) fn new(framing: Framing) -> Self {
        let ended = matches!(framing, Framing::Length(0) | Framing::Switched);
        Self { framing, ended }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Frames a piece; `last` if it is known to be. More than was promised is not sent.
    pub(super) fn take(
        &mut self,
        mut data: Bytes,
        last: bool,
        out: &mut Outbox,
    ) -> Result<(), Short> {
        if let Framing::Length(left) = &mut self.framing {
            data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= data.len() as u64;
            self.ended = *left == 0;
        }
        let chunked = self.framing == Framing::Chunked;
        if !data.is_empty() {
            if chunked {
                chunk_head(out.room(), data.len());
            }
            out.put(data, if chunked { b"\r\n" } else { b"" });
        }
        match last && !self.ended {
            true => self.end(None, out),
            false => Ok(()),
        }
    }

    /// There is no more.
    pub(super) fn end(
        &mut self,
        trailers: Option<&HeaderMap>,
        out: &mut Outbox,
    ) -> Result<(), Short> {
        self.ended = true;
        match (self.framing, trailers) {
            (Framing::Length(1..), _) => return Err(Short),
            (Framing::Chunked, Some(trailers)) => write_trailers(out.lead(), trailers),
            (Framing::Chunked, None) if out.piece.is_empty() => {
                out.room().extend_from_slice(b"0\r\n\r\n");
            }
            (Framing::Chunked, None) => out.tail = b"\r\n0\r\n\r\n",
            _ => {}
        }
        Ok(())
    }
}

impl Outbox {
    /// Where heads are written; nothing large waits when they are.
    pub(super) fn lead(&mut self) -> &mut Vec<u8> {
        debug_assert!(self.piece.is_empty(), "a head is never inside of a body");
        self.room()
    }

    fn room(&mut self) -> &mut Vec<u8> {
        if self.lead.capacity() == 0 {
            self.lead = spare::take_outbox();
        }
        &mut self.lead
    }

    fn put(&mut self, data: Bytes, tail: &'static [u8]) {
        if data.len() > COPIED_BYTES {
            (self.piece, self.tail) = (data, tail);
            return;
        }
        let room = self.room();
        room.extend_from_slice(&data);
        room.extend_from_slice(tail);
    }

    /// Where pieces of the next body may lie; nothing once it is sent.
    pub(super) fn seal(&mut self, sealed: Option<Sealed>) {
        self.sealed = sealed;
    }

    /// Whether it is time to write.
    pub(super) fn is_full(&self) -> bool {
        !self.piece.is_empty() || self.lead.len() - self.said >= GATHERED_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.said == self.lead.len() && self.piece.is_empty() && self.tail.is_empty()
    }

    /// Writes all there is.
    pub(super) fn poll_send(
        &mut self,
        wire: &mut Wire,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let lead = &self.lead[self.said..];
            let written = if self.piece.is_empty() && self.tail.is_empty() {
                ready!(wire.poll_write(&[IoSlice::new(lead)], cx))?
            } else if let Some(spring) = self.spring(wire) {
                match lead.is_empty() {
                    true => ready!(wire.poll_spring(spring, &self.piece, cx))?,
                    false => ready!(wire.poll_lead(lead, cx))?,
                }
            } else {
                let parts = [lead, &self.piece, self.tail].map(IoSlice::new);
                ready!(wire.poll_write(&parts, cx))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        spare::put_outbox(std::mem::take(&mut self.lead));
        self.said = 0;
        wire.poll_flush(cx)
    }

    /// Where the system can send the piece from.
    fn spring(&self, wire: &Wire) -> Option<Spring<'_>> {
        let sealed = self.sealed.as_ref()?;
        if self.piece.len() < SENT_BYTES || !self.tail.is_empty() || !wire.sends_files() {
            return None;
        }
        sealed.spring_of(&self.piece)
    }

    fn advance(&mut self, written: usize) {
        let of_lead = written.min(self.lead.len() - self.said);
        self.said += of_lead;
        let of_piece = (written - of_lead).min(self.piece.len());
        self.piece.advance(of_piece);
        if self.piece.is_empty() {
            self.piece = Bytes::new();
        }
        self.tail = &self.tail[written - of_lead - of_piece..];
    }
}
