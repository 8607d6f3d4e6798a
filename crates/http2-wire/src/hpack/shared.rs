//! Bytes that several may hold, in one allocation where they are few.

use bytes::Bytes;

/// With the count of its holders and its length, this fills 32, 64 and 128 bytes.
const SMALL: usize = 15;
const MIDDLE: usize = 47;
const LARGE: usize = 111;

/// Bytes kept beside the count of their holders; the library would take a second allocation for that.
struct Inline<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

impl<const N: usize> AsRef<[u8]> for Inline<N> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }
}

/// A copy that is cheap to clone, and holds nothing but itself in memory.
pub(super) fn copy(bytes: &[u8]) -> Bytes {
    match bytes.len() {
        0 => Bytes::new(),
        length if length <= SMALL => inline::<SMALL>(bytes),
        length if length <= MIDDLE => inline::<MIDDLE>(bytes),
        length if length <= LARGE => inline::<LARGE>(bytes),
        _ => Bytes::copy_from_slice(bytes),
    }
}

fn inline<const N: usize>(bytes: &[u8]) -> Bytes {
    let mut copy = [0; N];
    match (u8::try_from(bytes.len()), copy.get_mut(..bytes.len())) {
        (Ok(length), Some(start)) => {
            start.copy_from_slice(bytes);
            Bytes::from_owner(Inline {
                bytes: copy,
                length,
            })
        }
        _ => Bytes::copy_from_slice(bytes),
    }
}

#[cfg(test)]
mod tests;
