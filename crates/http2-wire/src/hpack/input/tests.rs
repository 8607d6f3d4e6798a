use proptest::prelude::*;

use super::super::coded;
use super::*;

fn integer(octets: &[u8], bits: u32) -> Result<usize, Broken> {
    let mut input = Input::new(octets);
    let first = input.take().ok_or(Broken::Short)?;
    input.integer(first, bits)
}

#[test]
fn integers_are_those_of_the_examples() {
    assert_eq!(integer(&[0b1110_1010], 5), Ok(10));
    assert_eq!(
        integer(&[0b0001_1111, 0b1001_1010, 0b0000_1010], 5),
        Ok(1337)
    );
    assert_eq!(integer(&[0b0010_1010], 7), Ok(42));
}

#[test]
fn an_integer_has_at_most_32_bits_and_five_octets_more() {
    let most = coded::integer(0, 7, u32::MAX);
    assert_eq!(integer(&most, 7), Ok(u32::MAX as usize));
    let mut more = most.clone();
    more[1] += 1;
    assert_eq!(integer(&more, 7), Err(Broken::Integer));
    assert_eq!(integer(&[0x7f, 0x80, 0x80, 0x80, 0x80, 0], 7), Ok(127));
    assert_eq!(
        integer(&[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0], 7),
        Err(Broken::Integer)
    );
    assert_eq!(integer(&[0xff; 20], 7), Err(Broken::Integer));
}

#[test]
fn an_integer_without_its_end_is_short() {
    assert_eq!(integer(&[], 7), Err(Broken::Short));
    let whole = coded::integer(0, 4, u32::MAX);
    for cut in 0..whole.len() {
        assert_eq!(integer(&whole[..cut], 4), Err(Broken::Short));
    }
}

#[test]
fn a_string_is_never_longer_than_its_block() {
    for kind in [0, 0x80] {
        let mut claimed = coded::integer(kind, 7, u32::MAX);
        claimed.push(b'a');
        let string = Input::new(&claimed).string(<[u8]>::to_vec);
        assert_eq!(string, Err(Broken::Short));
    }
}

proptest! {
    #[test]
    fn whatever_is_coded_is_read_and_the_rest_is_left(value in any::<u32>(), bits in 4_u32..8, rest in any::<u8>()) {
        for value in [value, value >> 8, value >> 16, value >> 24] {
            let mut octets = coded::integer(0, bits, value);
            octets.push(rest);
            let mut input = Input::new(&octets);
            let first = input.take().unwrap();
            prop_assert_eq!(input.integer(first, bits), Ok(value as usize));
            prop_assert_eq!(input.rest, [rest]);
        }
    }

    #[test]
    fn strings_are_read_in_either_way(
        texts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..400), any::<bool>()), 1..4),
    ) {
        let octets: Vec<u8> = texts.iter().flat_map(|(text, coded)| coded::string(text, *coded)).collect();
        let mut input = Input::new(&octets);
        for (text, _) in texts {
            prop_assert_eq!(input.string(<[u8]>::to_vec), Ok(text));
        }
        prop_assert_eq!(input.peek(), None);
    }
}
