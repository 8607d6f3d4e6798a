//! Takes frames out of a buffer as it fills; what is wrong is said as soon as its bytes are there.

use bytes::{Buf, Bytes, BytesMut};

use crate::frame::VERSION;
use crate::limits::{CAP_BYTES_MAX, FRAME_BYTES_MAX, FRAME_BYTES_MIN, HEADER_BYTES};
use crate::{Flags, Frame, Header, Violation, app_proto};

/// The most that is asked for at once: a peer that announces much and sends nothing shall cost nothing.
const WANT_BYTES_MAX: usize = 64 * 1024;
/// Room for many small frames in one read.
const ROOM_BYTES: usize = 16 * 1024;

/// The reading half of the codec. It keeps nothing but its limit: a frame stays in the caller's buffer until it is
/// whole, and then leaves it without being copied.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    frame_bytes_max: u32,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(FRAME_BYTES_MAX)
    }
}

impl Decoder {
    /// For frames of up to `frame_bytes_max`, header included, within what the protocol allows.
    pub fn new(frame_bytes_max: u32) -> Self {
        Self {
            frame_bytes_max: frame_bytes_max.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
        }
    }

    /// The next frame, once all of it is there. After a violation the buffer is as it was, and so is the answer.
    pub fn decode(&self, inbox: &mut BytesMut) -> Result<Option<Frame>, Violation> {
        let Some(head) = inbox.first_chunk::<HEADER_BYTES>() else {
            return self.examine_part(inbox).map(|()| None);
        };
        let lengths = examine(head, HEADER_BYTES, self.frame_bytes_max)?;
        if inbox.len() < lengths.frame {
            return Ok(None);
        }
        let header = header(head);
        let mut payload = inbox.split_to(lengths.frame).freeze();
        payload.advance(HEADER_BYTES);
        // Most frames have none; an empty slice of the buffer would keep it alive for nothing.
        let cap = match lengths.cap {
            0 => Bytes::new(),
            _ => payload.split_to(lengths.cap),
        };
        Ok(Some(Frame {
            header,
            cap,
            payload,
        }))
    }

    /// Makes room to read into, for as much as is known to come and for some more: a buffer is allocated for many
    /// small frames, or for some large ones.
    pub fn make_room(&self, inbox: &mut BytesMut) {
        let want = self.want(inbox);
        if inbox.capacity() - inbox.len() >= want {
            return;
        }
        inbox.reserve(match want > ROOM_BYTES {
            true => 3 * WANT_BYTES_MAX,
            false => ROOM_BYTES,
        });
    }

    /// How much more is known to come of the frame that has begun, as far as that may be made room for.
    pub fn want(&self, inbox: &BytesMut) -> usize {
        let length = match inbox.first_chunk::<4>() {
            Some(length) => u32::from_be_bytes(*length).min(self.frame_bytes_max) as usize,
            None => HEADER_BYTES,
        };
        length
            .saturating_sub(inbox.len())
            .clamp(HEADER_BYTES, WANT_BYTES_MAX)
    }

    fn examine_part(&self, part: &[u8]) -> Result<(), Violation> {
        let mut head = [0; HEADER_BYTES];
        head[..part.len()].copy_from_slice(part);
        examine(&head, part.len(), self.frame_bytes_max).map(|_| ())
    }
}

struct Lengths {
    frame: usize,
    cap: usize,
}

/// Looks at the fields in their order, as far as they are `known`: wherever the bytes were cut, the first fault is the
/// same.
#[inline(always)]
fn examine(
    head: &[u8; HEADER_BYTES],
    known: usize,
    frame_bytes_max: u32,
) -> Result<Lengths, Violation> {
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    if known >= 4 {
        match length {
            _ if (length as usize) < HEADER_BYTES => return Err(Violation::LengthShort),
            _ if length > frame_bytes_max => return Err(Violation::LengthOver),
            _ => (),
        }
    }
    if known >= 6 && u16_at(head, 4) != VERSION {
        return Err(Violation::Version);
    }
    if known >= 8 {
        let flags = Flags::from_bits(u16_at(head, 6));
        if !flags.within(Flags::ALL) {
            return Err(Violation::FlagsReserved);
        }
        if flags.kind().is_none() {
            return Err(Violation::Kind);
        }
    }
    if known >= 12 {
        shape(&header(head))?;
    }
    let cap = usize::from(u16_at(head, 28));
    if known >= 30 && (cap > CAP_BYTES_MAX || HEADER_BYTES + cap > length as usize) {
        return Err(Violation::CapOver);
    }
    Ok(Lengths {
        frame: length as usize,
        cap,
    })
}

/// What can be said of flags, code and opcode space without knowing what came before.
fn shape(header: &Header) -> Result<(), Violation> {
    const STREAM: Flags = Flags::from_bits(Flags::START.bits() | Flags::END.bits());
    let flags = header.flags;
    let control = header.app_proto == app_proto::CONTROL;
    let streamed = flags.and(STREAM) != Flags::default();
    if flags.has(Flags::EVENT) && !control {
        return Err(Violation::EventForeign);
    }
    if control && (streamed || flags.has(Flags::COMP)) {
        return Err(Violation::Shape);
    }
    let goes_on = flags.and(STREAM) == Flags::END;
    if !control && ((flags.has(Flags::START) && header.code == 0) || (goes_on && header.code != 0))
    {
        return Err(Violation::Shape);
    }
    if flags.has(Flags::RESP) && header.opens() && !(200..600).contains(&header.code) {
        return Err(Violation::Status);
    }
    Ok(())
}

#[inline(always)]
fn header(head: &[u8; HEADER_BYTES]) -> Header {
    let (mut tenant, mut corr_id) = ([0; 16], [0; 8]);
    tenant.copy_from_slice(&head[12..28]);
    corr_id.copy_from_slice(&head[30..38]);
    Header {
        flags: Flags::from_bits(u16_at(head, 6)),
        code: u16_at(head, 8),
        app_proto: u16_at(head, 10),
        tenant: u128::from_be_bytes(tenant),
        corr_id: u64::from_be_bytes(corr_id),
    }
}

#[inline(always)]
fn u16_at(head: &[u8; HEADER_BYTES], at: usize) -> u16 {
    u16::from_be_bytes([head[at], head[at + 1]])
}

#[cfg(test)]
mod tests;
