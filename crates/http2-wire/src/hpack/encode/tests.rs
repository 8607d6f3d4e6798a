use http::header;
use proptest::prelude::*;

use super::super::{Decoder, Field, coded};
use super::*;

fn decoded(block: &[u8]) -> Vec<(Field, usize)> {
    let mut fields = Vec::new();
    let seen = |field: &Field, size| fields.push((field.clone(), size));
    assert_eq!(Decoder::new().decode(block, seen), Ok(()));
    fields
}

#[test]
fn a_status_is_pointed_at_where_it_is_fixed_and_said_where_not() {
    for code in 100..=999 {
        let mut out = Vec::new();
        status(&mut out, StatusCode::from_u16(code).unwrap());
        let text = code.to_string().into_bytes();
        let fixed = coded::fixed()
            .iter()
            .position(|one| *one == (b":status".to_vec(), text.clone()));
        match fixed {
            Some(at) => assert_eq!(out, [0x81 + at as u8]),
            None => assert_eq!(out, [&[8, 3], &text[..]].concat()),
        }
        assert_eq!(decoded(&out), [(Field::Unfit, 7 + 3 + 32)]);
    }
}

#[test]
fn a_fixed_name_is_one_octet_or_two() {
    let mut out = Vec::new();
    field_bytes(&mut out, &header::ACCEPT_CHARSET, b"");
    field_bytes(&mut out, &header::WWW_AUTHENTICATE, b"x");
    assert_eq!(out, [0x0f, 0, 0, 0x0f, 46, 1, b'x']);
}

#[test]
fn a_sensitive_value_is_never_to_be_remembered() {
    let mut value = HeaderValue::from_static("secret");
    value.set_sensitive(true);
    for name in [header::SET_COOKIE, HeaderName::from_static("x-key")] {
        let mut out = Vec::new();
        field(&mut out, &name, &value);
        assert_eq!(out[0] & 0xf0, 0x10);
        let (Field::Header(_, value), _) = &decoded(&out)[0] else {
            panic!("a header");
        };
        assert!(value.is_sensitive());
    }
}

#[test]
fn a_forgotten_table_is_one_of_no_size() {
    let mut out = Vec::new();
    forget_table(&mut out);
    assert_eq!(out, coded::integer(0x20, 5, 0));
    assert_eq!(decoded(&out), []);
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked_and_nothing_is_remembered(
        fields in prop::collection::vec(("[a-z0-9-]{1,40}|date|server|etag|set-cookie", "([!-~]{1,300})?"), 0..12),
    ) {
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        for (name, value) in &fields {
            let size = name.len() + value.len() + 32;
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            let value = HeaderValue::from_str(value).unwrap();
            field(&mut out, &name, &value);
            expected.push((Field::Header(name, value), size));
        }
        prop_assert_eq!(decoded(&out), expected);
        out.push(0x80 | 62);
        prop_assert!(Decoder::new().decode(&out, |_, _| ()).is_err());
    }

    #[test]
    fn integers_are_packed_by_the_book(value in any::<u32>(), bits in 4_u32..8) {
        for value in [value, value >> 12, value >> 22, value >> 26] {
            let mut out = Vec::new();
            integer(&mut out, 0, bits, value as usize);
            prop_assert_eq!(out, coded::integer(0, bits, value));
        }
    }
}
