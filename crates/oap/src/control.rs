//! The frames with which two peers run their connection.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::limits::{REASON_BYTES_MAX, WINDOW_BYTES_MAX};
use crate::meta::is_printable;
use crate::{Flags, Frame, Header, Violation, app_proto};

pub(crate) const HELLO: u16 = 0;
const CREDIT: u16 = 1;
const RESET: u16 = 2;
const GOAWAY: u16 = 3;
const PING: u16 = 4;

/// An event of the control space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// So many more bytes may be sent on this exchange.
    Credit(u32),
    /// This exchange is over, whatever its state.
    Reset(Reset),
    /// The server takes no more requests.
    GoAway(GoAway),
    /// Are you there?
    Ping([u8; 8]),
    /// Yes.
    Pong([u8; 8]),
}

/// Why an exchange was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// As an answer would have had; 499 when the client has lost interest.
    pub status: u16,
    /// Stable, for programs; may be empty.
    pub reason: Bytes,
}

/// Why a server leaves, and what it will still do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoAway {
    /// Requests above this one were not looked at, and can be sent elsewhere.
    pub last_id: u64,
    /// 503 for a server that drains.
    pub status: u16,
    /// Stable, for programs; may be empty.
    pub reason: Bytes,
}

impl Control {
    /// From a frame that is an event.
    pub(crate) fn decode(frame: Frame) -> Result<Control, Violation> {
        let pings = frame.header.code == PING;
        let mut payload = frame.payload;
        let bad = |_| Violation::ControlBad;
        let control = match frame.header.code {
            CREDIT => Control::Credit(payload.try_get_u32().map_err(bad)?),
            RESET => Control::Reset(Reset {
                status: status(payload.try_get_u16().map_err(bad)?)?,
                reason: reason(&mut payload)?,
            }),
            GOAWAY => Control::GoAway(GoAway {
                last_id: payload.try_get_u64().map_err(bad)?,
                status: status(payload.try_get_u16().map_err(bad)?)?,
                reason: reason(&mut payload)?,
            }),
            PING => {
                let word = payload.try_get_u64().map_err(bad)?.to_be_bytes();
                match frame.header.flags.has(Flags::ACK_REQ) {
                    true => Control::Ping(word),
                    false => Control::Pong(word),
                }
            }
            _ => return Err(Violation::ControlUnknown),
        };
        if payload.has_remaining() || (frame.header.flags.has(Flags::ACK_REQ) && !pings) {
            return Err(Violation::ControlBad);
        }
        if matches!(control, Control::Credit(bytes) if bytes == 0 || bytes > WINDOW_BYTES_MAX) {
            return Err(Violation::CreditBad);
        }
        Ok(control)
    }

    /// The frame that says it, about one exchange or, with `corr_id` 0, about the connection.
    pub fn encode(&self, corr_id: u64) -> Frame {
        let mut out = BytesMut::new();
        let (code, flags) = match self {
            Control::Credit(bytes) => {
                out.put_u32(*bytes);
                (CREDIT, Flags::EVENT)
            }
            Control::Reset(reset) => {
                out.put_u16(reset.status);
                out.put_slice(cut(&reset.reason));
                (RESET, Flags::EVENT)
            }
            Control::GoAway(away) => {
                out.put_u64(away.last_id);
                out.put_u16(away.status);
                out.put_slice(cut(&away.reason));
                (GOAWAY, Flags::EVENT)
            }
            Control::Ping(word) => {
                out.put_slice(word);
                (PING, Flags::EVENT | Flags::ACK_REQ)
            }
            Control::Pong(word) => {
                out.put_slice(word);
                (PING, Flags::EVENT)
            }
        };
        let header = Header {
            flags,
            code,
            app_proto: app_proto::CONTROL,
            tenant: 0,
            corr_id,
        };
        Frame {
            header,
            cap: Bytes::new(),
            payload: out.freeze(),
        }
    }

    /// Whether it is about one exchange rather than the connection.
    pub(crate) fn is_of_exchange(&self) -> bool {
        matches!(self, Control::Credit(_) | Control::Reset(_))
    }
}

fn status(code: u16) -> Result<u16, Violation> {
    match code {
        400..600 => Ok(code),
        _ => Err(Violation::ControlBad),
    }
}

fn reason(payload: &mut Bytes) -> Result<Bytes, Violation> {
    let reason = payload.split_to(payload.len());
    match reason.len() <= REASON_BYTES_MAX && (reason.is_empty() || is_printable(&reason)) {
        true => Ok(reason),
        false => Err(Violation::ControlBad),
    }
}

fn cut(reason: &Bytes) -> &[u8] {
    &reason[..reason.len().min(REASON_BYTES_MAX)]
}

#[cfg(test)]
mod tests;
