//! Integers and strings, taken off the front of a block.

use super::Broken;
use super::huffman;

/// Octets an integer may have behind its prefix: enough for 32 bits.
const MORE_OCTETS: u32 = 5;
/// A string coded in no more than this is decoded without an allocation.
const SMALL: usize = 160;

/// What is left of a block.
pub(super) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn new(block: &'a [u8]) -> Self {
        Self { rest: block }
    }

    /// The next octet, which is still to come.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next octet; nothing at the end.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// An integer that begins in the last `bits` of an octet that was taken (§5.1).
    #[inline]
    pub(super) fn integer(&mut self, first: u8, bits: u32) -> Result<usize, Broken> {
        let full = (1 << bits) - 1;
        match first & full {
            value if value < full => Ok(usize::from(value)),
            _ => self.continued(full),
        }
    }

    #[cold]
    fn continued(&mut self, full: u8) -> Result<usize, Broken> {
        let mut value = u64::from(full);
        for octet in 0..MORE_OCTETS {
            let next = self.take().ok_or(Broken::Short)?;
            value += u64::from(next & 0x7f) << (7 * octet);
            if next & 0x80 == 0 {
                let value = u32::try_from(value).map_err(|_| Broken::Integer)?;
                return usize::try_from(value).map_err(|_| Broken::Integer);
            }
        }
        Err(Broken::Integer)
    }

    /// What `then` makes of a string (§5.2).
    #[inline]
    pub(super) fn string<T>(&mut self, then: impl FnOnce(&[u8]) -> T) -> Result<T, Broken> {
        let first = self.take().ok_or(Broken::Short)?;
        let length = self.integer(first, 7)?;
        let (string, rest) = self.rest.split_at_checked(length).ok_or(Broken::Short)?;
        self.rest = rest;
        match first & 0x80 {
            0 => Ok(then(string)),
            _ if length <= SMALL => decode(string, &mut [0; huffman::room(SMALL)]).map(then),
            _ => decode(string, &mut vec![0; huffman::room(length)]).map(then),
        }
    }
}

fn decode<'a>(coded: &[u8], room: &'a mut [u8]) -> Result<&'a [u8], Broken> {
    let length = huffman::decode(coded, room).ok_or(Broken::Huffman)?;
    room.get(..length).ok_or(Broken::Huffman)
}

#[cfg(test)]
mod tests;
