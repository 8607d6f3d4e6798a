//! One frame, and how it is written.

use bytes::{BufMut, Bytes, BytesMut};

use crate::limits::{CAP_BYTES_MAX, FRAME_BYTES_MAX, HEADER_BYTES};
use crate::{Flags, Header, Problem, Violation, app_proto};

/// The version that is spoken here.
pub(crate) const VERSION: u16 = 1;

/// A header, a capability section and a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub header: Header,
    /// Credentials and deadline of a request; see [`Meta`](crate::Meta).
    pub cap: Bytes,
    /// What it says.
    pub payload: Bytes,
}

impl Frame {
    /// A whole answer to a request.
    pub fn answer(request: &Header, status: u16, payload: Bytes) -> Frame {
        let header = Header {
            flags: Flags::RESP,
            code: status,
            ..*request
        };
        Frame {
            header,
            cap: Bytes::new(),
            payload,
        }
    }

    /// The last frame of a connection whose peer broke a rule.
    pub fn farewell(violation: Violation) -> Frame {
        let header = Header {
            flags: Flags::RESP,
            code: violation.status(),
            app_proto: app_proto::CONTROL,
            tenant: 0,
            corr_id: 0,
        };
        let problem = Problem::new(violation.reason()).detailed(violation.to_string());
        Frame {
            header,
            cap: Bytes::new(),
            payload: problem.to_payload(),
        }
    }

    /// Bytes on the wire.
    pub fn wire_len(&self) -> usize {
        HEADER_BYTES + self.cap.len() + self.payload.len()
    }

    /// Writes all of it; nothing when it is larger than a frame can be.
    pub fn encode(&self, out: &mut BytesMut) -> Result<(), Violation> {
        let length = self.fitting_len()?;
        out.reserve(self.wire_len());
        self.put_head(length, out);
        out.put_slice(&self.payload);
        Ok(())
    }

    /// Writes what stands before the payload and gives the payload back, to be sent from where it is.
    pub fn encode_head(self, out: &mut BytesMut) -> Result<Bytes, Violation> {
        let length = self.fitting_len()?;
        out.reserve(HEADER_BYTES + self.cap.len());
        self.put_head(length, out);
        Ok(self.payload)
    }

    fn fitting_len(&self) -> Result<u32, Violation> {
        if self.cap.len() > CAP_BYTES_MAX {
            return Err(Violation::CapOver);
        }
        u32::try_from(self.wire_len())
            .ok()
            .filter(|length| *length <= FRAME_BYTES_MAX)
            .ok_or(Violation::LengthOver)
    }

    fn put_head(&self, length: u32, out: &mut BytesMut) {
        let header = &self.header;
        let mut head = [0; HEADER_BYTES];
        head[0..4].copy_from_slice(&length.to_be_bytes());
        head[4..6].copy_from_slice(&VERSION.to_be_bytes());
        head[6..8].copy_from_slice(&header.flags.bits().to_be_bytes());
        head[8..10].copy_from_slice(&header.code.to_be_bytes());
        head[10..12].copy_from_slice(&header.app_proto.to_be_bytes());
        head[12..28].copy_from_slice(&header.tenant.to_be_bytes());
        // At most CAP_BYTES_MAX, as was checked.
        head[28..30].copy_from_slice(&(self.cap.len() as u16).to_be_bytes());
        head[30..38].copy_from_slice(&header.corr_id.to_be_bytes());
        out.put_slice(&head);
        out.put_slice(&self.cap);
    }
}

#[cfg(test)]
mod tests;
