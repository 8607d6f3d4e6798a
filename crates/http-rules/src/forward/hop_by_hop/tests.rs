use super::*;

fn stripped(lines: &[(&'static str, &'static str)]) -> Vec<(String, String)> {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_static(value));
    }
    strip_hop_by_hop(&mut headers);
    let mut left: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    left.sort();
    left
}

fn names(lines: &[(&'static str, &'static str)]) -> Vec<String> {
    stripped(lines).into_iter().map(|(name, _)| name).collect()
}

// req: GW-14
#[test]
fn what_is_about_the_connection_ends_here() {
    let left = names(&[
        ("host", "a"),
        ("connection", "keep-alive"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("proxy-authorization", "Basic x"),
        ("proxy-authenticate", "Basic"),
        ("expect", "100-continue"),
        ("upgrade", "websocket"),
        ("http2-settings", "x"),
        ("accept", "*/*"),
    ]);
    assert_eq!(left, ["accept", "host"]);
}

// req: GW-14
#[test]
fn what_connection_names_ends_here_too() {
    let left = names(&[
        ("connection", "close, X-Private"),
        ("connection", " ,x-other ,"),
        ("x-private", "1"),
        ("x-other", "1"),
        ("x-kept", "1"),
    ]);
    assert_eq!(left, ["x-kept"]);
}

// req: GW-14, GW-15
#[test]
fn connection_cannot_take_away_who_asks_or_for_what() {
    let essential = [
        "host",
        "authorization",
        "cookie",
        "content-length",
        "content-type",
        "x-forwarded-for",
        "x-forwarded-proto",
        "forwarded",
        "x-request-id",
        "x-tenant",
        "if-match",
        "range",
        "traceparent",
    ];
    for name in essential {
        let mut headers = HeaderMap::new();
        headers.insert(
            "connection",
            HeaderValue::from_str(&format!("close, {name}")).unwrap(),
        );
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("1"));
        strip_hop_by_hop(&mut headers);
        assert_eq!(headers.len(), 1, "{name}");
        assert!(headers.contains_key(name), "{name}");
    }
}

#[test]
fn of_te_only_trailers_goes_on() {
    let trailers = [("te".to_owned(), "trailers".to_owned())];
    assert_eq!(stripped(&[("te", "gzip, Trailers")]), trailers);
    assert_eq!(
        stripped(&[("te", "trailers"), ("connection", "te")]),
        trailers
    );
    assert_eq!(stripped(&[("te", "gzip;q=1")]), []);
}

// attack: A-01
#[test]
fn a_length_overridden_by_a_coding_is_dropped() {
    assert_eq!(
        names(&[("transfer-encoding", "chunked"), ("content-length", "5")]),
        [""; 0]
    );
    assert_eq!(names(&[("content-length", "5")]), ["content-length"]);
}
