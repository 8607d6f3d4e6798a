use super::*;
use http::HeaderValue;

fn read(bytes: &[u8]) -> Result<Option<Answer>, Fault> {
    HeadReader::new(4096).read(&mut BytesMut::from(bytes), Asked::default())
}

fn read_after(method: Method, fields: &[(&'static str, &'static str)], bytes: &str) -> Framing {
    let headers = fields.iter().map(|(name, value)| {
        let name = http::HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    let asked = Asked::by(&method, &headers.collect());
    let mut inbox = BytesMut::from(bytes);
    let answer = HeadReader::new(4096).read(&mut inbox, asked);
    answer.unwrap().unwrap().framing
}

fn framing(fields: &str) -> Result<Framing, Fault> {
    let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
    read(head.as_bytes()).map(|answer| answer.unwrap().framing)
}

fn is_garbage(bytes: &[u8]) {
    let read = read(bytes).map(|answer| answer.map(|answer| answer.headers));
    let shown = String::from_utf8_lossy(bytes).into_owned();
    assert!(
        matches!(read, Err(Fault::Garbage(_))),
        "{shown:?}: {read:?}"
    );
}

// req: GW-01
#[test]
fn a_body_is_as_long_as_the_head_says_and_nothing_else_is_asked() {
    assert_eq!(framing("content-length: 7\r\n"), Ok(Framing::Length(7)));
    assert_eq!(
        framing("transfer-encoding: Chunked\r\n"),
        Ok(Framing::Chunked)
    );
    assert_eq!(framing(""), Ok(Framing::UntilClose));
    for status in ["204 No Content", "304 Not Modified"] {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 5\r\n\r\n");
        assert_eq!(read_after(Method::GET, &[], &head), Framing::Length(0));
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    assert_eq!(read_after(Method::HEAD, &[], head), Framing::Length(0));
    assert_eq!(read_after(Method::CONNECT, &[], head), Framing::Switched);
}

// attack
#[test]
fn an_answer_that_is_framed_in_two_ways_or_in_none_is_refused() {
    let both = [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked, chunked\r\n",
        "transfer-encoding: identity, chunked\r\n",
        "transfer-encoding: ,chunked\r\n",
        "transfer-encoding: gzip\r\n",
        "transfer-encoding: \x0bchunked\r\n",
        "transfer-encoding:\r\n",
    ];
    for fields in both {
        is_garbage(format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes());
    }
    is_garbage(b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
}

// attack
#[test]
fn a_length_is_one_number_in_digits() {
    let lengths = [
        "1\r\ncontent-length: 2",
        "1\r\ncontent-length: 1",
        "1, 1",
        "+1",
        "-1",
        "0x1",
        "",
        "1 1",
        "18446744073709551616",
    ];
    for length in lengths {
        is_garbage(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes());
    }
    let most = framing("content-length: \t18446744073709551615 \r\n");
    assert_eq!(most, Ok(Framing::Length(u64::MAX)));
}

// attack
#[test]
fn a_line_that_is_no_field_is_refused() {
    let lines: [&[u8]; 14] = [
        b"x : 1",
        b"x: 1\r\n folded",
        b"x: 1\r\n\tfolded: 2",
        b"x: 1\ny: 2",
        b"\nx: 1",
        b"x: 1\ry: 2",
        b"x: \0",
        b"x: \x7f",
        b"\xffx: 1",
        b": 1",
        b"no colon",
        b" x: 1",
        b"x\0: 1",
        b"\rx: 1",
    ];
    for line in lines {
        is_garbage(&[b"HTTP/1.1 200 OK\r\n", line, b"\r\n\r\n"].concat());
    }
}

// attack: K-14, A-39
#[test]
fn what_does_not_begin_as_an_answer_is_refused_at_once() {
    for bytes in [
        &b"\x16\x03\x01"[..],
        b"GET / HT",
        b"\r\nHTTP/1.1",
        b"HTTP/2",
    ] {
        is_garbage(bytes);
    }
    let lines = [
        "HTTP/1.2 200 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 099 OK",
        "HTTP/1.1 2000",
        "HTTP/1.1 200OK",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\rK",
        "HTTP/1.1",
    ];
    for line in lines {
        is_garbage(format!("{line}\r\n\r\n").as_bytes());
    }
    for line in ["HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 200 Caf\u{e9} ok"] {
        assert!(
            read(format!("{line}\r\n\r\n").as_bytes())
                .unwrap()
                .is_some()
        );
    }
}

// attack: K-15
#[test]
fn heads_are_bounded_in_bytes_and_lines_interim_ones_included() {
    let long = |bytes: usize| format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "h".repeat(bytes));
    assert!(read(long(4000).as_bytes()).unwrap().is_some());
    let oversized = |bytes: &[u8]| matches!(read(bytes), Err(Fault::Oversized(_)));
    assert!(oversized(long(5000).as_bytes()));
    assert!(oversized(&long(5000).as_bytes()[..4200]));
    let many = |count: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(count));
    assert!(read(many(100).as_bytes()).unwrap().is_some());
    assert!(oversized(many(101).as_bytes()));
    let hint = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let after = |count: usize| format!("{}HTTP/1.1 200 OK\r\n\r\n", hint.repeat(count));
    assert_eq!(read(after(3).as_bytes()).unwrap().unwrap().status, 200);
    assert!(oversized(after(1000).as_bytes()));
}

// req: GW-01
#[test]
fn another_protocol_is_spoken_only_where_it_was_asked_for() {
    let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\n\r\nhello";
    is_garbage(head.as_bytes());
    let asked = [("connection", "upgrade"), ("upgrade", "echo")];
    assert_eq!(read_after(Method::GET, &asked, head), Framing::Switched);
}

#[test]
fn a_connection_is_kept_where_both_the_version_and_the_words_say_so() {
    let keeps = |head: &str| read(head.as_bytes()).unwrap().unwrap().keeps;
    assert!(keeps("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    assert!(!keeps(
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: x, Close\r\n\r\n"
    ));
    assert!(!keeps("HTTP/1.1 200 OK\r\n\r\n"));
    assert!(!keeps("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
    assert!(keeps(
        "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: Keep-Alive\r\n\r\n"
    ));
}
