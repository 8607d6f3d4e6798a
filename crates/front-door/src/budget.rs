//! What a peer may spend on HTTP/2 frames that ask for nothing: a budget that requests and bytes fill up again.
//!
//! Floods are told from use by what they bring along. A client that downloads sends window updates, one that streams
//! sends pings, one that closes a page resets streams; all of them in proportion to requests and answers. A flood is
//! out of proportion, and spends what it starts with in a moment.

use http2_wire::frame::{
    CONTINUATION, DATA, END_STREAM, Frame, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS,
};

/// What a connection starts with, and never has more of.
const FULL: i64 = 1000;
/// What comes by itself with each tick of a tenth of a second.
const PER_TICK: i64 = 20;
/// What a request brings.
const PER_REQUEST: i64 = 4;
/// What a piece of an answer brings, however small: there are clients of gRPC that make room for each message anew, on
/// its stream and on the connection, and measure the way with a ping.
const PER_PIECE: i64 = 4;
/// Bytes written that bring one.
const BYTES: u64 = 256;

/// What a peer does that nobody may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offence {
    /// A request that is none. A proxy may pass on one of somebody else's.
    Request,
    /// A frame that makes us throw out a request that was begun: so dear that only a few are begun.
    Frame,
    /// A request that there is no room for.
    Refused,
    /// A request that is given up before anyone has looked at it.
    Reset,
    /// Something on a stream that is closed, where it may have been on its way.
    Late,
}

/// What nobody has a reason to say.
const DEAR: i64 = 50;

#[derive(Debug)]
pub(crate) struct Budget {
    left: i64,
    tick: u32,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(tick: u32) -> Self {
        Self {
            left: FULL,
            tick,
            bytes: 0,
        }
    }

    /// Answers were written.
    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= BYTES {
            self.earn(i64::try_from(self.bytes / BYTES).unwrap_or(FULL));
            self.bytes %= BYTES;
        }
    }

    /// A piece of an answer goes out.
    pub(crate) fn answered(&mut self) {
        self.earn(PER_PIECE);
    }

    /// A request has come.
    pub(crate) fn asked(&mut self) {
        self.earn(PER_REQUEST);
    }

    /// Pays for a frame that came; `false` if there is nothing left to pay with.
    pub(crate) fn pay(&mut self, frame: Frame, tick: u32) -> bool {
        if tick != self.tick {
            self.earn(i64::from(tick.saturating_sub(self.tick)) * PER_TICK);
            self.tick = tick;
        }
        self.left -= cost(frame);
        self.left >= 0
    }

    /// Pays for what nobody may do.
    pub(crate) fn blame(&mut self, offence: Offence) -> bool {
        self.left -= match offence {
            Offence::Request => DEAR,
            Offence::Frame => 200,
            Offence::Refused => 2,
            Offence::Reset => 40,
            Offence::Late => 10,
        };
        self.left >= 0
    }

    fn earn(&mut self, amount: i64) {
        self.left = self.left.saturating_add(amount).min(FULL);
    }
}

fn cost(frame: Frame) -> i64 {
    match frame.kind {
        // Said nothing, and made us listen.
        DATA if frame.length == 0 && frame.flags & END_STREAM == 0 => 10,
        CONTINUATION | HEADERS if frame.length == 0 => DEAR,
        DATA | HEADERS => 0,
        CONTINUATION => 5,
        // A request was begun and thrown away.
        RST_STREAM => 10,
        SETTINGS => 5,
        PING | PRIORITY => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
