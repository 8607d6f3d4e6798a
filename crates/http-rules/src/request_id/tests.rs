use super::*;

fn passed(lines: &[&str]) -> Option<String> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(NAME, HeaderValue::from_str(line).unwrap());
    }
    given(&headers).map(|id| id.to_str().unwrap().to_owned())
}

// req: GW-14
#[test]
fn a_harmless_name_is_passed_on() {
    let uuid = "0190f5fe-7c00-7a22-8000-0242ac120002";
    assert_eq!(passed(&[uuid]).as_deref(), Some(uuid));
    let longest = "a".repeat(BYTES_MAX);
    assert_eq!(passed(&[&longest]), Some(longest));
}

// req: GW-14
#[test]
fn names_that_are_long_odd_or_several_are_not() {
    assert_eq!(passed(&[]), None);
    assert_eq!(passed(&[&"a".repeat(BYTES_MAX + 1)]), None);
    assert_eq!(passed(&["a", "b"]), None);
    for odd in ["", "a b", "a\tb"] {
        assert_eq!(passed(&[odd]), None, "{odd:?}");
    }
    let mut headers = HeaderMap::new();
    headers.insert(NAME, HeaderValue::from_bytes(b"a\xff").unwrap());
    assert_eq!(given(&headers), None);
}

// req: GW-14
#[test]
fn a_name_that_is_made_could_be_passed_on() {
    let id = make([1, u64::MAX]);
    assert_eq!(id, "0000000000000001ffffffffffffffff");
    assert!(is_harmless(id.as_bytes()));
}
