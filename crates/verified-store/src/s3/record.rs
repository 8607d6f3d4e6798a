//! A record as the body of an object in a bucket.
//!
//! 32 bytes of BLAKE3 over the key and all that follows, then `VSB1`, the number of objects in one byte, three zeros,
//! the objects, the record. The key is part of the check so that one record is not taken for another.

use crate::log::{OBJECTS_MAX, RECORD_MAX};
use crate::{Hash, Record};
use bytes::Bytes;

const CHECK: usize = 32;
const HEADER: usize = CHECK + 8;
const MAGIC: &[u8; 4] = b"VSB1";

/// The body to put for a record; none if it is larger than any store keeps.
pub fn seal_record(key: &Hash, objects: &[Hash], record: &[u8]) -> Option<Vec<u8>> {
    if objects.len() > OBJECTS_MAX || record.len() > RECORD_MAX {
        return None;
    }
    let mut body = vec![0; CHECK];
    body.extend(MAGIC);
    body.extend([u8::try_from(objects.len()).ok()?, 0, 0, 0]);
    objects.iter().for_each(|hash| body.extend(hash.as_bytes()));
    body.extend(record);
    let check = check(key, &body[CHECK..]);
    body[..CHECK].copy_from_slice(check.as_bytes());
    Some(body)
}

/// The record in a body, unless it is damaged or another's.
pub fn open_record(key: &Hash, body: &[u8]) -> Option<Record> {
    let (found, rest) = body.split_at_checked(CHECK)?;
    if found != check(key, rest).as_bytes() || body.get(CHECK..HEADER - 4)? != MAGIC {
        return None;
    }
    let count = usize::from(*body.get(HEADER - 4)?);
    let (objects, record) = body.get(HEADER..)?.split_at_checked(32 * count)?;
    let (objects, _) = objects.as_chunks::<32>();
    Some(Record {
        objects: objects.iter().copied().map(Hash::from_bytes).collect(),
        bytes: Bytes::copy_from_slice(record),
    })
}

fn check(key: &Hash, rest: &[u8]) -> Hash {
    Hash::from_bytes(blake3::keyed_hash(key.as_bytes(), rest).into())
}

#[cfg(test)]
mod tests {
    use super::{open_record, seal_record};
    use crate::Hash;

    #[test]
    fn a_sealed_record_opens_under_its_key_and_undamaged_only() {
        let (key, objects) = (Hash::of(b"key"), [Hash::of(b"1"), Hash::of(b"2")]);
        let body = seal_record(&key, &objects, b"head").expect("small");
        let record = open_record(&key, &body).expect("undamaged");
        assert_eq!(
            (&record.objects[..], &record.bytes[..]),
            (&objects[..], &b"head"[..])
        );
        assert!(open_record(&Hash::of(b"another"), &body).is_none());
        for bit in 0..body.len() * 8 {
            let mut flipped = body.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open_record(&key, &flipped).is_none(), "bit {bit}");
        }
        for len in 0..body.len() {
            assert!(open_record(&key, &body[..len]).is_none(), "{len} bytes");
        }
        assert!(seal_record(&key, &[key; 256], b"").is_none());
    }
}
