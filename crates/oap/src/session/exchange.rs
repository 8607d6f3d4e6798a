//! One request and its answer: what may still come, and how much of it.

use bytes::Bytes;

use crate::limits::{CHUNK_BYTES_MAX, WINDOW_BYTES_MAX};
use crate::{Control, Flags, Frame, Header, Violation};

/// Both directions of an exchange, as one side sees them.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) app_proto: u16,
    pub(super) tenant: u128,
    pub(super) sends: Half,
    pub(super) receives: Half,
    /// Given up by the peer while work may still be done for it.
    pub(super) was_reset: bool,
}

/// One direction: a message of one frame or of many.
#[derive(Debug)]
pub(super) struct Half {
    stage: Stage,
    /// Bytes that may still come, or go, before there is more credit.
    credit: u32,
    compressed: bool,
    /// Bytes that were consumed and not yet granted again.
    owed: u32,
    /// The peer asked for credit as soon as may be.
    prompt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Open,
    Ended,
}

impl Half {
    pub(super) fn new(window: u32) -> Self {
        Self {
            stage: Stage::Waiting,
            credit: window,
            compressed: false,
            owed: 0,
            prompt: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compressed
    }

    pub(super) fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    pub(super) fn credit(&self) -> u32 {
        self.credit
    }

    /// Takes the next frame of this message into account, whichever way it goes.
    pub(super) fn pass(&mut self, header: &Header, payload: &Bytes) -> Result<(), Violation> {
        let expected = match header.opens() {
            true => Stage::Waiting,
            false => Stage::Open,
        };
        let compressed = header.flags.has(Flags::COMP);
        if self.stage != expected || (!header.opens() && compressed != self.compressed) {
            return Err(Violation::Sequence);
        }
        if header.is_streamed() {
            self.spend(header, payload)?;
        }
        self.compressed = compressed;
        self.prompt |= header.flags.has(Flags::ACK_REQ);
        self.stage = match header.ends() {
            true => Stage::Ended,
            false => Stage::Open,
        };
        Ok(())
    }

    fn spend(&mut self, header: &Header, payload: &Bytes) -> Result<(), Violation> {
        if payload.len() > CHUNK_BYTES_MAX {
            return Err(Violation::ChunkOver);
        }
        if payload.is_empty() && !header.opens() && !header.ends() {
            return Err(Violation::DataEmpty);
        }
        // At most a chunk, as was just checked.
        let left = self.credit.checked_sub(payload.len() as u32);
        self.credit = left.ok_or(Violation::WindowOver)?;
        Ok(())
    }

    /// The peer takes so many more.
    pub(super) fn grant(&mut self, bytes: u32) -> Result<(), Violation> {
        let credit = self.credit.checked_add(bytes);
        let credit = credit.filter(|credit| *credit <= WINDOW_BYTES_MAX);
        self.credit = credit.ok_or(Violation::CreditBad)?;
        Ok(())
    }

    /// So many were used up here; the frame that says so, once it is worth one.
    pub(super) fn consume(&mut self, bytes: usize, window: u32, id: u64) -> Option<Frame> {
        if !self.is_open() {
            return None;
        }
        // No more can be owed than was received within the window.
        let received = window.saturating_sub(self.credit);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.owed = self.owed.saturating_add(bytes).min(received);
        let is_worth_it = self.owed >= window / 2 || self.prompt;
        if self.owed == 0 || !is_worth_it {
            return None;
        }
        self.prompt = false;
        self.credit += self.owed;
        Some(Control::Credit(std::mem::take(&mut self.owed)).encode(id))
    }
}
