//! An answer on its way out: in one frame where it fits and is there, else as a stream under credit.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, StreamExt as _};
use kernel::clock;
use oap::limits::CHUNK_BYTES_MAX;
use oap::{Frame, Session, Unsent};
use tokio::time::Instant;

use crate::service::{BrokenOff, Outflow, Reply};

/// An answer that is not sent to its end.
pub(super) struct Download {
    pub(super) id: u64,
    /// Not said yet.
    status: Option<u16>,
    /// What is here and not sent.
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// Where the rest comes from.
    source: Option<BoxStream<'static, Result<Bytes, BrokenOff>>>,
    broken: Option<BrokenOff>,
    /// Since when there is something to send, and no credit for it.
    pub(super) stalled: Option<Instant>,
}

/// What became of an answer in its turn.
pub(super) enum Step {
    /// The next of it, the first with its status, and perhaps the last.
    Frame {
        frame: Frame,
        status: Option<u16>,
        ends: bool,
    },
    /// For more of it, or for credit.
    Waits,
    /// It will never end.
    Broken { status: u16, reason: &'static str },
    /// Nobody wants it any more.
    Over,
}

impl Download {
    pub(super) fn new(id: u64, reply: Reply) -> Self {
        let mut download = Self {
            id,
            status: Some(reply.status),
            pieces: VecDeque::new(),
            bytes: 0,
            source: None,
            broken: None,
            stalled: None,
        };
        download.put(reply.head);
        match reply.body {
            Outflow::Whole(body) => download.put(body),
            Outflow::Stream(source) => download.source = Some(source),
        }
        download
    }

    fn put(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Takes in what is there, up to what fits into a frame.
    fn fill(&mut self, cx: &mut Context<'_>) {
        while self.bytes < CHUNK_BYTES_MAX
            && let Some(source) = &mut self.source
        {
            match source.poll_next_unpin(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(piece))) => self.put(piece),
                Poll::Ready(Some(Err(broken))) => {
                    self.broken = Some(broken);
                    self.source = None;
                }
                Poll::Ready(None) => self.source = None,
            }
        }
    }

    /// The next frame, if there is anything to say and it may be said.
    pub(super) fn step(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Step {
        self.fill(cx);
        if let (Some(broken), true) = (self.broken, self.pieces.is_empty()) {
            return Step::Broken {
                status: broken.status,
                reason: broken.reason,
            };
        }
        match self.status {
            Some(status) => self.begin(session, status),
            None => self.more(session),
        }
    }

    fn begin(&mut self, session: &mut Session, status: u16) -> Step {
        let is_all_here = self.source.is_none() && self.broken.is_none();
        if is_all_here {
            let all = self.take(self.bytes);
            match session.respond(self.id, status, all.clone(), true, false) {
                Ok(frame) => return self.said(frame, Some(status), true),
                Err(Unsent::TooLarge) => self.put_back(all),
                Err(_) => return Step::Over,
            }
        }
        // The first chunk never waits for credit.
        let Some(room) = session.sendable(self.id) else {
            return Step::Over;
        };
        let first = self.take(room);
        match session.respond(self.id, status, first, false, false) {
            Ok(frame) => self.said(frame, Some(status), false),
            Err(_) => Step::Over,
        }
    }

    fn more(&mut self, session: &mut Session) -> Step {
        let ended = self.source.is_none() && self.broken.is_none();
        let room = match session.sendable(self.id) {
            None => return Step::Over,
            Some(_) if self.pieces.is_empty() && !ended => return Step::Waits,
            Some(0) if !self.pieces.is_empty() => {
                self.stalled.get_or_insert_with(clock::now);
                return Step::Waits;
            }
            Some(room) => room,
        };
        let piece = self.take(room);
        let ends = ended && self.pieces.is_empty();
        match session.data(self.id, piece, ends) {
            Ok(frame) => self.said(frame, None, ends),
            Err(_) => Step::Over,
        }
    }

    fn said(&mut self, frame: Frame, status: Option<u16>, ends: bool) -> Step {
        (self.status, self.stalled) = (None, None);
        Step::Frame {
            frame,
            status,
            ends,
        }
    }

    fn put_back(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push_front(piece);
    }

    /// The first bytes of what is here, as one; copied only where they lie apart.
    fn take(&mut self, most: usize) -> Bytes {
        let Some(mut first) = self.pieces.pop_front() else {
            return Bytes::new();
        };
        if first.len() > most {
            self.pieces.push_front(first.split_off(most));
        }
        if first.len() == most || self.pieces.is_empty() {
            self.bytes -= first.len();
            return first;
        }
        let mut joined = BytesMut::with_capacity(most.min(self.bytes));
        joined.extend_from_slice(&first);
        while let Some(mut piece) = self.pieces.pop_front() {
            let room = most - joined.len();
            if piece.len() > room {
                self.pieces.push_front(piece.split_off(room));
            }
            joined.extend_from_slice(&piece);
            if joined.len() == most {
                break;
            }
        }
        self.bytes -= joined.len();
        joined.freeze()
    }
}

#[cfg(test)]
mod tests;
