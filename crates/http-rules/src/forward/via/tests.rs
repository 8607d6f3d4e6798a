use super::*;

fn node() -> Node {
    Node::new("edge-1").unwrap()
}

fn passed(name: &'static str, value: &str) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(name, HeaderValue::from_str(value).unwrap());
    node().has_passed(&headers)
}

// req: GW-14
// attack: F-23
#[test]
fn what_we_signed_is_known_again() {
    let mut headers = HeaderMap::new();
    assert!(!node().has_passed(&headers));
    node().sign(&mut headers, Version::HTTP_2);
    assert_eq!(headers[header::VIA], "2 edge-1");
    assert!(node().has_passed(&headers));
    let mut headers = HeaderMap::new();
    node().sign_loop(&mut headers);
    assert!(node().has_passed(&headers));
    assert!(!Node::new("edge-2").unwrap().has_passed(&headers));
}

// attack: F-23
#[test]
fn our_name_is_found_among_others() {
    assert!(passed("via", "1.0 fred, HTTP/1.1 EDGE-1 (comment)"));
    assert!(passed("cdn-loop", "foo; a=b, edge-1;x=y"));
    assert!(
        !passed("via", "1.1 edge-10, edge-1"),
        "the first word is a protocol"
    );
    assert!(!passed("cdn-loop", "foo edge-1"));
    assert!(!passed("via", "edge-1"));
}

#[test]
fn a_signature_is_added_to_those_of_others() {
    let mut headers = HeaderMap::new();
    headers.insert(header::VIA, HeaderValue::from_static("1.1 fred"));
    node().sign(&mut headers, Version::HTTP_10);
    node().sign(&mut headers, Version::HTTP_11);
    let lines: Vec<_> = headers.get_all(header::VIA).iter().collect();
    assert_eq!(lines, ["1.1 fred", "1.0 edge-1", "1.1 edge-1"]);
}

#[test]
fn a_name_that_is_no_token_is_refused() {
    for name in ["", "a b", "a,b", "a;b", "a\r\nb", "é"] {
        assert!(Node::new(name).is_none(), "{name:?}");
    }
    assert!(Node::new(&"a".repeat(65)).is_none());
}
