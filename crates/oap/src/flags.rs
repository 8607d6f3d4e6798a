//! The flags of a frame.

use std::ops::BitOr;

/// A set of flags, as it stands in a header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// Of the one who asks.
    pub const REQ: Flags = Flags(1);
    /// Of the one who answers.
    pub const RESP: Flags = Flags(2);
    /// Neither question nor answer: CREDIT, RESET, GOAWAY, PING.
    pub const EVENT: Flags = Flags(4);
    /// Opens a stream: more frames of this message follow.
    pub const START: Flags = Flags(8);
    /// The last frame of a stream.
    pub const END: Flags = Flags(16);
    /// The peer shall acknowledge soon.
    pub const ACK_REQ: Flags = Flags(32);
    /// The payload is compressed.
    pub const COMP: Flags = Flags(64);
    /// All there are; other bits are reserved.
    pub const ALL: Flags = Flags(127);
    /// Those that every peer knows; ACK_REQ and COMP are agreed on.
    pub const BASE: Flags = Flags(31);

    const KINDS: Flags = Flags(7);

    /// As in a header, known or not.
    pub const fn from_bits(bits: u16) -> Flags {
        Flags(bits)
    }

    /// As in a header.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether none but flags of `other` are set.
    pub const fn within(self, other: Flags) -> bool {
        self.0 & !other.0 == 0
    }

    /// Those in both.
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }

    /// This set with `other` if `wanted`.
    pub const fn with_if(self, wanted: bool, other: Flags) -> Flags {
        match wanted {
            true => Flags(self.0 | other.0),
            false => self,
        }
    }

    /// REQ, RESP or EVENT, if it is just one of them.
    pub(crate) const fn kind(self) -> Option<Flags> {
        match self.and(Self::KINDS) {
            kind if kind.0.is_power_of_two() => Some(kind),
            _ => None,
        }
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 7] = ["REQ", "RESP", "EVENT", "START", "END", "ACK_REQ", "COMP"];
        let known = NAMES.iter().enumerate();
        let mut set: Vec<String> = known
            .filter(|(bit, _)| self.0 >> bit & 1 == 1)
            .map(|(_, name)| (*name).to_owned())
            .collect();
        if !self.within(Self::ALL) {
            set.push(format!("{:#06x}", self.0 & !Self::ALL.0));
        }
        f.write_str(&set.join("|"))
    }
}
