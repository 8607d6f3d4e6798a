use super::{Frame, HEADER, claimed_len, decode, frame_len};
use crate::Hash;
use proptest::prelude::*;

const KEY: [u8; 32] = [3; 32];

fn name(number: u8) -> Hash {
    Hash::of(&[number])
}

proptest! {
    #[test]
    fn what_is_written_is_read(record in proptest::collection::vec(any::<u8>(), 0..300), objects in 0..5_u8) {
        let objects: Vec<Hash> = (0..objects).map(name).collect();
        let frame = Frame::Set { key: name(9), objects, record: &record };
        let bytes = frame.encode(&KEY);
        prop_assert_eq!(claimed_len(&bytes), Some(bytes.len()));
        prop_assert_eq!(decode(&bytes, &KEY), Some(frame));
        prop_assert_eq!(decode(&bytes, &[4; 32]), None, "of another log");
    }

    #[test]
    fn any_flipped_bit_is_noticed(record in proptest::collection::vec(any::<u8>(), 0..40), bit: prop::sample::Index) {
        let frame = Frame::Set { key: name(9), objects: vec![name(1)], record: &record };
        let mut bytes = frame.encode(&KEY);
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(decode(&bytes, &KEY), None);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        claimed_len(&bytes);
        prop_assert_eq!(decode(&bytes, &KEY), None);
    }
}

#[test]
fn a_removal_is_a_header_alone() {
    let frame = Frame::Remove { key: name(1) };
    let bytes = frame.encode(&KEY);
    assert_eq!(bytes.len(), HEADER);
    assert_eq!(decode(&bytes, &KEY), Some(frame));
}

#[test]
fn a_header_cannot_claim_without_bound() {
    let mut bytes = Frame::Remove { key: name(1) }.encode(&KEY);
    bytes[24..28].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(claimed_len(&bytes), None);
    assert_eq!(frame_len(0, 0), HEADER);
    assert_eq!(frame_len(2, 1), HEADER + 64 + 8);
}
