//! The laws of messages, the replay of the corpora that try them, and both against whatever can be made up.

mod answer;
mod request;
mod requests;

use model_kit::corpus::replay;
use proptest::prelude::*;

use crate::{Asked, BodyReader, Framing, HeadReader, Payload, Piece, Sending};
use answer::{Seen, read, whole};
use bytes::BytesMut;

// req: AC-08
#[test]
fn the_corpus_of_answers_is_read() {
    replay("answer", 10, answer::exercise);
}

/// An answer as its author meant it.
#[derive(Clone, Debug)]
struct Meant {
    status: u16,
    fields: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    chunked: bool,
    trailers: Vec<(String, String)>,
}

impl Meant {
    fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} Words\r\n", self.status).into_bytes();
        let lines = |bytes: &mut Vec<u8>, fields: &[(String, String)]| {
            for (name, value) in fields {
                bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        };
        lines(&mut bytes, &self.fields);
        if !self.chunked {
            let length = self.body().len();
            bytes.extend_from_slice(format!("Content-Length: {length}\r\n\r\n").as_bytes());
            bytes.extend_from_slice(&self.body());
            return bytes;
        }
        bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        for chunk in self.chunks.iter().filter(|chunk| !chunk.is_empty()) {
            bytes.extend_from_slice(format!("{:X};x=\"y\"\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n");
        lines(&mut bytes, &self.trailers);
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    let field = (
        "[xX]-[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,12}",
        "([!-~]([ -~]{0,20}[!-~])?)?",
    );
    prop::collection::vec(field, 0..8)
}

fn meant() -> impl Strategy<Value = Meant> {
    let chunk = prop::collection::vec(any::<u8>(), 0..40);
    let status = (200u16..600).prop_filter("has a body", |status| ![204, 304].contains(status));
    let chunks = prop::collection::vec(chunk, 0..6);
    (status, fields(), chunks, any::<bool>(), fields()).prop_map(
        |(status, fields, chunks, chunked, trailers)| Meant {
            status,
            fields,
            chunks,
            chunked,
            trailers,
        },
    )
}

fn lowered(fields: &[(String, String)]) -> Vec<(String, Vec<u8>)> {
    let lower =
        |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone().into_bytes());
    let mut fields: Vec<_> = fields.iter().map(lower).collect();
    fields.sort();
    fields
}

fn sorted(mut fields: Vec<(String, Vec<u8>)>, but: &[&str]) -> Vec<(String, Vec<u8>)> {
    fields.retain(|(name, _)| !but.contains(&name.as_str()));
    fields.sort();
    fields
}

proptest! {
    // req: GW-01
    #[test]
    fn what_is_meant_is_what_is_read_and_the_next_answer_is_left_alone(meant in meant()) {
        let mut bytes = meant.bytes();
        bytes.extend_from_slice(b"HTTP/1.1 200");
        let seen = whole(&bytes);
        prop_assert_eq!(seen.fault, None);
        prop_assert!(seen.done);
        prop_assert_eq!(seen.status, Some(meant.status));
        let framing = ["content-length", "transfer-encoding"];
        prop_assert_eq!(sorted(seen.fields, &framing), lowered(&meant.fields));
        prop_assert_eq!(seen.body, meant.body());
        let trailers = if meant.chunked { lowered(&meant.trailers) } else { Vec::new() };
        prop_assert_eq!(sorted(seen.trailers, &[]), trailers);
        prop_assert_eq!(&seen.after[..], &b"HTTP/1.1 200"[..]);
    }

    // attack: G-16
    #[test]
    fn an_answer_cut_anywhere_is_the_same_answer(meant in meant(), spoil in any::<(u16, u8)>()) {
        let mut bytes = meant.bytes();
        let good = whole(&bytes);
        for cut in 0..=bytes.len() {
            prop_assert_eq!(&read([&bytes[..cut], &bytes[cut..]]), &good);
        }
        // And so is one that is spoilt.
        let at = usize::from(spoil.0) % bytes.len();
        bytes[at] = spoil.1;
        prop_assert_eq!(read(bytes.chunks(1)), whole(&bytes));
    }

    // req: AC-08
    #[test]
    fn bytes_without_any_meaning_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        answer::exercise(&bytes);
    }

    #[test]
    fn a_head_that_is_taken_is_one_that_another_parser_takes_the_same_way(
        meant in meant(),
        spoil in prop::collection::vec(any::<(u16, u8)>(), 0..3),
    ) {
        let mut bytes = meant.bytes();
        for (at, byte) in spoil {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let mut inbox = BytesMut::from(&bytes[..]);
        let read = HeadReader::new(64 * 1024).read(&mut inbox, Asked::default());
        let Ok(Some(answer)) = read else {
            return Ok(());
        };
        let mut room = [httparse::EMPTY_HEADER; 128];
        let mut other = httparse::Response::new(&mut room);
        let parsed = other.parse(&bytes);
        prop_assert_eq!(parsed, Ok(httparse::Status::Complete(bytes.len() - inbox.len())));
        prop_assert_eq!(other.code, Some(answer.status.as_u16()));
        prop_assert_eq!(other.headers.len(), answer.headers.len());
        for field in other.headers {
            let mut same = answer.headers.get_all(field.name).iter();
            prop_assert!(same.any(|value| value.as_bytes() == field.value));
        }
    }

    // req: GW-01
    #[test]
    fn a_request_that_was_written_is_the_one_that_is_read(fields in fields(), length in any::<u32>()) {
        let mut headers = http::HeaderMap::new();
        for (name, value) in &fields {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let uri = "/a?b=c".parse().unwrap();
        let ask = crate::Ask { method: &http::Method::PUT, uri: &uri, headers: &headers, more: &[] };
        let mut out = Vec::new();
        let payload = Payload::Some(Some(length.into()));
        let sending = crate::write_head(&mut out, &ask, || "host".to_owned(), payload).sending;
        prop_assert_eq!(sending, Sending::Length(length.into()));
        let mut room = [httparse::EMPTY_HEADER; 128];
        let mut read = httparse::Request::new(&mut room);
        prop_assert_eq!(read.parse(&out), Ok(httparse::Status::Complete(out.len())));
        prop_assert_eq!((read.method, read.path), (Some("PUT"), Some("/a?b=c")));
        let seen = read.headers.iter().map(|field| (field.name.to_owned(), field.value.to_vec()));
        prop_assert_eq!(sorted(seen.collect(), &["host", "content-length"]), lowered(&fields));
    }
}

#[test]
fn a_body_of_unknown_length_ends_with_its_connection() {
    let mut inbox = BytesMut::from(&b"some"[..]);
    let mut body = BodyReader::new(Framing::UntilClose);
    assert_eq!(body.next(&mut inbox), Ok(Some(Piece::Data("some".into()))));
    assert_eq!((body.next(&mut inbox), body.is_done()), (Ok(None), false));
    assert_eq!((body.close(), body.is_done()), (Ok(()), true));
}

#[test]
fn what_was_seen_of_nothing_is_nothing() {
    assert_eq!(whole(b""), Seen::default());
}
