use proptest::prelude::*;

use super::super::coded::{bits, huffman, octets};
use super::*;

fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; room(coded.len())];
    let length = decode(coded, &mut out)?;
    out.truncate(length);
    Some(out)
}

#[test]
fn no_code_is_missing_and_none_begins_another() {
    let share = |bits: &u8| 1_u64 << (LONGEST - usize::from(*bits));
    assert_eq!(BITS.iter().map(share).sum::<u64>(), 1 << LONGEST);
    assert_eq!(bits([256]), "1".repeat(30));
    assert_eq!(bits([usize::from(b'0')]), "00000");
    assert_eq!(bits([usize::from(b'Z')]), "11111101");
    assert_eq!(bits([255]), "11111111111111111111101110");
}

#[test]
fn every_octet_is_decoded_wherever_it_stands() {
    for byte in 0..=u8::MAX {
        for before in 0..20 {
            let mut text = vec![b'a'; before];
            text.extend([byte, b'%', byte]);
            assert_eq!(decoded(&huffman(&text)), Some(text));
        }
    }
}

#[test]
fn what_fills_up_is_the_beginning_of_the_end_mark_and_less_than_an_octet() {
    for text in [&b"0"[..], b"a/", b"www.example.com", b"no-cache", b"XZ;&"] {
        let code = bits(text.iter().map(|byte| usize::from(*byte)));
        let missing = code.len().next_multiple_of(8) - code.len();
        let filled = |filling: String| decoded(&octets(&(code.clone() + &filling)));
        assert_eq!(filled("1".repeat(missing)).as_deref(), Some(text));
        assert_eq!(filled("1".repeat(missing + 8)), None);
        assert_eq!(filled("1".repeat(missing + 32)), None);
        for zero in 0..missing {
            let mut filling = "1".repeat(missing).into_bytes();
            filling[zero] = b'0';
            let spoilt = filled(String::from_utf8(filling).unwrap());
            // Zeros may be the code of something, but never nothing.
            assert!(spoilt.is_none_or(|spoilt| spoilt.len() > text.len()));
        }
    }
    assert_eq!(decoded(b""), Some(Vec::new()));
    assert_eq!(decoded(b"\xff"), None);
}

#[test]
fn the_end_mark_is_nowhere() {
    for before in 0..40 {
        for after in 0..12 {
            let text = |count: usize| std::iter::repeat_n(usize::from(b'a'), count);
            let mut code = bits(text(before).chain([256]).chain(text(after)));
            code.push_str(&"1".repeat(code.len().next_multiple_of(8) - code.len()));
            assert_eq!(decoded(&octets(&code)), None);
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_coded_is_decoded(text in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(decoded(&huffman(&text)), Some(text));
    }

    #[test]
    fn letters_are_decoded(text in "[ -~]{0,300}") {
        prop_assert_eq!(decoded(&huffman(text.as_bytes())), Some(text.into_bytes()));
    }

    #[test]
    fn there_is_one_way_to_code_what_can_be_decoded(coded in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(text) = decoded(&coded) {
            prop_assert_eq!(huffman(&text), coded);
        }
    }
}
