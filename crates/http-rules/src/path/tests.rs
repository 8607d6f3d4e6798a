use super::*;
use proptest::prelude::*;

// req: GW-15
#[test]
fn ordinary_paths_pass() {
    let good = [
        "/",
        "/a/b.c",
        "/a/",
        "//evil",
        "/a//b",
        "/...",
        "/..a",
        "/a..",
        "/.well-known/x",
        "/a%20b",
        "/%e2%82%ac",
        "/projects/a%2Fb",
        "/a;v=1/b",
        "/~u/$x,y=z:@!",
        "/é",
        "/a+b",
        "/%3F%23",
    ];
    for path in good {
        assert_eq!(check(path.as_bytes()), Ok(()), "{path}");
    }
}

// attack: F-01, F-02, L-05
#[test]
fn dot_segments_are_refused_in_any_spelling() {
    let dots = [
        "/..",
        "/.",
        "/../",
        "/a/../b",
        "/a/./b",
        "/a/..",
        "/%2e%2e/",
        "/%2E%2e%2f",
        "/.%2e",
        "/a/%2e",
        "/%2e%2e%2f",
        "/a%2f..%2fb",
        "/a%2F..",
        "/..%2fa",
        "/..;/a",
        "/..;x=1/a",
        "/.;/a",
        "/%2e%2e;a",
        "/..%3b/a",
        "//..",
    ];
    for path in dots {
        assert_eq!(check(path.as_bytes()), Err(BadPath::DotSegment), "{path}");
    }
}

// attack: F-03
#[test]
fn a_path_is_decoded_once() {
    assert_eq!(check(b"/%252e%252e/"), Ok(()));
    assert_eq!(check(b"/%2500"), Ok(()));
}

// attack: F-04, L-05
#[test]
fn backslashes_are_refused() {
    for path in ["/..\\", "/a\\b", "/%5c", "/a%5Cb", "/..%5c.."] {
        assert_eq!(check(path.as_bytes()), Err(BadPath::Backslash), "{path}");
    }
}

// attack: F-05, L-05
#[test]
fn nul_and_other_controls_are_refused() {
    for path in [
        "/%00",
        "/a%00.css",
        "/\0",
        "/%0d%0a",
        "/\r",
        "/%7f",
        "/\u{7f}",
        "/%1F",
        "/a b",
        "/\t",
        "/%09",
    ] {
        assert_eq!(check(path.as_bytes()), Err(BadPath::Control), "{path:?}");
    }
}

// attack: F-06
#[test]
fn overlong_and_broken_utf8_is_refused() {
    let overlong = [
        "/%c0%ae%c0%ae/",
        "/%c0%af",
        "/%c1%9c",
        "/%e0%80%ae",
        "/%e0%9f%bf",
        "/%f0%80%80%ae",
        "/%f8%80%80%80%ae",
        "/%fc%80%80%80%80%ae",
        "/%80",
        "/%bf",
        "/%ff",
        "/%fe",
        "/%e2%82",
        "/%e2",
        "/%e2%82/x",
        "/%ed%a0%80",
        "/%f4%90%80%80",
        "/%f5%80%80%80",
        "/é%80",
    ];
    for path in overlong {
        assert_eq!(check(path.as_bytes()), Err(BadPath::Utf8), "{path}");
    }
    assert_eq!(check(b"/\xc0\xae"), Err(BadPath::Utf8));
    assert_eq!(
        check(b"/\xe2%82\xac"),
        Ok(()),
        "raw and escaped bytes of one character"
    );
}

#[test]
fn broken_escapes_delimiters_and_other_starts_are_refused() {
    for path in [
        "/%", "/%2", "/%zz", "/%2g", "/a%", "/%%32e", "/%u002e", "/%e2%8", "/%+1",
    ] {
        assert_eq!(check(path.as_bytes()), Err(BadPath::Escape), "{path}");
    }
    for path in ["/a#b", "/a?b", "/#"] {
        assert_eq!(check(path.as_bytes()), Err(BadPath::Delimiter), "{path}");
    }
    for path in ["", "a", "*", "%2f", "http://a/"] {
        assert_eq!(check(path.as_bytes()), Err(BadPath::Start), "{path}");
    }
}

#[test]
fn every_refusal_has_its_own_code_and_a_sentence() {
    for (at, bad) in BadPath::ALL.iter().enumerate() {
        assert_eq!(bad.status(), 400);
        assert!(bad.to_string().ends_with('.'));
        assert!(
            BadPath::ALL[..at]
                .iter()
                .all(|other| other.reason() != bad.reason())
        );
    }
}

/// The same law said slowly: decode all, then look at the whole.
fn model(raw: &[u8]) -> bool {
    let Some(decoded) = decode(raw) else {
        return false;
    };
    let raw_fine = raw
        .iter()
        .all(|byte| !matches!(byte, b'#' | b'?' | 0..=0x20 | 0x7f));
    let decoded_fine = !decoded
        .iter()
        .any(|byte| matches!(byte, b'\\' | 0..=0x1f | 0x7f));
    let dots = decoded.split(|byte| *byte == b'/').any(|segment| {
        let name = segment.split(|byte| *byte == b';').next().unwrap();
        name == b"." || name == b".."
    });
    raw.starts_with(b"/") && raw_fine && decoded_fine && !dots && String::from_utf8(decoded).is_ok()
}

fn decode(raw: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut bytes = raw.iter();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let pair = [*bytes.next()?, *bytes.next()?];
                let digits = std::str::from_utf8(&pair).ok()?;
                let plain = pair.iter().all(u8::is_ascii_hexdigit);
                plain.then(|| u8::from_str_radix(digits, 16).ok())??
            }
            _ => *byte,
        });
    }
    Some(decoded)
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"/".to_vec()),
        Just(b".".to_vec()),
        Just(b"..".to_vec()),
        Just(b";".to_vec()),
        Just(b"a".to_vec()),
        any::<u8>().prop_map(|byte| format!("%{byte:02x}").into_bytes()),
        prop_oneof![
            Just("%2e"),
            Just("%2F"),
            Just("%5c"),
            Just("%20"),
            Just("%")
        ]
        .prop_map(|text| text.as_bytes().to_vec()),
        "\\PC".prop_map(String::into_bytes),
        any::<char>().prop_map(|c| {
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).bytes();
            bytes
                .flat_map(|byte| format!("%{byte:02X}").into_bytes())
                .collect()
        }),
        any::<u8>().prop_map(|byte| vec![byte]),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| {
        let mut path = b"/".to_vec();
        path.extend(pieces.concat());
        path
    })
}

// req: GW-13
#[test]
fn all_spellings_of_a_path_have_one_canonical_form() {
    for (form, spellings) in [
        (
            "/admin",
            &["/%61dmin", "/adm%69n", "/%61%64%6D%69%6e"] as &[_],
        ),
        ("/~joe-x_y.z", &["/%7Ejoe%2dx%5Fy%2Ez", "/%7ejoe-x_y.z"]),
        (
            "/caf%C3%A9",
            &["/café", "/caf%c3%a9", "/caf%C3%a9", "/%63afé"],
        ),
        ("/a%2Fb%3B", &["/a%2fb%3B", "/a%2Fb%3b", "/%61%2fb%3b"]),
        ("/v1/%7Bid%7D", &["/v1/{id}", "/v1/%7bid%7d", "/v1/{id%7D"]),
        ("/%22%3C%3E%5B%5D%5E%60%7C", &["/\"<>[]^`|"]),
        ("/%2561%20b", &[]),
        ("/a!$&'()*+,;=:@b//c.d", &[]),
    ] {
        let own = canonical(form);
        assert!(
            matches!(own, Ok(Cow::Borrowed(own)) if own == form),
            "{form}"
        );
        for spelling in spellings {
            assert_eq!(canonical(spelling).as_deref(), Ok(form), "{spelling}");
        }
    }
    assert_ne!(
        canonical("/a%3Bb"),
        canonical("/a;b"),
        "escaped, it is data"
    );
    assert_eq!(canonical("/%4%31%41"), Err(BadPath::Escape));
    assert_eq!(canonical("/%2e%2e"), Err(BadPath::DotSegment));
}

proptest! {
    // req: GW-13
    #[test]
    fn the_canonical_form_means_the_same_and_is_its_own(raw in pieces()) {
        if let Ok(raw) = String::from_utf8(raw) {
            let form = canonical(&raw);
            prop_assert_eq!(form.as_ref().map(|_| ()).map_err(|bad| *bad), check(raw.as_bytes()));
            if let Ok(form) = form {
                prop_assert_eq!(decode(form.as_bytes()), decode(raw.as_bytes()));
                prop_assert!(form.is_ascii());
                let again = canonical(&form);
                prop_assert!(matches!(again, Ok(Cow::Borrowed(_))), "{} of {}", form, raw);
            }
        }
    }

    // req: GW-13
    #[test]
    fn how_escapes_are_written_makes_no_difference(raw in pieces()) {
        let raw = String::from_utf8(raw).unwrap_or_default();
        let small = |text: &str| {
            let mut parts = text.split('%');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| match part.is_char_boundary(2) {
                true => all + "%" + &part[..2].to_lowercase() + &part[2..],
                false => all + "%" + part,
            })
        };
        let small = small(&raw);
        prop_assert_eq!(canonical(&raw), canonical(&small));
    }

    // attack: F-01, F-02, F-04, F-05, F-06
    #[test]
    fn the_scan_agrees_with_decoding_the_whole(raw in pieces()) {
        prop_assert_eq!(check(&raw).is_ok(), model(&raw), "{:?}", String::from_utf8_lossy(&raw));
    }
}

// req: GW-15
#[test]
fn a_query_keeps_all_but_what_is_no_ascii() {
    for (raw, sent) in [
        ("", ""),
        ("a=%c3%A9&b={}|\"^`<>[]/?%", "a=%c3%A9&b={}|\"^`<>[]/?%"),
        ("q=é", "q=%C3%A9"),
        ("é=%c3%a9&\u{10348}", "%C3%A9=%c3%a9&%F0%90%8D%88"),
    ] {
        let query = ascii_query(raw);
        assert_eq!(query, sent);
        let borrowed = matches!(query, Cow::Borrowed(_));
        assert_eq!(borrowed, raw.is_ascii(), "{raw}");
    }
}
