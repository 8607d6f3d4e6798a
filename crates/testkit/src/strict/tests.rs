use super::*;

fn with(fields: &str, body: &str) -> Vec<u8> {
    format!("POST /a?b HTTP/1.1\r\nHost: h\r\n{fields}\r\n{body}").into_bytes()
}

#[test]
fn requests_follow_each_other_without_a_gap() {
    let bytes = [
        with("Content-Length: 3\r\n", "abc"),
        with(
            "transfer-encoding: chunked\r\n",
            "2\r\nde\r\n1\r\nf\r\n0\r\nX-Sum: 1\r\n\r\n",
        ),
        with("", ""),
    ]
    .concat();
    let all = requests(&bytes).unwrap();
    let bodies: Vec<_> = all.iter().map(|request| &*request.body).collect();
    assert_eq!(bodies, [&b"abc"[..], b"def", b""]);
    assert_eq!(all[1].trailers, [("x-sum".to_owned(), "1".to_owned())]);
    assert_eq!((&*all[0].method, &*all[0].target), ("POST", "/a?b"));
    assert_eq!(all[0].one("host"), Some("h"));
}

#[test]
fn what_has_not_all_come_is_unfinished_at_every_byte() {
    let bytes = with("transfer-encoding: chunked\r\n", "2\r\nde\r\n0\r\n\r\n");
    for end in 1..bytes.len() {
        assert_eq!(requests(&bytes[..end]), Err(Doubt::Unfinished), "{end}");
    }
    assert!(requests(&bytes).is_ok());
}

#[test]
fn any_doubt_is_an_error() {
    let chunked = "transfer-encoding: chunked\r\n";
    let doubtful = [
        with("content-length: 1\r\ncontent-length: 1\r\n", "a"),
        with("content-length: 1\r\ntransfer-encoding: chunked\r\n", "a"),
        with("content-length: 01\r\n", "a"),
        with("content-length: +1\r\n", "a"),
        with("content-length: 1, 1\r\n", "a"),
        with("transfer-encoding: gzip, chunked\r\n", ""),
        with(
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
            "",
        ),
        with("host: b\r\n", ""),
        with("x_y: 1\r\n", ""),
        with("x : 1\r\n", ""),
        with(": 1\r\n", ""),
        with("x\r\n", ""),
        with(" x: 1\r\n", ""),
        with("x: 1\r\n 2\r\n", ""),
        with("x: 1\n", ""),
        with("x: a\rb\r\n", ""),
        with("x: a\0b\r\n", ""),
        with(chunked, "1;x=y\r\na\r\n0\r\n\r\n"),
        with(chunked, "0x1\r\na\r\n0\r\n\r\n"),
        with(chunked, "1\na\r\n0\r\n\r\n"),
        with(chunked, "1\r\nab\r\n0\r\n\r\n"),
        with(chunked, "0\r\nHost: b\r\n\r\n"),
        b"GET / HTTP/1.0\r\nhost: h\r\n\r\n".to_vec(),
        b"GET  / HTTP/1.1\r\nhost: h\r\n\r\n".to_vec(),
        b"GET http://h/ HTTP/1.1\r\nhost: h\r\n\r\n".to_vec(),
        b"GET /\x7f HTTP/1.1\r\nhost: h\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\r\nGET / HTTP/1.1\r\nhost: h\r\n\r\n".to_vec(),
    ];
    for bytes in doubtful {
        let read = requests(&bytes);
        assert!(
            matches!(read, Err(Doubt::Ambiguous(_))),
            "{read:?}: {:?}",
            text(&bytes)
        );
    }
}
