//! The header of a frame, as far as the frame's own lengths do not say it.

use crate::{Flags, app_proto};

/// What stands in front of a frame; `len`, `version` and `cap_len` follow from the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// What kind of frame it is.
    pub flags: Flags,
    /// The opcode of a request, the status of an answer, the number of an event; 0 in the middle of a stream.
    pub code: u16,
    /// Whose opcode it is.
    pub app_proto: u16,
    /// On whose account, as the sender claims; 0 is "as the credential says".
    pub tenant: u128,
    /// Which exchange it belongs to; 0 is the connection as a whole.
    pub corr_id: u64,
}

impl Header {
    /// Whether this frame is the first of its message.
    pub const fn opens(&self) -> bool {
        self.code != 0 || self.app_proto == app_proto::CONTROL
    }

    /// Whether this frame is the last of its message: marked as such, or all of it.
    pub const fn ends(&self) -> bool {
        self.flags.has(Flags::END) || (self.opens() && !self.flags.has(Flags::START))
    }

    /// Whether this frame is one of several, and so under credit.
    pub const fn is_streamed(&self) -> bool {
        !(self.opens() && self.ends())
    }
}
