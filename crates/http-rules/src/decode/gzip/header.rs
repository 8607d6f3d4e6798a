//! The header of a gzip member, byte by byte, so that it may be split anywhere.

use super::BadBody;
use flate2::Crc;

const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// How far a header has been read. Names and comments are skipped, not kept.
#[derive(Default)]
pub(super) struct Header {
    place: Place,
    flags: u8,
    crc: Crc,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Magic1,
    Magic2,
    Method,
    Flags,
    /// Time, extra flags and system: bytes left.
    Fixed(u8),
    ExtraLength1,
    ExtraLength2(u8),
    Extra(u16),
    Name,
    Comment,
    Crc1,
    Crc2(u8),
    Done,
}

impl Header {
    /// Reads on, and says how many bytes it used and whether the header is complete.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<(usize, bool), BadBody> {
        for (at, byte) in input.iter().enumerate() {
            let expected = self.crc.sum();
            self.crc.update(&[*byte]);
            self.place = self.after(*byte, expected).ok_or(BadBody::Broken)?;
            if self.place == Place::Done {
                return Ok((at + 1, true));
            }
        }
        Ok((input.len(), false))
    }

    pub(super) fn is_unbegun(&self) -> bool {
        self.place == Place::Magic1
    }

    /// Where the byte leads; nothing if it has no business there. `sum` is the checksum of all bytes before.
    fn after(&mut self, byte: u8, sum: u32) -> Option<Place> {
        Some(match (self.place, byte) {
            (Place::Magic1, 0x1f) => Place::Magic2,
            (Place::Magic2, 0x8b) => Place::Method,
            (Place::Method, 8) => Place::Flags,
            (Place::Flags, flags) if flags & RESERVED == 0 => {
                self.flags = flags;
                Place::Fixed(6)
            }
            (Place::Fixed(1), _) => self.extra(),
            (Place::Fixed(left), _) => Place::Fixed(left - 1),
            (Place::ExtraLength1, low) => Place::ExtraLength2(low),
            (Place::ExtraLength2(low), high) => match u16::from_le_bytes([low, high]) {
                0 => self.name(),
                length => Place::Extra(length),
            },
            (Place::Extra(1), _) => self.name(),
            (Place::Extra(left), _) => Place::Extra(left - 1),
            (Place::Name, 0) => self.comment(),
            (Place::Comment, 0) => self.checksum(),
            (Place::Name | Place::Comment, _) => self.place,
            (Place::Crc1, low) if low == sum as u8 => Place::Crc2((sum >> 8) as u8),
            (Place::Crc2(expected), high) if high == expected => Place::Done,
            _ => return None,
        })
    }

    fn extra(&self) -> Place {
        match self.flags & FEXTRA {
            0 => self.name(),
            _ => Place::ExtraLength1,
        }
    }

    fn name(&self) -> Place {
        match self.flags & FNAME {
            0 => self.comment(),
            _ => Place::Name,
        }
    }

    fn comment(&self) -> Place {
        match self.flags & FCOMMENT {
            0 => self.checksum(),
            _ => Place::Comment,
        }
    }

    fn checksum(&self) -> Place {
        match self.flags & FHCRC {
            0 => Place::Done,
            _ => Place::Crc1,
        }
    }
}
