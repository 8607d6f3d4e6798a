//! The capability section: who asks, until when, as part of which trace.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::Refusal;

const TOKEN: u8 = 1;
const DEADLINE: u8 = 2;
const TRACE: u8 = 3;
/// From here on an item that is not known is passed over; below, it refuses the request.
const OPTIONAL: u8 = 128;

/// What a request brings beside its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// A credential: an API key, a signed token, a passport.
    pub token: Option<Bytes>,
    /// How long the one who asks will wait from now on.
    pub deadline_ms: Option<u32>,
    /// The `traceparent` of W3C.
    pub trace: Option<Bytes>,
}

/// What is wrong with a capability section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMeta {
    /// An item that does not fit, is of a wrong length, or is there twice.
    #[error("the capability section cannot be read")]
    Broken,
    /// An item that must be understood, and is not.
    #[error("an unknown item in the capability section")]
    Unknown,
}

impl From<BadMeta> for Refusal {
    fn from(bad: BadMeta) -> Refusal {
        match bad {
            BadMeta::Broken => Refusal::CapBroken,
            BadMeta::Unknown => Refusal::CapUnknown,
        }
    }
}

impl Meta {
    /// From the section of a frame.
    pub fn decode(mut cap: Bytes) -> Result<Meta, BadMeta> {
        let mut meta = Meta::default();
        while cap.has_remaining() {
            let kind = cap.try_get_u8().map_err(|_| BadMeta::Broken)?;
            let length = usize::from(cap.try_get_u16().map_err(|_| BadMeta::Broken)?);
            if cap.len() < length {
                return Err(BadMeta::Broken);
            }
            meta.take(kind, cap.split_to(length))?;
        }
        Ok(meta)
    }

    /// The section for a frame; sections of more than [`CAP_BYTES_MAX`](crate::limits::CAP_BYTES_MAX) cannot be sent.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        let deadline = self.deadline_ms.map(u32::to_be_bytes);
        let items = [
            (TOKEN, self.token.as_deref()),
            (DEADLINE, deadline.as_ref().map(<[u8; 4]>::as_slice)),
            (TRACE, self.trace.as_deref()),
        ];
        for (kind, value) in items {
            let Some(value) = value else { continue };
            out.put_u8(kind);
            // A longer one makes a section that is refused as a whole, before it is sent.
            out.put_u16(value.len().min(usize::from(u16::MAX)) as u16);
            out.put_slice(value);
        }
        out.freeze()
    }

    fn take(&mut self, kind: u8, value: Bytes) -> Result<(), BadMeta> {
        let again = match kind {
            TOKEN if !value.is_empty() => self.token.replace(value).is_some(),
            DEADLINE => {
                let ms = <[u8; 4]>::try_from(&value[..]).map_err(|_| BadMeta::Broken)?;
                self.deadline_ms.replace(u32::from_be_bytes(ms)).is_some()
            }
            TRACE if is_printable(&value) => self.trace.replace(value).is_some(),
            TOKEN | TRACE => return Err(BadMeta::Broken),
            OPTIONAL.. => false,
            _ => return Err(BadMeta::Unknown),
        };
        match again {
            true => Err(BadMeta::Broken),
            false => Ok(()),
        }
    }
}

/// Something, and nothing that would break a line of a log or a header.
pub(crate) fn is_printable(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| (b' '..=b'~').contains(byte))
}

#[cfg(test)]
mod tests;
