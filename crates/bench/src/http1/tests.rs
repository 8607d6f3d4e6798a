use super::*;

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    5\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nx: y\r\n\r\n";
const EXACT: &[u8] = b"HTTP/1.1 503 No\r\ncontent-length: 3\r\nRetry-After:  2 \r\n\r\nabc";
const POST: &[u8] = b"POST /work?ms=3 HTTP/1.0\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_message_ends_at_the_same_byte_however_it_is_cut() {
    for (kind, message) in [
        (Kind::Response, CHUNKED),
        (Kind::Response, EXACT),
        (Kind::Request, POST),
    ] {
        let two = [message, message].concat();
        for piece in 1..two.len() {
            let mut reader = Reader::new(kind);
            let (mut whole, mut stream) = (0, Vec::new());
            for bytes in two.chunks(piece) {
                stream.extend_from_slice(bytes);
                let taken = reader.take(&stream).unwrap();
                stream.drain(..taken);
                if reader.is_whole() {
                    whole += 1;
                    reader.next();
                    let taken = reader.take(&stream).unwrap();
                    stream.drain(..taken);
                }
            }
            whole += usize::from(reader.is_whole());
            assert_eq!((whole, stream.len()), (2, 0), "pieces of {piece}");
        }
    }
}

#[test]
fn a_head_says_what_is_asked_of_it() {
    let mut reader = Reader::new(Kind::Response);
    assert!(reader.is_untouched());
    reader.take(EXACT).unwrap();
    let head = reader.head();
    assert_eq!(head.status(), Some(503));
    assert_eq!(head.header("retry-after"), Some("2"));
    assert_eq!(head.header("retry"), None);
    assert!(!head.closes());
    let mut reader = Reader::new(Kind::Request);
    reader.take(POST).unwrap();
    assert_eq!(reader.head().target(), Some("/work?ms=3"));
    assert!(reader.head().closes(), "HTTP/1.0 without keep-alive");
}

#[test]
fn an_answer_without_length_ends_with_its_connection_and_one_without_body_at_once() {
    let mut reader = Reader::new(Kind::Response);
    reader.take(b"HTTP/1.1 200 OK\r\n\r\nabc").unwrap();
    assert!(reader.ends_with_connection() && !reader.is_whole());
    let mut reader = Reader::new(Kind::Response);
    reader.take(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    assert!(reader.is_whole());
}

#[test]
fn an_interim_answer_is_passed_over() {
    let mut reader = Reader::new(Kind::Response);
    let stream = [b"HTTP/1.1 100 Continue\r\n\r\n", EXACT].concat();
    assert_eq!(reader.take(&stream), Ok(stream.len()));
    assert_eq!(reader.head().status(), Some(503));
}

#[test]
fn nonsense_is_broken() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
        &[b'a'; HEAD_MAX + 1],
    ] {
        assert_eq!(Reader::new(Kind::Response).take(bytes), Err(Broken));
    }
}
