//! One side of a connection: holds the peer, and its own user, to the sequence rules.

mod event;
mod exchange;
mod send;

pub use event::{Event, Opening, Unsent};

use std::collections::BTreeMap;

use crate::{
    Agreed, Control, Flags, Frame, Header, Hello, Meta, Problem, Refusal, Violation, app_proto,
    control,
};
use exchange::{Exchange, Half};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// The state of a connection between two peers, without its bytes: frames come from a [`Decoder`](crate::Decoder),
/// and go out in the order in which they were made. It reads no clock; times are the business of who drives it.
#[derive(Debug)]
pub struct Session {
    role: Role,
    ours: Hello,
    agreed: Option<Agreed>,
    /// The peer's receive window of each stream.
    peer_window: u32,
    /// The highest id that was used; ids only grow, so one that is not above it and not open is over.
    last_id: u64,
    /// As many as were agreed on at most. A reset one stays until its work has stopped: or else opening and resetting
    /// in turn would get more work done at a time than was agreed on.
    exchanges: BTreeMap<u64, Exchange>,
    leaving: bool,
}

impl Session {
    /// The one who asks.
    pub fn client(ours: Hello) -> Self {
        Self::new(Role::Client, ours)
    }

    /// The one who answers.
    pub fn server(ours: Hello) -> Self {
        Self::new(Role::Server, ours)
    }

    fn new(role: Role, ours: Hello) -> Self {
        Self {
            role,
            peer_window: ours.window,
            ours,
            agreed: None,
            last_id: 0,
            exchanges: BTreeMap::new(),
            leaving: false,
        }
    }

    /// What holds since HELLO.
    pub fn agreed(&self) -> Option<&Agreed> {
        self.agreed.as_ref()
    }

    /// Requests that are neither answered nor given up, and those whose work has not stopped.
    pub fn in_flight(&self) -> usize {
        self.exchanges.len()
    }

    /// What the next frame of the peer's means. After a violation a server sends [`Frame::farewell`]; both close.
    pub fn receive(&mut self, frame: Frame) -> Result<Event, Violation> {
        let header = frame.header;
        if self.agreed.is_none() {
            return match self.role {
                Role::Server => self.greet(frame),
                Role::Client => self.be_greeted(&frame),
            };
        }
        self.check_flags(&header)?;
        let is_request = header.flags.has(Flags::REQ);
        let opens_request = is_request && header.opens();
        if !frame.cap.is_empty() && !opens_request {
            return Err(Violation::CapMisplaced);
        }
        if header.flags.has(Flags::EVENT) {
            return self.control(frame);
        }
        if is_request != (self.role == Role::Server) {
            return Err(Violation::Role);
        }
        match (header.app_proto == app_proto::CONTROL, self.role) {
            (true, Role::Server) if header.code == control::HELLO => Err(Violation::HelloAgain),
            (true, Role::Server) => Err(Violation::ControlUnknown),
            (true, Role::Client) => failed(&frame),
            (false, _) if header.corr_id == 0 => Err(Violation::IdZero),
            (false, Role::Server) if header.opens() => self.admit(frame),
            (false, _) => self.go_on(frame),
        }
    }

    fn greet(&mut self, frame: Frame) -> Result<Event, Violation> {
        let header = frame.header;
        let is_hello = header.flags.has(Flags::REQ)
            && header.app_proto == app_proto::CONTROL
            && header.code == control::HELLO;
        if !is_hello {
            return Err(Violation::HelloFirst);
        }
        if header.corr_id == 0 {
            return Err(Violation::IdZero);
        }
        let meta = Meta::decode(frame.cap).map_err(|_| Violation::HelloBad)?;
        let theirs = Hello::read(&frame.payload)?;
        let agreed = self.ours.agree(&theirs)?;
        let payload = serde_json::to_vec(&agreed).map_err(|_| Violation::HelloBad)?;
        self.last_id = header.corr_id;
        self.peer_window = theirs.window;
        self.agreed = Some(agreed);
        let answer = Frame::answer(&header, 200, payload.into());
        Ok(Event::Hello { meta, answer })
    }

    fn be_greeted(&mut self, frame: &Frame) -> Result<Event, Violation> {
        let header = &frame.header;
        if !header.flags.has(Flags::RESP) || header.app_proto != app_proto::CONTROL {
            return Err(Violation::HelloFirst);
        }
        if header.code >= 400 {
            return failed(frame);
        }
        if header.corr_id != self.last_id {
            return Err(Violation::IdUnknown);
        }
        let agreed = Agreed::read(&frame.payload)?;
        if !self.ours.accepts(&agreed) {
            return Err(Violation::HelloBad);
        }
        self.peer_window = agreed.window;
        self.agreed = Some(agreed);
        Ok(Event::Greeted)
    }

    fn check_flags(&self, header: &Header) -> Result<(), Violation> {
        let allowed = self.agreed.as_ref().map_or(0, |agreed| agreed.flags);
        match header.flags.within(Flags::from_bits(allowed)) {
            true => Ok(()),
            false => Err(Violation::FlagRefused),
        }
    }

    fn admit(&mut self, frame: Frame) -> Result<Event, Violation> {
        let header = frame.header;
        if header.corr_id <= self.last_id {
            return Err(Violation::IdUsed);
        }
        let mut receives = Half::new(self.ours.window);
        receives.pass(&header, &frame.payload)?;
        self.last_id = header.corr_id;
        let meta = match self.admission(frame.cap) {
            Ok(meta) => meta,
            Err(refusal) => return Ok(Event::Refused { header, refusal }),
        };
        let exchange = Exchange {
            app_proto: header.app_proto,
            tenant: header.tenant,
            sends: Half::new(self.peer_window),
            receives,
            was_reset: false,
        };
        self.exchanges.insert(header.corr_id, exchange);
        Ok(Event::Request {
            header,
            meta,
            payload: frame.payload,
        })
    }

    fn admission(&self, cap: bytes::Bytes) -> Result<Meta, Refusal> {
        let most = self.agreed.as_ref().map_or(0, |agreed| agreed.max_inflight);
        if self.leaving {
            return Err(Refusal::Draining);
        }
        if self.exchanges.len() >= most as usize {
            return Err(Refusal::Busy);
        }
        Meta::decode(cap).map_err(Refusal::from)
    }

    /// More of a request, or any part of an answer.
    fn go_on(&mut self, frame: Frame) -> Result<Event, Violation> {
        let header = frame.header;
        let id = header.corr_id;
        let Some(exchange) = self.exchanges.get_mut(&id) else {
            return self.rest_of(id);
        };
        if exchange.was_reset {
            return Ok(Event::Dropped);
        }
        if exchange.app_proto != header.app_proto {
            return Err(Violation::Sequence);
        }
        exchange.receives.pass(&header, &frame.payload)?;
        let is_over = self.role == Role::Client && exchange.receives.has_ended();
        if is_over {
            self.exchanges.remove(&id);
        }
        let payload = frame.payload;
        Ok(match header.opens() {
            true => Event::Response { header, payload },
            false => Event::Data { header, payload },
        })
    }

    fn control(&mut self, frame: Frame) -> Result<Event, Violation> {
        let id = frame.header.corr_id;
        let control = Control::decode(frame)?;
        match (control.is_of_exchange(), id) {
            (true, 0) => return Err(Violation::IdZero),
            (false, 1..) => return Err(Violation::ControlBad),
            _ => (),
        }
        match control {
            Control::Ping(word) => Ok(Self::pong(word)),
            Control::Pong(word) => Ok(Event::Pong(word)),
            Control::GoAway(_) if self.role == Role::Server => Err(Violation::Role),
            Control::GoAway(away) => {
                self.leaving = true;
                Ok(Event::GoAway(away))
            }
            Control::Credit(bytes) => self.grant(id, bytes),
            Control::Reset(reset) => match self.drop_reset(id)? {
                true => Ok(Event::Reset { id, reset }),
                false => Ok(Event::Dropped),
            },
        }
    }

    fn grant(&mut self, id: u64, bytes: u32) -> Result<Event, Violation> {
        let Some(exchange) = self.exchanges.get_mut(&id) else {
            return self.rest_of(id);
        };
        if exchange.was_reset || exchange.sends.has_ended() {
            return Ok(Event::Dropped);
        }
        exchange.sends.grant(bytes)?;
        Ok(Event::Credit(id))
    }

    /// Whether there was something left to give up.
    fn drop_reset(&mut self, id: u64) -> Result<bool, Violation> {
        let Some(exchange) = self.exchanges.get_mut(&id) else {
            return self.rest_of(id).map(|_| false);
        };
        let is_news = !exchange.was_reset;
        exchange.was_reset = true;
        if self.role == Role::Client {
            self.exchanges.remove(&id);
        }
        Ok(is_news)
    }

    /// A frame of an exchange that is not open: late, or of one that never was.
    fn rest_of(&self, id: u64) -> Result<Event, Violation> {
        match id <= self.last_id {
            true => Ok(Event::Dropped),
            false => Err(Violation::IdUnknown),
        }
    }
}

fn failed(frame: &Frame) -> Result<Event, Violation> {
    if frame.header.code < 400 {
        return Err(Violation::Sequence);
    }
    Ok(Event::Failed {
        status: frame.header.code,
        problem: Problem::from_payload(&frame.payload),
    })
}

#[cfg(test)]
mod tests;
