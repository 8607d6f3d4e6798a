use proptest::prelude::*;

use super::*;

#[test]
fn known_numbers_have_their_known_bytes() {
    for (bytes, value) in [
        (&[0][..], 0),
        (&[0x7f], 127),
        (&[0xe5, 0x8e, 0x26], 624_485),
        (
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            u64::MAX,
        ),
    ] {
        let mut written = Vec::new();
        put(&mut written, value);
        assert_eq!(written, bytes);
        let mut left = bytes;
        assert_eq!((take(&mut left), left.len()), (Some(value), 0));
    }
}

// attack: L-19
#[test]
fn a_number_beyond_64_bits_is_none() {
    for mut bytes in [
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2][..],
        &[0xff; 11],
        &[0x80; 9],
        &[],
    ] {
        assert_eq!(take(&mut bytes), None);
    }
}

proptest! {
    #[test]
    fn a_number_survives(value: u64, shift in 0..64_u32, after: Vec<u8>) {
        let value = value >> shift;
        let mut bytes = Vec::new();
        put(&mut bytes, value);
        bytes.extend(&after);
        let mut left = &bytes[..];
        prop_assert_eq!(take(&mut left), Some(value));
        prop_assert_eq!(left, &after[..]);
    }
}
