use super::*;

const ALL: Fields = Fields {
    x_forwarded: true,
    forwarded: true,
};

fn applied(peer: &str, hop: Hop, lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_static(value));
    }
    let forwarding = Forwarding::new(peer.parse().unwrap(), true);
    forwarding.apply(&mut headers, "a.example:8443", hop, ALL);
    headers
}

fn one<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    let mut lines = headers.get_all(name).iter();
    let line = lines.next().unwrap().to_str().unwrap();
    assert!(lines.next().is_none(), "{name} has one line");
    line
}

// req: GW-14
// attack: H-09
#[test]
fn claims_of_an_untrusted_hop_are_replaced() {
    let headers = applied(
        "192.0.2.1",
        Hop::Untrusted,
        &[
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-for", "5.6.7.8"),
            ("x-forwarded-host", "evil"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-prefix", "/evil"),
            ("forwarded", "for=1.2.3.4"),
            ("x-real-ip", "1.2.3.4"),
            ("x-original-url", "/admin"),
            ("x-rewrite-url", "/admin"),
            ("true-client-ip", "1.2.3.4"),
        ],
    );
    assert_eq!(one(&headers, "x-forwarded-for"), "192.0.2.1");
    assert_eq!(one(&headers, "x-forwarded-proto"), "https");
    assert_eq!(one(&headers, "x-forwarded-host"), "a.example:8443");
    assert_eq!(
        one(&headers, "forwarded"),
        "for=192.0.2.1;proto=https;host=\"a.example:8443\""
    );
    assert_eq!(headers.len(), 4);
}

// req: GW-14
#[test]
fn the_trail_of_a_trusted_hop_is_continued_in_one_line() {
    let headers = applied(
        "10.0.0.1",
        Hop::Trusted,
        &[
            ("x-forwarded-for", "203.0.113.7"),
            ("x-forwarded-for", "10.0.0.2"),
            ("x-forwarded-host", "www.example"),
            ("x-forwarded-proto", "http"),
            ("forwarded", "for=203.0.113.7"),
        ],
    );
    assert_eq!(
        one(&headers, "x-forwarded-for"),
        "203.0.113.7, 10.0.0.2, 10.0.0.1"
    );
    assert_eq!(one(&headers, "x-forwarded-proto"), "http");
    assert_eq!(one(&headers, "x-forwarded-host"), "www.example");
    let forwarded = one(&headers, "forwarded");
    assert!(
        forwarded.starts_with("for=203.0.113.7, for=10.0.0.1;"),
        "{forwarded}"
    );
}

#[test]
fn what_a_trusted_hop_says_twice_is_said_by_us() {
    let headers = applied(
        "10.0.0.1",
        Hop::Trusted,
        &[
            ("x-forwarded-proto", "http"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "a, b"),
        ],
    );
    assert_eq!(one(&headers, "x-forwarded-proto"), "https");
    assert_eq!(one(&headers, "x-forwarded-host"), "a.example:8443");
}

#[test]
fn an_ipv6_peer_is_quoted_where_it_must_be() {
    let headers = applied("2001:db8::1", Hop::Untrusted, &[]);
    assert_eq!(one(&headers, "x-forwarded-for"), "2001:db8::1");
    assert!(one(&headers, "forwarded").starts_with("for=\"[2001:db8::1]\";proto=https"));
    let longest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    assert_eq!(
        one(&applied(longest, Hop::Untrusted, &[]), "x-forwarded-for"),
        longest
    );
    let mapped = applied("::ffff:192.0.2.1", Hop::Untrusted, &[]);
    assert_eq!(one(&mapped, "x-forwarded-for"), "192.0.2.1");
}

#[test]
fn unwanted_fields_are_not_written_and_claims_go_all_the_same() {
    let mut headers = HeaderMap::new();
    headers.insert("x-forwarded-for", HeaderValue::from_static("1.2.3.4"));
    let none = Fields {
        x_forwarded: false,
        forwarded: false,
    };
    let forwarding = Forwarding::new("192.0.2.1".parse().unwrap(), false);
    forwarding.apply(&mut headers, "a", Hop::Untrusted, none);
    assert!(headers.is_empty());
}

#[test]
fn without_an_authority_none_is_claimed() {
    let mut headers = HeaderMap::new();
    let forwarding = Forwarding::new("192.0.2.1".parse().unwrap(), false);
    forwarding.apply(&mut headers, "", Hop::Untrusted, ALL);
    assert!(!headers.contains_key("x-forwarded-host"));
    assert_eq!(one(&headers, "forwarded"), "for=192.0.2.1;proto=http");
}

#[test]
fn a_trail_with_an_open_quote_is_not_continued() {
    let headers = applied(
        "10.0.0.1",
        Hop::Trusted,
        &[("forwarded", "for=1.2.3.4;host=\"x")],
    );
    assert!(one(&headers, "forwarded").starts_with("for=10.0.0.1;"));
}

// attack: H-09
#[test]
fn no_claim_of_an_untrusted_hop_is_left() {
    for name in CLAIMS {
        assert!(is_claim(&HeaderName::from_static(name)), "{name}");
    }
    for name in [
        "x-forwarded-port",
        "x-forwarded-server",
        "x-forwarded",
        "forwarded",
    ] {
        assert!(is_claim(&HeaderName::from_static(name)), "{name}");
    }
    for name in [
        "cookie",
        "content-type",
        "x-request-id",
        "traceparent",
        "from",
    ] {
        assert!(!is_claim(&HeaderName::from_static(name)), "{name}");
    }
}

// req: GW-14
#[test]
fn a_request_without_claims_is_told_the_same_with_and_without_a_map() {
    for hop in [Hop::Untrusted, Hop::Trusted] {
        let forwarding = Forwarding::new("192.0.2.1".parse().unwrap(), false);
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("a.example"));
        headers.insert("accept", HeaderValue::from_static("*/*"));
        let mut plain = headers.clone();
        assert!(!headers.keys().any(is_claim));
        let fields = Fields {
            x_forwarded: true,
            forwarded: false,
        };
        forwarding.apply(&mut headers, "a.example", hop, fields);
        plain.extend(
            forwarding
                .plain(HeaderValue::from_static("a.example"))
                .map(|(name, value)| (name, value.into_owned())),
        );
        assert_eq!(plain, headers);
    }
}

// req: GW-14
#[test]
fn every_claim_is_known_as_one_and_other_names_are_not() {
    assert!(CLAIMS.is_sorted());
    for claim in CLAIMS
        .iter()
        .chain(&["x-forwarded-for", "x-forwarded-port"])
    {
        assert!(is_claim(&HeaderName::from_static(claim)), "{claim}");
    }
    for other in [
        "accept",
        "x-tenant",
        "x-request-id",
        "cookie",
        "x",
        "x-hosts",
        "te",
    ] {
        assert!(!is_claim(&HeaderName::from_static(other)), "{other}");
    }
}
