//! The refusals the HTTP/1 parser makes by itself: what they mean, and how ours are written in their place.

use bytes::{BufMut, Bytes, BytesMut};
use http::Response;
use http::header::CONNECTION;

use crate::service::Fault;

/// What a refusal of the parser means; `None` if this is none.
pub(crate) fn fault(answer: &[u8], has_request_line: bool) -> Option<Fault> {
    // No other answer is written while no request is being answered.
    let status = answer
        .strip_prefix(b"HTTP/1.")
        .and_then(|rest| rest.get(2..5))?;
    Some(match status {
        b"414" => Fault::TargetTooLong,
        // A head that was all target never came to its fields.
        b"431" if !has_request_line => Fault::TargetTooLong,
        b"431" => Fault::HeadTooLarge,
        _ => Fault::Malformed,
    })
}

/// The date an answer carries.
pub(crate) fn date(answer: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(answer, b"\r\ndate: ")? + 8;
    let length = memchr::memchr(b'\r', &answer[at..])?;
    Some(&answer[at..at + length])
}

/// A whole answer as it goes over the wire; the last one of its connection.
pub(crate) fn render(answer: &Response<Bytes>, date: Option<&[u8]>) -> Bytes {
    let (status, body) = (answer.status(), answer.body());
    let mut out = BytesMut::with_capacity(512 + body.len());
    out.put(&b"HTTP/1.1 "[..]);
    out.put(status.as_str().as_bytes());
    out.put_u8(b' ');
    out.put(status.canonical_reason().unwrap_or("Refused").as_bytes());
    out.put(&b"\r\n"[..]);
    let mut field = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            out.put(part);
        }
    };
    // What becomes of the connection is said below, once.
    for (name, value) in answer.headers() {
        if name != CONNECTION {
            field(name.as_str(), value.as_bytes());
        }
    }
    field("content-length", body.len().to_string().as_bytes());
    field("connection", b"close");
    if let Some(date) = date {
        field("date", date);
    }
    out.put(&b"\r\n"[..]);
    out.put(&body[..]);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\
        content-length: 0\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";

    // attack
    #[test]
    fn a_head_that_is_all_target_is_a_target_without_end() {
        assert_eq!(fault(ANSWER, true), Some(Fault::HeadTooLarge));
        assert_eq!(fault(ANSWER, false), Some(Fault::TargetTooLong));
        assert_eq!(
            fault(b"HTTP/1.1 400 Bad Request\r\n", false),
            Some(Fault::Malformed)
        );
        assert_eq!(fault(b"HTT", true), None);
    }

    #[test]
    fn a_refusal_is_written_whole_with_the_date_of_the_one_it_replaces() {
        let refusal = Response::builder()
            .status(400)
            .header("content-type", "application/problem+json")
            .header("connection", "close")
            .body(Bytes::from_static(b"{}"))
            .unwrap();
        let written = render(&refusal, date(ANSWER));
        let expected = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n\
            content-length: 2\r\nconnection: close\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n{}";
        assert_eq!(std::str::from_utf8(&written).unwrap(), expected);
    }
}
