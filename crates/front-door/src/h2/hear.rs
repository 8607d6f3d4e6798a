//! What comes: read, cut into frames, pieces of bodies passed on as they are.

use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http::Response;
use http1_wire::spare::{self, READ_BYTES};
use http2_wire::frame::{self, Code, DATA, Frame, PADDED, PAYLOAD_MAX, PREFACE, WINDOW_MAX};
use tokio::io::AsyncReadExt;

use super::clock::Unfinished;
use super::inflow;
use super::turn::Turn;
use super::{Connection, Ended};
use crate::budget::Offence;
use crate::door::Panicked;
use crate::service::Service;
use crate::socket::Socket;

/// Room for what is read from who has filled all the room there was.
const LARGE_BYTES: usize = 32 * 1024;
/// The least that is worth a read.
const LEAST_BYTES: usize = 2 * 1024;

/// Bytes that may come unread on a connection: each stream has its own, and none waits for another's to be read.
pub(super) fn connection_window(streams: u32) -> u32 {
    let all = streams.saturating_mul(inflow::WINDOW);
    all.clamp(2 * frame::WINDOW, WINDOW_MAX)
}

/// What came of listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// All that has come.
    All,
    /// As much as the turn allows.
    Some,
    /// As much as there is room for the answers to.
    Full,
    /// The peer has gone; what is ready for it is still said.
    End,
}

/// What has been read and not been dealt with.
pub(super) struct Inbox {
    bytes: BytesMut,
    /// The last read had room for no more.
    full: bool,
    /// There was more room than is shared with others.
    large: bool,
    /// Bytes of the preface that are still to come.
    preface: usize,
    /// A piece of a body that is still coming.
    pub(super) piece: Piece,
    /// A head that is still coming, and its first frame.
    pub(super) block: Option<(Frame, Vec<u8>)>,
}

/// A piece of a body of which a part has come.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// Whose; 0 for nobody's.
    stream: u32,
    data: usize,
    padding: usize,
    ends: bool,
}

impl Inbox {
    pub(super) fn new(early: Bytes) -> Self {
        Self {
            bytes: BytesMut::from(early),
            full: false,
            // Whose room this is nobody knows.
            large: true,
            preface: PREFACE.len(),
            piece: Piece::default(),
            block: None,
        }
    }

    fn unfinished(&self) -> Unfinished {
        if self.piece.data + self.piece.padding > 0 {
            return Unfinished::Data;
        }
        match self.bytes.is_empty() && self.block.is_none() {
            true => Unfinished::Nothing,
            false => Unfinished::Other,
        }
    }

    /// Reads once; zero is the end.
    fn poll_fill(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<std::io::Result<usize>> {
        if self.bytes.capacity() == 0 {
            // Nearly every connection waits at nearly every moment: for that it needs no room.
            ready!(socket.poll_heard(cx));
            self.bytes = spare::take_inbox();
            self.large = false;
        }
        let room = if self.full { LARGE_BYTES } else { READ_BYTES };
        if self.bytes.capacity() - self.bytes.len() < LEAST_BYTES.max(room / 2) {
            self.large |= !self.bytes.is_empty() || room > READ_BYTES;
            self.bytes.reserve(room);
        }
        let read = pin!(socket.read_buf(&mut self.bytes)).poll(cx);
        self.full = self.bytes.len() == self.bytes.capacity();
        if read.is_pending() {
            self.give_back_room();
        }
        read
    }

    /// Others may need it, as long as nothing is in there.
    fn give_back_room(&mut self) {
        if !self.bytes.is_empty() {
            return;
        }
        match self.large {
            true => self.bytes = BytesMut::new(),
            false => spare::put_inbox_if_whole(&mut self.bytes),
        }
    }
}

impl<S, F> Connection<S, F>
where
    S: Service,
    F: Future<Output = Result<Response<S::Body>, Panicked>> + Send,
{
    /// Listens until nothing comes, or others are to have their turn.
    pub(super) fn hear(&mut self, turn: &mut Turn, cx: &mut Context<'_>) -> Result<Heard, Ended> {
        loop {
            if !self.inbox.bytes.is_empty() && self.cut(turn)? {
                self.time_frames();
            }
            if turn.is_over() || self.out.is_full() {
                // It is not the peer who is waited for.
                self.time_unfinished(Unfinished::Nothing);
                return Ok(match self.out.is_full() {
                    true => Heard::Full,
                    false => Heard::Some,
                });
            }
            match self.inbox.poll_fill(&mut self.socket, cx) {
                Poll::Ready(Ok(0)) => return Ok(Heard::End),
                Poll::Ready(read) => {
                    turn.read(read?);
                    self.time_bytes();
                }
                Poll::Pending => {
                    self.time_unfinished(self.inbox.unfinished());
                    return Ok(Heard::All);
                }
            }
        }
    }

    /// Deals with what is there of frames, as far as the turn goes; whether one of them was whole.
    fn cut(&mut self, turn: &mut Turn) -> Result<bool, Ended> {
        let mut bytes = std::mem::take(&mut self.inbox.bytes);
        let (mut at, mut frames) = (0, 0_usize);
        let mut cut = || {
            while !turn.is_over() && !self.out.is_full() {
                match self.take(&bytes[at..], turn)? {
                    0 => break,
                    taken => (at, frames) = (at + taken, frames + 1),
                }
            }
            Ok(())
        };
        let ended = cut();
        bytes.advance(at);
        self.inbox.bytes = bytes;
        ended.map(|()| frames > 0)
    }

    /// Deals with what comes first, and says how many bytes that is; zero if it is not all there.
    fn take(&mut self, bytes: &[u8], turn: &mut Turn) -> Result<usize, Ended> {
        if self.inbox.preface > 0 {
            return self.take_preface(bytes);
        }
        if self.inbox.piece.data + self.inbox.piece.padding > 0 {
            return self.take_piece(bytes);
        }
        let Some(frame) = Frame::read(bytes) else {
            return Ok(0);
        };
        if frame.length > PAYLOAD_MAX {
            return Err(Code::FrameSize.into());
        }
        let payload = &bytes[Frame::HEAD..];
        if frame.kind == DATA && self.inbox.block.is_none() {
            return self.take_data(frame, payload, turn);
        }
        let Some(payload) = payload.get(..frame.length as usize) else {
            return Ok(0);
        };
        turn.frame();
        self.pay(frame)?;
        self.take_frame(frame, payload, turn)?;
        Ok(Frame::HEAD + payload.len())
    }

    fn take_preface(&mut self, bytes: &[u8]) -> Result<usize, Ended> {
        let left = &PREFACE[PREFACE.len() - self.inbox.preface..];
        let taken = left.len().min(bytes.len());
        if bytes[..taken] != left[..taken] {
            return Err(Code::Protocol.into());
        }
        self.inbox.preface -= taken;
        Ok(taken)
    }

    /// Pays for a frame.
    fn pay(&mut self, frame: Frame) -> Result<(), Ended> {
        match self.budget.pay(frame, self.line.desk.clock.now()) {
            true => Ok(()),
            false => Err(self.flooded()),
        }
    }

    /// Pays for what nobody may do.
    pub(super) fn blame(&mut self, offence: Offence) -> Result<(), Ended> {
        match self.budget.blame(offence) {
            true => Ok(()),
            false => Err(self.flooded()),
        }
    }

    fn flooded(&self) -> Ended {
        self.line.desk.floods.inc();
        tracing::debug!(peer = %self.line.visit.peer, "cut off for a flood of frames");
        Ended::Flood
    }

    /// The beginning of a piece of a body: all but what is in it.
    fn take_data(&mut self, frame: Frame, payload: &[u8], turn: &mut Turn) -> Result<usize, Ended> {
        let (mut taken, mut padding) = (Frame::HEAD, 0);
        if frame.flags & PADDED != 0 {
            match payload.first() {
                _ if frame.length == 0 => return Err(Code::FrameSize.into()),
                None => return Ok(0),
                Some(said) => padding = usize::from(*said),
            }
            taken += 1;
        }
        if !self.greeted || frame.stream == 0 || frame.stream > self.last {
            return Err(Code::Protocol.into());
        }
        turn.frame();
        let length = frame.length as usize;
        let Some(data) = (length + Frame::HEAD - taken).checked_sub(padding) else {
            return Err(Code::Protocol.into());
        };
        // Padding says nothing.
        self.pay(Frame {
            length: data as u32,
            ..frame
        })?;
        self.admit(length)?;
        let mut piece = Piece {
            stream: frame.stream,
            data,
            padding,
            ends: frame.ends_stream(),
        };
        if !self.is_welcome(frame.stream, length, data)? {
            piece.stream = 0;
            if piece.ends {
                // Nothing of it can be on its way any more, and an end that says nothing would use up no room.
                self.forget(frame.stream);
            }
        }
        let whole = data + padding == 0;
        self.inbox.piece = piece;
        if whole {
            self.end_piece()?;
        }
        Ok(taken)
    }

    /// Bytes of any body: what comes is in nobody's way, so there is room for as much again.
    fn admit(&mut self, length: usize) -> Result<(), Ended> {
        if !self.incoming.take(length) {
            return Err(Code::FlowControl.into());
        }
        let all = connection_window(self.streams_max as u32);
        let used = all as usize - self.incoming.room();
        if used >= all as usize / 2 {
            frame::write_window_update(self.out.lead(), 0, used as u32);
            self.incoming = super::streams::Window::new(all);
        }
        Ok(())
    }

    /// Whether there is a stream that wants such a piece.
    fn is_welcome(&mut self, id: u32, length: usize, data: usize) -> Result<bool, Ended> {
        let Some(slot) = self.streams.find(id) else {
            return self.is_late(id, length).map(|()| false);
        };
        let Some(stream) = self.streams.get(slot) else {
            return Ok(false);
        };
        if stream.heard {
            self.blame(Offence::Frame)?;
            self.reset(slot, Code::StreamClosed);
            return Ok(false);
        }
        if !stream.room.take(length) {
            self.blame(Offence::Frame)?;
            self.reset(slot, Code::FlowControl);
            return Ok(false);
        }
        if let Some(left) = &mut stream.left {
            match left.checked_sub(data as u64) {
                Some(less) => *left = less,
                None => {
                    self.blame(Offence::Request)?;
                    self.reset(slot, Code::Protocol);
                    return Ok(false);
                }
            }
        }
        let padded = length - data;
        if padded > 0 {
            // Nobody reads it, so nobody would make room for it.
            let _never_over = stream.room.grow(padded as i64);
            frame::write_window_update(self.out.lead(), id, padded as u32);
        }
        Ok(true)
    }

    /// Something has come for a stream that is closed.
    pub(super) fn is_late(&mut self, id: u32, length: usize) -> Result<(), Ended> {
        let mut given_up = self.given_up.iter_mut();
        match given_up.find(|(other, _)| *other == id) {
            // Who does not know yet that we have ended it has done nothing wrong, as far as there was room.
            Some((_, room)) => match room.take(length) {
                true => Ok(()),
                false => self.blame(Offence::Late),
            },
            None => {
                frame::write_reset(self.out.lead(), id, Code::StreamClosed);
                self.blame(Offence::Late)
            }
        }
    }

    /// As much of a piece as there is.
    fn take_piece(&mut self, bytes: &[u8]) -> Result<usize, Ended> {
        let piece = &mut self.inbox.piece;
        let data = piece.data.min(bytes.len());
        piece.data -= data;
        let padding = piece.padding.min(bytes.len() - data);
        piece.padding -= padding;
        let (coming, whole) = (piece.data, piece.data + piece.padding == 0);
        if data > 0
            && let Some(slot) = self.streams.find(piece.stream)
            && let Some(stream) = self.streams.get(slot)
            && let Some(inflow) = &stream.inflow
        {
            inflow.push(&bytes[..data], coming);
        }
        if whole {
            self.end_piece()?;
        }
        Ok(data + padding)
    }

    fn end_piece(&mut self) -> Result<(), Ended> {
        let piece = std::mem::take(&mut self.inbox.piece);
        match self.streams.find(piece.stream) {
            Some(slot) if piece.ends && piece.stream != 0 => self.end_request(slot, None),
            _ => Ok(()),
        }
    }
}
