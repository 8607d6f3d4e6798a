//! What each frame of a client does, pieces of bodies aside.

use http::{HeaderMap, Response};
use http1_wire::spare;
use http2_wire::frame::{
    self, ACK, CONTINUATION, Code, END_HEADERS, Frame, GOAWAY, HEADERS, PING, PRIORITY,
    PRIORITY_BYTES, PUSH_PROMISE, RST_STREAM, SETTINGS, Setting, WEIGHTED, WINDOW_UPDATE,
};
use http2_wire::{Request, Unfit};

use super::answers::Work;
use super::inflow;
use super::streams::{Stream, Tail, Window};
use super::turn::Turn;
use super::{Connection, Ended, Leave};
use crate::budget::Offence;
use crate::door::Panicked;
use crate::service::{Fault, Service};
use crate::upload::{Upload, UploadError};

/// Streams we have ended of which we remember that at least, and else as many as there may be at once.
const REMEMBERED: usize = 32;
/// What trailers count for where nobody reads them.
const TRAILERS: usize = 16 * 1024;

impl<S, F> Connection<S, F>
where
    S: Service,
    F: Future<Output = Result<Response<S::Body>, Panicked>> + Send,
{
    pub(super) fn take_frame(
        &mut self,
        frame: Frame,
        payload: &[u8],
        turn: &mut Turn,
    ) -> Result<(), Ended> {
        if !self.greeted && (frame.kind != SETTINGS || frame.flags & ACK != 0) {
            return Err(Code::Protocol.into());
        }
        if let Some((head, _)) = &self.inbox.block
            && (frame.kind != CONTINUATION || frame.stream != head.stream)
        {
            return Err(Code::Protocol.into());
        }
        let of_connection = matches!(frame.kind, SETTINGS | PING | GOAWAY);
        let of_stream = matches!(frame.kind, HEADERS | PRIORITY | RST_STREAM | CONTINUATION);
        if (of_connection && frame.stream != 0) || (of_stream && frame.stream == 0) {
            return Err(Code::Protocol.into());
        }
        match frame.kind {
            HEADERS => self.take_headers(frame, payload, turn),
            CONTINUATION => self.take_continuation(frame, payload, turn),
            PRIORITY => self.take_priority(frame, payload),
            RST_STREAM => self.take_reset(frame, payload),
            SETTINGS => self.take_settings(frame, payload),
            PING => self.take_ping(frame, payload),
            WINDOW_UPDATE => self.take_window_update(frame, payload),
            GOAWAY if payload.len() < 8 => Err(Code::FrameSize.into()),
            GOAWAY => {
                self.announce_leave();
                Ok(())
            }
            PUSH_PROMISE => Err(Code::Protocol.into()),
            _ => Ok(()),
        }
    }

    fn take_headers(&mut self, frame: Frame, payload: &[u8], turn: &mut Turn) -> Result<(), Ended> {
        // Streams of our own have even numbers, and we open none.
        if frame.stream.is_multiple_of(2) {
            return Err(Code::Protocol.into());
        }
        let fragment = frame.strip(payload)?;
        if frame.flags & END_HEADERS != 0 {
            return self.take_block(frame, fragment, depends_on_itself(frame, payload), turn);
        }
        if depends_on_itself(frame, payload) {
            return Err(Code::Protocol.into());
        }
        self.inbox.block = Some((frame, fragment.to_vec()));
        self.time_anew();
        Ok(())
    }

    fn take_continuation(
        &mut self,
        frame: Frame,
        payload: &[u8],
        turn: &mut Turn,
    ) -> Result<(), Ended> {
        let Some((head, mut block)) = self.inbox.block.take() else {
            return Err(Code::Protocol.into());
        };
        // Packed, a list is no longer than it is, whatever is in it.
        if block.len() + payload.len() > self.block_max {
            return Err(Code::Calm.into());
        }
        block.extend_from_slice(payload);
        if frame.flags & END_HEADERS != 0 {
            self.time_anew();
            return self.take_block(head, &block, false, turn);
        }
        self.inbox.block = Some((head, block));
        Ok(())
    }

    /// A head that is all there.
    fn take_block(
        &mut self,
        frame: Frame,
        block: &[u8],
        selfish: bool,
        turn: &mut Turn,
    ) -> Result<(), Ended> {
        if frame.stream <= self.last {
            return self.take_trailers(frame, block);
        }
        turn.opened();
        self.last = frame.stream;
        // Read even if it is refused: what comes after it is packed with it.
        let head = self.heads.request(block, spare::take_fields());
        let head = head.map_err(|_| Code::Compression)?;
        if self.leave == Leave::Final || self.streams.open() >= self.streams_max {
            self.refuse(frame.stream, Code::Refused);
            return self.blame(Offence::Refused);
        }
        let ends = frame.ends_stream();
        match head {
            Ok(request) if !selfish && (!ends || request.length.unwrap_or(0) == 0) => {
                if !block.is_empty() {
                    self.budget.asked();
                }
                self.open(frame.stream, request, ends);
                Ok(())
            }
            Ok(_) | Err(Unfit::Malformed) => {
                self.refuse(frame.stream, Code::Protocol);
                self.blame(Offence::Request)
            }
            Err(Unfit::TooLarge { head_only }) => {
                self.open_refused(frame.stream, ends, head_only, Fault::HeadTooLarge);
                self.blame(Offence::Request)
            }
            Err(Unfit::Flood) => Err(Code::Calm.into()),
        }
    }

    /// A request.
    fn open(&mut self, id: u32, head: Request, ends: bool) {
        let slot = self.streams.vacant();
        let mut stream = self.stream(id, ends);
        stream.bodiless = head.method == http::Method::HEAD;
        let upload = if ends {
            Upload::nothing()
        } else {
            let expects = head.headers.get(http::header::EXPECT);
            let expects =
                expects.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
            let (inflow, outflow) = inflow::pair(self.bell.clone(), slot, expects);
            stream.inflow = Some(inflow);
            stream.left = head.length;
            Upload::streamed(outflow, head.length, &self.line)
        };
        let mut request = http::Request::new(upload);
        *request.method_mut() = head.method;
        *request.uri_mut() = head.uri;
        *request.version_mut() = http::Version::HTTP_2;
        *request.headers_mut() = head.headers;
        let call = (self.begin)(self.room.clone(), request);
        stream.work = Some(Box::pin(Work::Called { call }));
        self.enter(slot, stream);
    }

    /// What is answered without being asked of anyone.
    fn open_refused(&mut self, id: u32, ends: bool, head_only: bool, fault: Fault) {
        let slot = self.streams.vacant();
        let mut stream = self.stream(id, ends);
        stream.bodiless = head_only;
        self.enter(slot, stream);
        let refusal = self.room.house.service.refuse(fault, &self.line.visit);
        self.tell_refusal(slot, refusal);
    }

    fn stream(&self, id: u32, ends: bool) -> Stream<Work<F, S::Body>> {
        Stream {
            id,
            work: None,
            inflow: None,
            room: Window::new(inflow::WINDOW),
            left: None,
            heard: ends,
            seen: false,
            bodiless: false,
            told: false,
            window: Window::new(self.initial_window),
            promised: None,
            rest: bytes::Bytes::new(),
            behind: bytes::Bytes::new(),
            tail: Tail::Open,
            sent: 0,
            stalled: 0,
            here_since: 0,
            sent_before: 0,
            excuse: None,
        }
    }

    fn enter(&mut self, slot: usize, stream: Stream<Work<F, S::Body>>) {
        let bell = &self.bell;
        self.streams.insert(slot, stream, || bell.rope(slot));
        self.bell.ring(slot);
        self.time_request();
    }

    /// Fields behind the body of a request.
    fn take_trailers(&mut self, frame: Frame, block: &[u8]) -> Result<(), Ended> {
        let trailers = self.heads.trailers(block);
        let trailers = trailers.map_err(|_| Code::Compression)?;
        let Some(slot) = self.streams.find(frame.stream) else {
            self.is_late(frame.stream, TRAILERS)?;
            self.forget(frame.stream);
            return Ok(());
        };
        let heard = self.streams.get(slot).is_some_and(|stream| stream.heard);
        match trailers {
            _ if heard => {
                self.reset(slot, Code::StreamClosed);
                self.blame(Offence::Frame)
            }
            // A second head.
            _ if !frame.ends_stream() => {
                self.reset(slot, Code::Protocol);
                self.blame(Offence::Frame)
            }
            Ok(trailers) => self.end_request(slot, Some(trailers)),
            Err(Unfit::Flood) => Err(Code::Calm.into()),
            Err(Unfit::Malformed | Unfit::TooLarge { .. }) => {
                self.reset(slot, Code::Protocol);
                self.blame(Offence::Request)
            }
        }
    }

    /// All of a request has come.
    pub(super) fn end_request(
        &mut self,
        slot: usize,
        trailers: Option<HeaderMap>,
    ) -> Result<(), Ended> {
        let Some(stream) = self.streams.get(slot) else {
            return Ok(());
        };
        if stream.left.is_some_and(|left| left > 0) {
            self.reset(slot, Code::Protocol);
            return self.blame(Offence::Request);
        }
        stream.heard = true;
        if let Some(inflow) = stream.inflow.take() {
            inflow.end(trailers);
        }
        Ok(())
    }

    fn take_priority(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Ended> {
        let code = match frame.length == PRIORITY_BYTES {
            false => Code::FrameSize,
            true if frame::word(payload) == frame.stream => Code::Protocol,
            true => return Ok(()),
        };
        self.offend(frame, code)
    }

    fn take_reset(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Ended> {
        if payload.len() != 4 {
            return Err(Code::FrameSize.into());
        }
        if frame.stream > self.last {
            return Err(Code::Protocol.into());
        }
        let Some(slot) = self.streams.find(frame.stream) else {
            self.forget(frame.stream);
            return Ok(());
        };
        // Nobody waits for the answer any more.
        match self.streams.remove(slot) {
            Some(stream) if !stream.seen => self.blame(Offence::Reset),
            _ => Ok(()),
        }
    }

    fn take_settings(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Ended> {
        if frame.flags & ACK != 0 {
            return match payload.is_empty() {
                true => Ok(()),
                false => Err(Code::FrameSize.into()),
            };
        }
        let mut window = None;
        frame::settings(payload, |setting| match setting {
            Setting::Table(_) => self.forgets = true,
            Setting::Window(bytes) => window = Some(bytes),
            Setting::Payload(bytes) => self.payload_max = bytes as usize,
        })?;
        if let Some(bytes) = window {
            let by = i64::from(bytes) - i64::from(self.initial_window);
            self.initial_window = bytes;
            for (slot, stream) in self.streams.iter_mut() {
                stream.window.grow(by).map_err(|_| Code::FlowControl)?;
                if by > 0 {
                    self.bell.ring(slot);
                }
            }
        }
        self.greeted = true;
        frame::write_settings_ack(self.out.lead());
        Ok(())
    }

    fn take_ping(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Ended> {
        let said = *payload.as_array().ok_or(Code::FrameSize)?;
        match frame.flags & ACK != 0 {
            true => self.ponged(said),
            false => frame::write_ping(self.out.lead(), said, true),
        }
        Ok(())
    }

    fn take_window_update(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Ended> {
        if payload.len() != 4 {
            return Err(Code::FrameSize.into());
        }
        let more = i64::from(frame::word(payload));
        if frame.stream == 0 {
            let grown = self.window.grow(more);
            if more == 0 || frame.stream > self.last {
                return Err(Code::Protocol.into());
            }
            grown.map_err(|_| Code::FlowControl)?;
            // Whoever waited for it.
            for (slot, stream) in self.streams.iter_mut() {
                if stream.stalled != 0 {
                    self.bell.ring(slot);
                }
            }
            return Ok(());
        }
        if more == 0 {
            return self.offend(frame, Code::Protocol);
        }
        let Some(slot) = self.streams.find(frame.stream) else {
            return match frame.stream > self.last {
                true => Err(Code::Protocol.into()),
                false => Ok(()),
            };
        };
        match self
            .streams
            .get(slot)
            .map(|stream| stream.window.grow(more))
        {
            Some(Err(_)) => self.offend(frame, Code::FlowControl),
            _ => {
                self.bell.ring(slot);
                Ok(())
            }
        }
    }

    /// A frame that nobody may send ends its stream; the connection, if there was none.
    fn offend(&mut self, frame: Frame, code: Code) -> Result<(), Ended> {
        if frame.stream > self.last {
            return Err(code.into());
        }
        if let Some(slot) = self.streams.find(frame.stream) {
            self.reset(slot, code);
        }
        self.blame(Offence::Frame)
    }

    /// Ends a stream before its time.
    pub(super) fn reset(&mut self, slot: usize, code: Code) {
        let Some(stream) = self.streams.remove(slot) else {
            return;
        };
        if let (Some(inflow), Code::Protocol | Code::FlowControl) = (&stream.inflow, code) {
            inflow.fail(UploadError::Malformed("it breaks the protocol".into()));
        }
        self.give_up(stream.id, code, stream.room);
    }

    /// The peer knows by now that a stream has ended, or has ended it itself.
    pub(super) fn forget(&mut self, id: u32) {
        self.given_up.retain(|(other, _)| *other != id);
        self.partings.retain(|(other, _)| *other != id);
    }

    /// Ends a stream before it has begun.
    fn refuse(&mut self, id: u32, code: Code) {
        self.give_up(id, code, Window::new(inflow::WINDOW));
    }

    /// Says that a stream has ended, and remembers it: so much may still come.
    pub(super) fn give_up(&mut self, id: u32, code: Code, room: Window) {
        frame::write_reset(self.out.lead(), id, code);
        self.remember(id, room);
    }

    /// A stream has ended for us: so much may still come.
    pub(super) fn remember(&mut self, id: u32, room: Window) {
        if self.given_up.len() >= REMEMBERED.max(self.streams_max) {
            self.given_up.remove(0);
        }
        self.given_up.push((id, room));
    }
}

fn depends_on_itself(frame: Frame, payload: &[u8]) -> bool {
    let behind = usize::from(frame.flags & frame::PADDED != 0);
    frame.flags & WEIGHTED != 0
        && payload
            .get(behind..)
            .is_some_and(|word| frame::word(word) == frame.stream)
}
