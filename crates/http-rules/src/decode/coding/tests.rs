use super::*;
use http::HeaderValue;

fn of(lines: &[&str]) -> Result<Option<Coding>, BadBody> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(
            header::CONTENT_ENCODING,
            HeaderValue::from_str(line).unwrap(),
        );
    }
    Coding::of(&headers)
}

// req: GW-05
#[test]
fn one_known_coding_is_found() {
    assert_eq!(of(&[]), Ok(None));
    assert_eq!(of(&["identity"]), Ok(None));
    assert_eq!(of(&[""]), Ok(None));
    assert_eq!(of(&["GZip"]), Ok(Some(Coding::Gzip)));
    assert_eq!(of(&["x-gzip"]), Ok(Some(Coding::Gzip)));
    assert_eq!(of(&["identity, br"]), Ok(Some(Coding::Brotli)));
    assert_eq!(of(&["zstd"]), Ok(Some(Coding::Zstd)));
}

// req: GW-05
// attack: D-08
#[test]
fn nested_codings_are_refused() {
    for lines in [&["gzip, gzip"][..], &["gzip", "br"], &["zstd,br"]] {
        assert_eq!(of(lines), Err(BadBody::Several));
    }
    assert_eq!(BadBody::Several.status(), 415);
}

// req: GW-05
// attack: D-12
#[test]
fn unknown_codings_are_refused() {
    for odd in [
        "deflate",
        "compress",
        "gzipp",
        "gzip;q=1",
        "*",
        "aes128gcm",
        "dcb",
        "gzip, exi",
    ] {
        assert_eq!(of(&[odd]), Err(BadBody::Unknown), "{odd}");
    }
    assert_eq!(BadBody::Unknown.status(), 415);
}

#[test]
fn a_coding_is_known_by_its_name() {
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        assert_eq!(Coding::named(coding.name().as_bytes()), Some(coding));
    }
}
