use super::*;
use http::HeaderValue;

fn written(
    method: Method,
    uri: &str,
    fields: &[(&'static str, &'static str)],
    payload: Payload,
) -> (String, Sending) {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_static(name);
        headers.append(name, HeaderValue::from_static(value));
    }
    let ask = Ask {
        method: &method,
        uri: &uri.parse().unwrap(),
        headers: &headers,
        more: &[],
    };
    let mut out = Vec::new();
    let written = write_head(&mut out, &ask, || "origin:80".to_owned(), payload);
    (String::from_utf8(out).unwrap(), written.sending)
}

// req: GW-01
#[test]
fn a_request_says_its_path_in_the_first_line_and_its_host_once() {
    let (head, _) = written(Method::GET, "/a?b", &[("accept", "*/*")], Payload::Nothing);
    assert_eq!(
        head,
        "GET /a?b HTTP/1.1\r\naccept: */*\r\nhost: origin:80\r\n\r\n"
    );
    let uri = "http://there:1?q";
    let (head, _) = written(Method::GET, uri, &[], Payload::Nothing);
    assert_eq!(head, "GET /?q HTTP/1.1\r\nhost: there:1\r\n\r\n");
    let (head, _) = written(Method::GET, uri, &[("host", "said")], Payload::Nothing);
    assert_eq!(head, "GET /?q HTTP/1.1\r\nhost: said\r\n\r\n");
    let (head, _) = written(Method::OPTIONS, "*", &[("host", "x")], Payload::Nothing);
    assert_eq!(head, "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n");
}

// req: GW-14
#[test]
fn that_trailers_are_taken_is_said_for_this_connection_only() {
    let fields = [("host", "x"), ("te", "trailers")];
    let (head, _) = written(Method::GET, "/", &fields, Payload::Nothing);
    let said = "GET / HTTP/1.1\r\nhost: x\r\nconnection: te\r\nte: trailers\r\n\r\n";
    assert_eq!(head, said);
}

// attack: A-01
#[test]
fn how_a_body_is_framed_is_said_once_and_not_by_its_fields() {
    let lies = [
        ("host", "x"),
        ("content-length", "5"),
        ("transfer-encoding", "gzip"),
    ];
    let post = |fields, payload| written(Method::POST, "/", fields, payload);
    let with = |last: &str| format!("POST / HTTP/1.1\r\nhost: x\r\n{last}\r\n");
    let (head, sending) = post(&lies, Payload::Nothing);
    let nothing = (with("content-length: 0\r\n"), Sending::Length(0));
    assert_eq!((head, sending), nothing);
    let known = post(&lies, Payload::Some(Some(1234)));
    assert_eq!(
        known,
        (with("content-length: 1234\r\n"), Sending::Length(1234))
    );
    let declared = post(&lies, Payload::Some(None));
    assert_eq!(
        declared,
        (with("content-length: 5\r\n"), Sending::Length(5))
    );
    let unknown = post(&lies[..1], Payload::Some(None));
    assert_eq!(
        unknown,
        (with("transfer-encoding: chunked\r\n"), Sending::Chunked)
    );
    // Some servers refuse these where nothing is said; of others nobody expects a word.
    let (head, _) = post(&lies[..1], Payload::Nothing);
    assert_eq!(head, with("content-length: 0\r\n"));
    let (head, _) = written(Method::DELETE, "/", &lies[..1], Payload::Nothing);
    assert_eq!(head, "DELETE / HTTP/1.1\r\nhost: x\r\n\r\n");
}

// attack: A-33
#[test]
fn trailers_that_would_change_the_request_stay_behind() {
    let trailers = [
        ("content-length", "5"),
        ("grpc-status", "0"),
        ("host", "evil"),
        ("transfer-encoding", "x"),
    ];
    let trailers = trailers.map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    let mut out = Vec::new();
    write_trailers(&mut out, &HeaderMap::from_iter(trailers));
    assert_eq!(out, b"0\r\ngrpc-status: 0\r\n\r\n");
}

#[test]
fn a_chunk_says_its_size_in_hexadecimal() {
    for (length, said) in [(1, "1\r\n"), (16, "10\r\n"), (0xbeef, "beef\r\n")] {
        let mut out = Vec::new();
        chunk_head(&mut out, length);
        assert_eq!(out, said.as_bytes());
    }
    let mut out = Vec::new();
    write_decimal(&mut out, u64::MAX);
    assert_eq!(out, u64::MAX.to_string().as_bytes());
}

// req: GW-14
#[test]
fn what_is_said_besides_ends_the_head_as_it_would_have_in_the_map() {
    let mut parts = http::Request::post("/a?b=c")
        .body(())
        .unwrap()
        .into_parts()
        .0;
    parts.headers.insert("host", "h".parse().unwrap());
    parts.headers.insert("accept", "*/*".parse().unwrap());
    let more = [
        (
            http::header::VIA,
            Cow::Owned(HeaderValue::from_static("1.1 us")),
        ),
        (
            HeaderName::from_static("x-request-id"),
            Cow::Owned(HeaderValue::from_static("7")),
        ),
    ];
    let ask = Ask {
        more: &more,
        ..Ask::of(&parts)
    };
    let (mut out, mut whole) = (Vec::new(), Vec::new());
    let none = || unreachable!("the head says whom it is for");
    let written = write_head(&mut out, &ask, none, Payload::Some(None));
    assert_eq!(written.sending, Sending::Chunked);
    let (before, after) = (b"POST /a?b=c HTTP/1.1\r\n", b"\r\n\r\n");
    assert!(out.starts_with(before) && out.ends_with(after));

    parts.headers = ask.fields();
    write_head(&mut whole, &Ask::of(&parts), none, Payload::Some(None));
    let lines = |out: Vec<u8>| {
        let text = String::from_utf8(out).unwrap();
        let mut lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(
        lines(out),
        lines(whole),
        "the same fields, in another order"
    );
}

// req: GW-02
#[test]
fn what_the_fields_say_of_the_connection_is_told_to_who_waits_for_the_answer() {
    let told = |method: Method, fields: &[(&'static str, &'static str)]| {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let ask = Ask {
            method: &method,
            uri: &"/".parse().unwrap(),
            headers: &headers,
            more: &[],
        };
        let written = write_head(&mut Vec::new(), &ask, String::new, Payload::Nothing);
        assert_eq!(written.asked, Asked::by(&method, &headers));
        written.keeps
    };
    assert!(told(Method::GET, &[]));
    assert!(told(
        Method::HEAD,
        &[("connection", "upgrade"), ("upgrade", "websocket")]
    ));
    assert!(told(
        Method::CONNECT,
        &[("connection", "keep-alive, closed")]
    ));
    assert!(!told(Method::GET, &[("connection", "te, Close")]));
    assert!(!told(
        Method::GET,
        &[("connection", "close"), ("connection", "keep-alive")]
    ));
}
