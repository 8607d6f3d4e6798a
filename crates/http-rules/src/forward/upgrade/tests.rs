use super::*;
use http::Request;

fn asked(method: &str, version: Version, lines: &[(&str, &str)]) -> Option<String> {
    let mut request = Request::builder().method(method).version(version).uri("/");
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    requested_upgrade(&parts).map(|value| value.to_str().unwrap().to_owned())
}

// req: GW-01
#[test]
fn a_websocket_is_asked_for_in_full() {
    let full = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
    ];
    assert_eq!(
        asked("GET", Version::HTTP_11, &full).as_deref(),
        Some("websocket")
    );
    let versioned = [("connection", "upgrade"), ("upgrade", "irc/6.9")];
    assert_eq!(
        asked("GET", Version::HTTP_11, &versioned).as_deref(),
        Some("irc/6.9")
    );
}

// req: GW-15
#[test]
fn what_is_asked_by_halves_is_not_asked() {
    let full = [("connection", "upgrade"), ("upgrade", "websocket")];
    assert_eq!(asked("POST", Version::HTTP_11, &full), None);
    assert_eq!(asked("GET", Version::HTTP_10, &full), None);
    assert_eq!(asked("GET", Version::HTTP_2, &full), None);
    assert_eq!(asked("GET", Version::HTTP_11, &full[..1]), None);
    assert_eq!(asked("GET", Version::HTTP_11, &full[1..]), None);
    for extra in [
        ("content-length", "5"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "x"),
    ] {
        let lines = [full[0], full[1], extra];
        assert_eq!(asked("GET", Version::HTTP_11, &lines), None, "{extra:?}");
    }
}

// req: GW-15
#[test]
fn a_tunnel_of_http_is_never_opened() {
    for protocol in [
        "h2c",
        "H2C",
        "h2",
        "h2c-14",
        "H2-16",
        "h3-29",
        "HTTP/2.0",
        "httpx",
        "spdy/3.1",
        "SPDY",
        "TLS/1.2",
        "websocket, h2c",
        "",
        "a b",
        "a/",
        "/b",
    ] {
        let lines = [
            ("connection", "upgrade, http2-settings"),
            ("upgrade", protocol),
        ];
        assert_eq!(asked("GET", Version::HTTP_11, &lines), None, "{protocol:?}");
    }
}

#[test]
fn the_next_server_is_asked_for_just_that() {
    let mut headers = HeaderMap::new();
    request_upgrade(&mut headers, HeaderValue::from_static("websocket"));
    assert_eq!(headers[header::CONNECTION], "upgrade");
    assert_eq!(headers[header::UPGRADE], "websocket");
}

// req: GW-01
#[test]
fn an_answer_agrees_to_what_was_asked_for_and_to_nothing_else() {
    let asked = HeaderValue::from_static("websocket");
    let agrees = |said: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for said in said {
            headers.append(header::UPGRADE, HeaderValue::from_static(said));
        }
        agrees_to_upgrade(&headers, &asked)
    };
    assert!(agrees(&["websocket"]) && agrees(&["WebSocket"]));
    assert!(!agrees(&[]) && !agrees(&["other"]));
    assert!(!agrees(&["websocket", "other"]) && !agrees(&["websocket, other"]));
}
