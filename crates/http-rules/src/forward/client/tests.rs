use super::*;

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn seen(hop: &str, trail: Trail, lines: &[&str]) -> String {
    let mut headers = HeaderMap::new();
    let name = match trail {
        Trail::XForwardedFor => "x-forwarded-for",
        Trail::Forwarded => "forwarded",
    };
    for line in lines {
        headers.append(name, HeaderValue::from_str(line).unwrap());
    }
    let trusted = nets(&["10.0.0.0/8", "fd00::/8"]);
    client_address(&headers, hop.parse().unwrap(), &trusted, trail).to_string()
}

fn xff(hop: &str, lines: &[&str]) -> String {
    seen(hop, Trail::XForwardedFor, lines)
}

// req: GW-14
// attack: H-09
#[test]
fn an_untrusted_hop_is_the_client_whatever_it_says() {
    assert_eq!(xff("192.0.2.1", &["10.0.0.1"]), "192.0.2.1");
    assert_eq!(xff("192.0.2.1", &["203.0.113.7, 10.0.0.1"]), "192.0.2.1");
}

// req: GW-14
// attack: H-09
#[test]
fn the_rightmost_untrusted_address_is_the_client() {
    assert_eq!(xff("10.0.0.1", &["203.0.113.7"]), "203.0.113.7");
    assert_eq!(
        xff("10.0.0.1", &["1.2.3.4, 203.0.113.7, 10.9.9.9"]),
        "203.0.113.7"
    );
    assert_eq!(
        xff("10.0.0.1", &["1.2.3.4", "203.0.113.7, 10.9.9.9"]),
        "203.0.113.7"
    );
    assert_eq!(xff("10.0.0.1", &["203.0.113.7", "10.9.9.9"]), "203.0.113.7");
}

#[test]
fn without_a_trail_or_with_trusted_ones_only_the_farthest_known_is_the_client() {
    assert_eq!(xff("10.0.0.1", &[]), "10.0.0.1");
    assert_eq!(xff("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    assert_eq!(xff("10.0.0.1", &[" , "]), "10.0.0.1");
}

// attack: H-09
#[test]
fn an_entry_that_is_no_address_ends_the_walk() {
    assert_eq!(
        xff("10.0.0.1", &["203.0.113.7, unknown, 10.0.0.2"]),
        "10.0.0.2"
    );
    assert_eq!(xff("10.0.0.1", &["203.0.113.7, 999.1.1.1"]), "10.0.0.1");
    assert_eq!(xff("10.0.0.1", &["0x7f000001"]), "10.0.0.1");
}

#[test]
fn ports_brackets_and_mapped_addresses_are_read() {
    assert_eq!(xff("::ffff:10.0.0.1", &["203.0.113.7:4711"]), "203.0.113.7");
    assert_eq!(xff("10.0.0.1", &["[2001:db8::1]:80"]), "2001:db8::1");
    assert_eq!(xff("10.0.0.1", &["2001:db8::1"]), "2001:db8::1");
    assert_eq!(xff("10.0.0.1", &["\"[2001:db8::1]\""]), "2001:db8::1");
    assert_eq!(
        xff("10.0.0.1", &["203.0.113.7, ::ffff:10.0.0.2"]),
        "203.0.113.7"
    );
}

// req: GW-14
#[test]
fn only_the_header_that_was_chosen_is_read() {
    let line = ["for=203.0.113.7;proto=https, For=\"[fd00::1]:47\";by=x"];
    assert_eq!(seen("10.0.0.1", Trail::Forwarded, &line), "203.0.113.7");
    assert_eq!(
        seen("10.0.0.1", Trail::Forwarded, &["proto=https"]),
        "10.0.0.1"
    );
    assert_eq!(
        seen("10.0.0.1", Trail::Forwarded, &["for=_hidden"]),
        "10.0.0.1"
    );
    let mut headers = HeaderMap::new();
    headers.insert("x-forwarded-for", HeaderValue::from_static("1.2.3.4"));
    let hop = "10.0.0.1".parse().unwrap();
    let client = client_address(&headers, hop, &nets(&["10.0.0.0/8"]), Trail::Forwarded);
    assert_eq!(client, hop);
}

#[test]
fn a_trail_without_end_is_not_walked_to_its_end() {
    let long = vec!["10.0.0.9"; 100].join(", ");
    assert_eq!(
        xff("10.0.0.1", &[&format!("203.0.113.7, {long}")]),
        "10.0.0.9"
    );
}

// attack: H-09
#[test]
fn what_stands_in_quotes_is_no_element() {
    let line = ["for=203.0.113.7;host=\"x, for=6.6.6.6;y=\""];
    assert_eq!(seen("10.0.0.1", Trail::Forwarded, &line), "203.0.113.7");
    let escaped = ["for=203.0.113.7;host=\"x\\\", for=6.6.6.6;y=\""];
    assert_eq!(seen("10.0.0.1", Trail::Forwarded, &escaped), "203.0.113.7");
    let semicolon = ["host=\"a;for=6.6.6.6\";for=203.0.113.7"];
    assert_eq!(
        seen("10.0.0.1", Trail::Forwarded, &semicolon),
        "203.0.113.7"
    );
    let open = ["for=203.0.113.7;host=\"x, for=6.6.6.6"];
    assert_eq!(seen("10.0.0.1", Trail::Forwarded, &open), "10.0.0.1");
}

// req: GW-14
#[test]
fn the_scheme_is_that_of_the_element_at_which_the_client_is_found() {
    let proto = |lines: &[&str]| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("forwarded", HeaderValue::from_str(line).unwrap());
        }
        client_proto(&headers, &nets(&["10.0.0.0/8"]))
    };
    let made_up = "for=6.6.6.6;proto=http, for=203.0.113.7;proto=https";
    assert_eq!(proto(&[made_up, "for=10.0.0.2;proto=http"]), Some("https"));
    assert_eq!(proto(&["for=_hidden; Proto=\"HTTPS\""]), Some("https"));
    assert_eq!(proto(&["proto=https, for=203.0.113.7"]), None);
    for odd in ["for=203.0.113.7;proto=gopher", "proto=\"https", ""] {
        assert_eq!(proto(&[odd]), None, "{odd}");
    }
}

// req: GW-14
// attack: H-09
#[test]
fn the_host_is_what_the_last_trusted_proxy_says_and_one_that_may_be() {
    let host = |line: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert("forwarded", HeaderValue::from_static(line));
        client_host(&headers, &nets(&["10.0.0.0/8"])).map(str::to_owned)
    };
    let made_up =
        "for=6.6.6.6;host=evil, for=203.0.113.7;Host=\"a.test:8443\", for=10.0.0.2;host=b.test";
    assert_eq!(host(made_up).as_deref(), Some("a.test:8443"));
    assert_eq!(host("for=_x;host=a.test").as_deref(), Some("a.test"));
    for odd in [
        "host=evil, for=203.0.113.7",
        "for=203.0.113.7;host=\"a.test, b.test\"",
        "for=203.0.113.7;host=\"a b/../\"",
        "for=203.0.113.7;host=",
        "for=203.0.113.7;host=\"a.test",
    ] {
        assert_eq!(host(odd), None, "{odd}");
    }
}

// req: GW-14
// attack: H-09
#[test]
fn what_only_one_header_says_is_read_there_and_of_both_the_older_one_is() {
    let mut headers = HeaderMap::new();
    headers.insert("forwarded", HeaderValue::from_static("for=203.0.113.7"));
    assert_eq!(Trail::of(&headers), Trail::Forwarded);
    headers.insert("x-forwarded-for", HeaderValue::from_static("1.2.3.4"));
    assert_eq!(Trail::of(&headers), Trail::XForwardedFor);
}
