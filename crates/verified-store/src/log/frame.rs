//! One entry of the log: a header, the objects that the record needs, the record itself, zeros up to 8 bytes.
//!
//! | at | |
//! |---|---|
//! | 0 | 16 bytes of BLAKE3 over all that follows, keyed with the log's own key |
//! | 16 | `VSR1` |
//! | 20 | 1 sets a record, 2 removes it |
//! | 21 | number of objects |
//! | 22 | 2 zeros |
//! | 24 | length of the record, little-endian, then 4 zeros |
//! | 32 | the key |
//! | 64 | the objects, 32 bytes each, then the record |
//!
//! The check is keyed so that nobody can smuggle in a frame within the bytes of a record, to be found once the frame
//! around it is damaged.

use crate::Hash;

pub(super) const HEADER: usize = 64;
const CHECK: usize = 16;
const MAGIC: &[u8; 4] = b"VSR1";
const SET: u8 = 1;
const REMOVE: u8 = 2;
/// The most objects that a record may refer to.
pub(crate) const OBJECTS_MAX: usize = 255;
/// Frames start at multiples of this.
pub(super) const ALIGN: usize = 8;
/// What a header may claim at most; the limit on records is the caller's and lower.
pub(crate) const RECORD_MAX: usize = 16 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Set {
        key: Hash,
        objects: Vec<Hash>,
        record: &'a [u8],
    },
    Remove {
        key: Hash,
    },
}

/// The length of the frame of a record.
pub(crate) const fn frame_len(objects: usize, record: usize) -> usize {
    (HEADER + 32 * objects + record).next_multiple_of(ALIGN)
}

impl Frame<'_> {
    pub(super) fn encode(&self, check_key: &[u8; 32]) -> Vec<u8> {
        let (kind, key, objects, record): (_, _, &[Hash], &[u8]) = match self {
            Self::Set {
                key,
                objects,
                record,
            } => (SET, key, objects, record),
            Self::Remove { key } => (REMOVE, key, &[], &[]),
        };
        let mut bytes = Vec::with_capacity(frame_len(objects.len(), record.len()));
        bytes.extend([0; CHECK]);
        bytes.extend(MAGIC);
        let count = u8::try_from(objects.len()).expect("checked before it came here");
        let len = u32::try_from(record.len()).expect("checked before it came here");
        bytes.extend([kind, count, 0, 0]);
        bytes.extend(len.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(key.as_bytes());
        objects
            .iter()
            .for_each(|hash| bytes.extend(hash.as_bytes()));
        bytes.extend(record);
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        let check = check(check_key, &bytes);
        bytes[..CHECK].copy_from_slice(&check);
        bytes
    }
}

/// How long the frame is that starts with this header, if it is one.
pub(super) fn claimed_len(header: &[u8]) -> Option<usize> {
    let header = header.first_chunk::<HEADER>()?;
    let len = u32::from_le_bytes(*header[24..].first_chunk()?) as usize;
    let good = header[16..20] == *MAGIC && len <= RECORD_MAX;
    good.then(|| frame_len(header[21].into(), len))
}

/// The frame that is exactly `bytes`, if they are undamaged.
pub(super) fn decode<'a>(bytes: &'a [u8], check_key: &[u8; 32]) -> Option<Frame<'a>> {
    if claimed_len(bytes)? != bytes.len() || check(check_key, bytes) != bytes[..CHECK] {
        return None;
    }
    let key = hash(&bytes[32..HEADER])?;
    let len = u32::from_le_bytes(*bytes[24..].first_chunk()?) as usize;
    let (objects, rest) = bytes[HEADER..].split_at(32 * usize::from(bytes[21]));
    match bytes[20] {
        SET => Some(Frame::Set {
            key,
            objects: objects.chunks_exact(32).map(hash).collect::<Option<_>>()?,
            record: rest.get(..len)?,
        }),
        REMOVE => Some(Frame::Remove { key }),
        _ => None,
    }
}

fn check(key: &[u8; 32], bytes: &[u8]) -> [u8; CHECK] {
    let whole = blake3::keyed_hash(key, &bytes[CHECK..]);
    *whole.as_bytes().first_chunk().expect("a hash is longer")
}

fn hash(bytes: &[u8]) -> Option<Hash> {
    Some(Hash::from_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests;
