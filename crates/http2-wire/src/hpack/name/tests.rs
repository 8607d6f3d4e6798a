use http::Method;

use super::*;

fn made(name: &[u8], value: &[u8]) -> Option<Field> {
    Name::read(name).with(value, false).ok()
}

#[test]
fn the_four_of_a_request_are_told_from_all_others() {
    assert_eq!(made(b":method", b"GET"), Some(Field::Method(Method::GET)));
    assert_eq!(
        made(b":scheme", b"https"),
        Some(Field::Scheme("https".into()))
    );
    assert_eq!(made(b":authority", b""), Some(Field::Authority("".into())));
    assert_eq!(
        made(b":path", b"/a b\0"),
        Some(Field::Path("/a b\0".into()))
    );
    for name in [":status", ":protocol", ":Method", ":", ""] {
        assert_eq!(made(name.as_bytes(), b"200"), None, "{name}");
    }
}

#[test]
fn a_method_may_be_one_that_nobody_knows_but_not_anything() {
    let own = Method::from_bytes(b"PURGE").unwrap();
    assert_eq!(made(b":method", b"PURGE"), Some(Field::Method(own)));
    for method in [&b""[..], b"GET ", b"G\0T", b"G,T"] {
        assert_eq!(made(b":method", method), None);
    }
}

#[test]
fn a_name_is_a_lower_case_token() {
    for byte in 0..=u8::MAX {
        let fit = byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || b"!#$%&'*+-.^_`|~".contains(&byte);
        // Short names and long ones are not looked at by the same code of the library.
        for before in [0, 1, 30, 80] {
            let mut name = vec![b'x'; before];
            name.push(byte);
            assert_eq!(made(&name, b"1").is_some(), fit, "{byte} behind {before}");
        }
    }
    assert_eq!(made(&vec![b'x'; 1 << 17], b"1"), None);
}

#[test]
fn a_name_that_is_known_is_the_name_that_was_said() {
    for name in [
        "x-request-id",
        "x-tenant",
        "x-forwarded-for",
        "x-forwarded-proto",
        "traceparent",
        "tracestate",
        "priority",
        "sec-ch-ua",
        "sec-ch-ua-mobile",
        "sec-ch-ua-platform",
        "sec-fetch-dest",
        "sec-fetch-mode",
        "sec-fetch-site",
        "sec-fetch-user",
        "te",
        "host",
        "x-other",
    ] {
        let expected = HeaderName::from_bytes(name.as_bytes()).unwrap();
        assert_eq!(Name::read(name.as_bytes()), Name::Header(expected));
        let upper = name.to_ascii_uppercase();
        assert_eq!(Name::read(upper.as_bytes()), Name::Unfit);
    }
}

#[test]
fn a_value_breaks_no_line_and_has_no_blanks_around_it() {
    for good in [&b""[..], b"a", b"a b", b"a\tb", b"\xff\x80"] {
        let value = HeaderValue::from_bytes(good).unwrap();
        let expected = Field::Header(header::HOST, value);
        assert_eq!(made(b"host", good), Some(expected));
    }
    for bad in [
        &b" "[..],
        b"\t",
        b" a",
        b"a ",
        b"\ta",
        b"a\t",
        b"a\rb",
        b"a\nb",
        b"\0",
        b"a\x7f",
    ] {
        assert_eq!(made(b"host", bad), None, "{bad:?}");
    }
}

#[test]
fn an_unfit_value_leaves_a_name_that_is_fit() {
    let name = Name::read(b"x-tenant");
    assert_eq!(name.clone().with(b"\n", false), Err(name));
    assert_eq!(Name::Method.with(b"", false), Err(Name::Method));
    assert_eq!(Name::Unfit.with(b"a", false), Err(Name::Unfit));
}

#[test]
fn what_is_hidden_is_sensitive() {
    for hidden in [false, true] {
        let field = Name::read(b"authorization").with(b"secret", hidden);
        let Ok(Field::Header(_, value)) = field else {
            panic!("a header");
        };
        assert_eq!(value.is_sensitive(), hidden);
    }
}
