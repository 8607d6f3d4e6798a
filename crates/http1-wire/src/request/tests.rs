use super::*;

const MOST: usize = 4096;

fn read(bytes: &[u8]) -> Result<Option<Request>, Unreadable> {
    let mut inbox = BytesMut::from(bytes);
    RequestReader::new(MOST).read(&mut inbox, &mut HeaderMap::new())
}

fn with(lines: &str) -> Result<Request, Unreadable> {
    let head = format!("GET /a?b HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
    read(head.as_bytes()).map(|request| request.expect("a whole head"))
}

#[track_caller]
fn is_malformed(bytes: &[u8]) {
    let read = read(bytes).map(|request| request.map(|request| request.headers));
    let shown = String::from_utf8_lossy(bytes).into_owned();
    assert!(
        matches!(read, Err(Unreadable::Malformed(_))),
        "{shown:?}: {read:?}"
    );
}

// req: GW-01
#[test]
fn a_request_is_what_its_lines_say() {
    let request = with("Content-Type: x\r\nContent-Length: 7\r\nX-Odd:\t 1 \r\n").unwrap();
    assert_eq!(
        (request.method, request.version),
        (Method::GET, Version::HTTP_11)
    );
    assert_eq!(request.uri, "/a?b");
    assert_eq!(request.headers.len(), 4);
    assert_eq!(request.headers["x-odd"], "1");
    assert_eq!(request.body, Sending::Length(7));
    let plain = Terms {
        old: false,
        head: false,
        connect: false,
        trailers: false,
        keeps: true,
    };
    assert_eq!(request.terms, plain);
    let asked = with("expect: 100-Continue\r\nte: gzip, Trailers\r\nupgrade: x\r\n").unwrap();
    assert!(asked.expects && asked.upgrades && asked.terms.trailers);
    let head = read(b"HEAD / HTTP/1.0\r\nupgrade: x\r\n\r\n")
        .unwrap()
        .unwrap();
    assert!(head.terms.head && head.terms.old && !head.upgrades && !head.terms.keeps);
    let tunnel = read(b"CONNECT a:1 HTTP/1.1\r\n\r\n").unwrap().unwrap();
    assert!(tunnel.terms.connect && tunnel.upgrades);
}

// req: GW-01
#[test]
fn a_host_without_a_path_is_asked_about_as_a_whole_by_options_alone() {
    let of = |method: &str, target: &str| {
        let head = format!("{method} {target} HTTP/1.1\r\nhost: a\r\n\r\n");
        let request = read(head.as_bytes()).unwrap().unwrap();
        let host = request.uri.host().map(str::to_owned);
        (request.uri.path().to_owned(), host)
    };
    let a = || Some("a".to_owned());
    assert_eq!(of("OPTIONS", "*"), ("*".into(), None));
    assert_eq!(of("OPTIONS", "http://a"), ("*".into(), a()));
    assert_eq!(of("OPTIONS", "HTTPS://a:80"), ("*".into(), a()));
    for (method, target) in [
        ("OPTIONS", "http://a/"),
        ("OPTIONS", "http://a?"),
        ("OPTIONS", "http://a?http://a"),
        ("GET", "http://a"),
        ("options", "http://a"),
    ] {
        assert_eq!(of(method, target), ("/".into(), a()), "{method} {target}");
    }
}

// attack: A-01, A-02, A-03, A-04, A-05, A-06, A-07, A-08
#[test]
fn a_body_is_delimited_by_the_last_coding_or_refused() {
    for coding in ["chunked", "Chunked", "gzip, chunked", ",\tchunked"] {
        let request = with(&format!("transfer-encoding: {coding}\r\n")).unwrap();
        assert_eq!(request.body, Sending::Chunked, "{coding}");
        assert!(request.terms.keeps, "{coding}");
    }
    for coding in [
        "gzip",
        "chunked, gzip",
        "chunked,",
        "",
        "xchunked",
        "\"chunked\"",
    ] {
        assert!(
            with(&format!("transfer-encoding: {coding}\r\n")).is_err(),
            "{coding}"
        );
    }
    let last = "transfer-encoding: chunked\r\ntransfer-encoding: x\r\n";
    assert!(with(last).is_err());
    for both in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
    ] {
        let request = with(both).unwrap();
        assert_eq!(request.body, Sending::Chunked);
        assert!(!request.terms.keeps, "the connection ends with the doubt");
        assert!(!request.headers.contains_key("content-length"));
    }
    is_malformed(b"GET / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n");
}

// attack: A-09, A-10, A-11, A-12, A-13, A-14, A-15, A-16
#[test]
fn a_length_is_one_number_however_often_it_is_said() {
    let same = with("content-length: 5\r\ncontent-length: 5\r\n").unwrap();
    assert_eq!(same.body, Sending::Length(5));
    assert_eq!(same.headers.get_all("content-length").iter().count(), 1);
    for length in [
        "5\r\ncontent-length: 6",
        "5\r\ncontent-length: 05",
        "05\r\ncontent-length: 5",
        "5, 5",
        "+5",
        "-5",
        "0x5",
        "",
        "5 5",
        "18446744073709551616",
    ] {
        let read = with(&format!("content-length: {length}\r\n"));
        assert!(matches!(read, Err(Unreadable::Malformed(_))), "{length}");
    }
    let most = with("content-length: 18446744073709551615\r\n");
    assert!(matches!(most, Err(Unreadable::HeadTooLarge(_))));
}

// attack: A-17, A-18, A-19, A-20, A-21, A-22, A-23, A-24, A-25
#[test]
fn a_line_that_is_no_field_is_refused() {
    let lines: [&[u8]; 13] = [
        b"x : 1",
        b"x: 1\r\n folded",
        b"x: 1\ny: 2",
        b"\nx: 1",
        b"x: 1\ry: 2",
        b"x: 1\r",
        b"x: \0",
        b"x: \x7f",
        b"\xffx: 1",
        b": 1",
        b"no colon",
        b" x: 1",
        b"\rx: 1",
    ];
    for line in lines {
        is_malformed(&[b"GET / HTTP/1.1\r\n", line, b"\r\n\r\n"].concat());
    }
}

// attack: A-19, A-39
#[test]
fn a_request_line_is_three_words_and_refused_as_soon_as_it_is_not() {
    let lines = [
        "GET /",
        "GET / ",
        "GET",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        " GET / HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET / HTTP/1.2",
        "GET / HTTP/0.9",
        "GET / http/1.1",
        "GET\t/\tHTTP/1.1",
        "GET /\0 HTTP/1.1",
        "GET /frag#/../admin HTTP/1.1",
        "GET /?a#b HTTP/1.1",
        "GET # HTTP/1.1",
        "G(T / HTTP/1.1",
        "HTTP/1.1 200 OK",
    ];
    for line in lines {
        is_malformed(format!("{line}\r\nhost: a\r\n\r\n").as_bytes());
        if line != "GET /\0 HTTP/1.1" {
            is_malformed(format!("{line}\r\n").as_bytes());
        }
    }
    for bytes in [
        &b"\x16\x03\x01"[..],
        b"GET / HTTP/1.1\n",
        b"\nGET",
        b"\rGET",
    ] {
        is_malformed(bytes);
    }
    for bytes in [
        &b""[..],
        b"\r",
        b"\r\n",
        b"G",
        b"GET /",
        b"GET / HTTP/1.1\r\nx",
    ] {
        assert!(matches!(read(bytes), Ok(None)), "{bytes:?}");
    }
    assert!(read(b"\r\n\r\nGET / HTTP/1.1\r\n\r\n").unwrap().is_some());
}

// attack: A-42, A-43, A-44
#[test]
fn a_head_has_an_end_and_one_that_is_all_target_is_told_from_others() {
    let field = |bytes: usize| format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "h".repeat(bytes));
    assert!(read(field(4000).as_bytes()).unwrap().is_some());
    let too_large = |bytes: &[u8]| matches!(read(bytes), Err(Unreadable::HeadTooLarge(_)));
    assert!(too_large(field(5000).as_bytes()));
    assert!(too_large(&field(5000).as_bytes()[..4200]));
    let many = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(count));
    assert!(read(many(100).as_bytes()).unwrap().is_some());
    assert!(too_large(many(101).as_bytes()));
    let target = format!("GET /{} HTTP/1.1\r\n\r\n", "t".repeat(70_000));
    for (most, bytes) in [
        (MOST, target.len()),
        (MOST, MOST + 1),
        (100_000, target.len()),
    ] {
        let mut inbox = BytesMut::from(&target.as_bytes()[..bytes]);
        let read = RequestReader::new(most).read(&mut inbox, &mut HeaderMap::new());
        assert_eq!(
            read.err(),
            Some(Unreadable::TargetTooLong),
            "{most} {bytes}"
        );
    }
    let endless = "\r\n".repeat(MOST);
    assert!(read(endless.as_bytes()).is_err(), "empty lines count too");
}

#[test]
fn a_connection_is_kept_where_both_the_version_and_the_words_say_so() {
    let keeps = |head: &str| read(head.as_bytes()).unwrap().unwrap().terms.keeps;
    assert!(keeps("GET / HTTP/1.1\r\n\r\n"));
    assert!(!keeps("GET / HTTP/1.1\r\nconnection: x, Close\r\n\r\n"));
    assert!(!keeps(
        "GET / HTTP/1.1\r\nconnection: close\r\nconnection: keep-alive\r\n\r\n"
    ));
    assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
    assert!(keeps("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n"));
}

#[test]
fn the_memory_of_a_map_is_used_again_and_nothing_of_what_was_in_it() {
    let mut spare = HeaderMap::with_capacity(64);
    spare.insert("old", HeaderValue::from_static("1"));
    let room = spare.capacity();
    let mut inbox = BytesMut::from(&b"GET / HTTP/1.1\r\nnew: 1\r\n\r\n"[..]);
    let request = RequestReader::new(MOST).read(&mut inbox, &mut spare);
    let headers = request.unwrap().unwrap().headers;
    assert_eq!((headers.len(), headers.capacity()), (1, room));
    assert!(!headers.contains_key("old"));
}
