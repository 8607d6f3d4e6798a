//! The frames one side sends: made here, so that none breaks a rule.

use bytes::Bytes;

use super::{Event, Exchange, Half, Opening, Role, Session, Unsent};
use crate::limits::{CAP_BYTES_MAX, CHUNK_BYTES_MAX, HEADER_BYTES};
use crate::{Control, Flags, Frame, GoAway, Header, Meta, Reset, Violation, app_proto, control};

/// The status of a client that has lost interest.
pub(super) const CANCELED: u16 = 499;

impl Session {
    /// The first frame of a client.
    pub fn hello(&mut self, meta: &Meta) -> Result<Frame, Unsent> {
        if self.role != Role::Client || self.last_id != 0 {
            return Err(Unsent::Unlawful);
        }
        self.last_id = 1;
        let header = Header {
            flags: Flags::REQ,
            code: control::HELLO,
            app_proto: app_proto::CONTROL,
            tenant: 0,
            corr_id: self.last_id,
        };
        let payload = serde_json::to_vec(&self.ours).map_err(|_| Unsent::Unlawful)?;
        let frame = Frame {
            header,
            cap: meta.encode(),
            payload: payload.into(),
        };
        fits(&frame, self.ours.max_frame).map(|()| frame)
    }

    /// A request, as a whole when it `ends` with this frame; its id is the frame's.
    pub fn open(&mut self, opening: &Opening, payload: Bytes, ends: bool) -> Result<Frame, Unsent> {
        let agreed = self.agreed.as_ref().ok_or(Unsent::NotReady)?;
        let lawful = opening.opcode != 0
            && opening.app_proto != app_proto::CONTROL
            && (!opening.comp || agreed.allows(Flags::COMP));
        match () {
            () if self.role != Role::Client || !lawful => return Err(Unsent::Unlawful),
            () if self.leaving => return Err(Unsent::Draining),
            () if self.exchanges.len() >= agreed.max_inflight as usize => return Err(Unsent::Full),
            () => (),
        }
        let header = Header {
            flags: flags(Flags::REQ, !ends, false, opening.comp),
            code: opening.opcode,
            app_proto: opening.app_proto,
            tenant: opening.tenant,
            corr_id: self.last_id + 1,
        };
        let frame = Frame {
            header,
            cap: opening.meta.encode(),
            payload,
        };
        fits(&frame, agreed.max_frame)?;
        let mut exchange = Exchange {
            app_proto: opening.app_proto,
            tenant: opening.tenant,
            sends: Half::new(agreed.window),
            receives: Half::new(self.ours.window),
            was_reset: false,
        };
        exchange
            .sends
            .pass(&frame.header, &frame.payload)
            .map_err(unsent)?;
        self.last_id += 1;
        self.exchanges.insert(self.last_id, exchange);
        Ok(frame)
    }

    /// The answer to a request, as a whole when it `ends` with this frame.
    pub fn respond(
        &mut self,
        id: u64,
        status: u16,
        payload: Bytes,
        ends: bool,
        comp: bool,
    ) -> Result<Frame, Unsent> {
        if self.role != Role::Server || !(200..600).contains(&status) {
            return Err(Unsent::Unlawful);
        }
        let flags = flags(Flags::RESP, !ends, false, comp);
        self.emit(id, flags, status, payload)
    }

    /// More of a request or an answer, and the last of it when it `ends`.
    pub fn data(&mut self, id: u64, payload: Bytes, ends: bool) -> Result<Frame, Unsent> {
        let exchange = self.exchanges.get(&id).ok_or(Unsent::Over)?;
        let kind = match self.role {
            Role::Client => Flags::REQ,
            Role::Server => Flags::RESP,
        };
        let flags = flags(kind, false, ends, exchange.sends.is_compressed());
        self.emit(id, flags, 0, payload)
    }

    fn emit(&mut self, id: u64, flags: Flags, code: u16, payload: Bytes) -> Result<Frame, Unsent> {
        let agreed = self.agreed.as_ref().ok_or(Unsent::NotReady)?;
        if !flags.within(Flags::from_bits(agreed.flags)) {
            return Err(Unsent::Unlawful);
        }
        let exchange = self.exchanges.get_mut(&id).ok_or(Unsent::Over)?;
        if exchange.was_reset {
            return Err(Unsent::Over);
        }
        let header = Header {
            flags,
            code,
            app_proto: exchange.app_proto,
            tenant: exchange.tenant,
            corr_id: id,
        };
        let frame = Frame {
            header,
            cap: Bytes::new(),
            payload,
        };
        fits(&frame, agreed.max_frame)?;
        exchange
            .sends
            .pass(&frame.header, &frame.payload)
            .map_err(unsent)?;
        let is_over = self.role == Role::Server && exchange.sends.has_ended();
        if is_over {
            self.exchanges.remove(&id);
        }
        Ok(frame)
    }

    /// Bytes the next frame of a stream may have: 0 is "wait for credit", nothing is "it is over".
    pub fn sendable(&self, id: u64) -> Option<usize> {
        let agreed = self.agreed.as_ref()?;
        let exchange = self.exchanges.get(&id).filter(|one| !one.was_reset)?;
        let room = (agreed.max_frame as usize).saturating_sub(HEADER_BYTES);
        let credit = exchange.sends.credit() as usize;
        (!exchange.sends.has_ended()).then(|| credit.min(room).min(CHUNK_BYTES_MAX))
    }

    /// So many received bytes of a stream were used up; the frame that grants more, when it is time for one.
    pub fn consumed(&mut self, id: u64, bytes: usize) -> Option<Frame> {
        let window = self.ours.window;
        let exchange = self.exchanges.get_mut(&id).filter(|one| !one.was_reset)?;
        exchange.receives.consume(bytes, window, id)
    }

    /// Gives an exchange up; nothing is to be sent when it is over anyway.
    pub fn reset(&mut self, id: u64, status: u16, reason: &'static str) -> Option<Frame> {
        let exchange = self.exchanges.remove(&id)?;
        let reset = Reset {
            status: status.clamp(400, 599),
            reason: Bytes::from_static(reason.as_bytes()),
        };
        (!exchange.was_reset).then(|| Control::Reset(reset).encode(id))
    }

    /// The client has lost interest in this request.
    pub fn cancel(&mut self, id: u64) -> Option<Frame> {
        self.reset(id, CANCELED, "canceled")
    }

    /// The work for a request has stopped. If it was not answered to the end, the peer is told.
    pub fn let_go(&mut self, id: u64) -> Option<Frame> {
        self.reset(id, 500, "unfinished")
    }

    /// A server takes no more requests: those after the last one so far are refused.
    pub fn go_away(&mut self, status: u16, reason: &'static str) -> Frame {
        self.leaving = true;
        let away = GoAway {
            last_id: self.last_id,
            status: status.clamp(400, 599),
            reason: Bytes::from_static(reason.as_bytes()),
        };
        Control::GoAway(away).encode(0)
    }

    /// Asks whether the peer is there, if it knows how to answer.
    pub fn ping(&self, word: [u8; 8]) -> Option<Frame> {
        let agreed = self.agreed.as_ref()?;
        agreed
            .allows(Flags::ACK_REQ)
            .then(|| Control::Ping(word).encode(0))
    }

    pub(super) fn pong(word: [u8; 8]) -> Event {
        Event::Answer(Control::Pong(word).encode(0))
    }
}

fn flags(kind: Flags, starts: bool, ends: bool, comp: bool) -> Flags {
    kind.with_if(starts, Flags::START)
        .with_if(ends, Flags::END)
        .with_if(comp, Flags::COMP)
}

fn fits(frame: &Frame, frame_bytes_max: u32) -> Result<(), Unsent> {
    match frame.cap.len() <= CAP_BYTES_MAX && frame.wire_len() <= frame_bytes_max as usize {
        true => Ok(()),
        false => Err(Unsent::TooLarge),
    }
}

/// The rules are the same for both directions; only the names of their breaches differ.
fn unsent(violation: Violation) -> Unsent {
    match violation {
        Violation::WindowOver => Unsent::Blocked,
        Violation::ChunkOver => Unsent::TooLarge,
        Violation::Sequence => Unsent::Over,
        _ => Unsent::Unlawful,
    }
}
