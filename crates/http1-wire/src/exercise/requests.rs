//! The laws of requests against whatever can be made up, and against another parser.

use super::request::{self, hear};
use super::{Meant, lowered, meant, sorted};
use crate::{Payload, RequestReader, Sending, Tell, Terms};
use bytes::BytesMut;
use http::HeaderMap;
use model_kit::corpus::replay;
use proptest::prelude::*;

// req: AC-08
#[test]
fn the_corpus_of_requests_is_read() {
    replay("request", 10, request::exercise);
}

/// The same message as somebody would ask it.
fn asked(meant: &Meant) -> Vec<u8> {
    let bytes = meant.bytes();
    let line = format!("HTTP/1.1 {} Words", meant.status);
    [b"PUT /a?b HTTP/1.1", &bytes[line.len()..]].concat()
}

proptest! {
    // req: GW-01
    // attack: A-49
    #[test]
    fn what_is_asked_is_what_is_heard_one_behind_the_other(
        all in prop::collection::vec(meant(), 1..4),
    ) {
        let bytes: Vec<u8> = all.iter().flat_map(asked).collect();
        let heard = hear([&bytes[..]]);
        prop_assert_eq!(heard.fault, None);
        prop_assert_eq!(heard.requests.len(), all.len());
        let framing = ["content-length", "transfer-encoding"];
        for (seen, meant) in heard.requests.into_iter().zip(&all) {
            prop_assert_eq!((&*seen.method, &*seen.target), ("PUT", "/a?b"));
            prop_assert_eq!(sorted(seen.fields, &framing), lowered(&meant.fields));
            prop_assert_eq!(seen.body, meant.body());
            let trailers = if meant.chunked { lowered(&meant.trailers) } else { Vec::new() };
            prop_assert_eq!(sorted(seen.trailers, &[]), trailers);
        }
    }

    // attack: A-19
    #[test]
    fn requests_cut_anywhere_are_the_same_requests(
        first in meant(),
        spoil in any::<(u16, u8)>(),
    ) {
        let mut bytes = [&asked(&first), &b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"[..]].concat();
        let good = hear([&bytes[..]]);
        for cut in 0..=bytes.len() {
            prop_assert_eq!(&hear([&bytes[..cut], &bytes[cut..]]), &good);
        }
        // And so are those that are spoilt.
        let at = usize::from(spoil.0) % bytes.len();
        bytes[at] = spoil.1;
        prop_assert_eq!(hear(bytes.chunks(1)), hear([&bytes[..]]));
    }

    // req: AC-08
    #[test]
    fn bytes_without_any_meaning_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        request::exercise(&bytes);
    }

    #[test]
    fn a_head_that_is_taken_is_one_that_another_parser_takes_the_same_way(
        meant in meant(),
        spoil in prop::collection::vec(any::<(u16, u8)>(), 0..3),
    ) {
        let mut bytes = asked(&meant);
        for (at, byte) in spoil {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let mut inbox = BytesMut::from(&bytes[..]);
        let read = RequestReader::new(64 * 1024).read(&mut inbox, &mut HeaderMap::new());
        let Ok(Some(request)) = read else {
            return Ok(());
        };
        let mut room = [httparse::EMPTY_HEADER; 128];
        let mut other = httparse::Request::new(&mut room);
        let parsed = other.parse(&bytes);
        prop_assert_eq!(parsed, Ok(httparse::Status::Complete(bytes.len() - inbox.len())));
        prop_assert_eq!(other.method, Some(request.method.as_str()));
        let old = request.version == http::Version::HTTP_10;
        prop_assert_eq!(other.version, Some(u8::from(!old)));
        for field in other.headers {
            let mut same = request.headers.get_all(field.name).iter();
            let dropped = field.name.eq_ignore_ascii_case("content-length");
            prop_assert!(dropped || same.any(|value| value.as_bytes() == field.value));
        }
    }

    // req: GW-01
    #[test]
    fn an_answer_that_was_written_is_the_one_that_is_read(meant in meant(), known in any::<bool>()) {
        let mut headers = HeaderMap::new();
        for (name, value) in &meant.fields {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let status = meant.status.try_into().unwrap();
        let tell = Tell { status, headers: &headers, date: b"today" };
        let terms = Terms { keeps: true, ..Terms::UNREADABLE };
        let length = meant.body().len() as u64;
        let payload = Payload::Some(known.then_some(length));
        let mut out = Vec::new();
        let told = crate::write_answer(&mut out, &tell, &terms, payload);
        let mut inbox = BytesMut::from(&out[..]);
        let read = crate::HeadReader::new(64 * 1024).read(&mut inbox, crate::Asked::default());
        let answer = read.unwrap().unwrap();
        prop_assert!(inbox.is_empty());
        prop_assert_eq!((answer.status, answer.framing), (status, told.framing));
        prop_assert_eq!(answer.keeps, told.keeps);
        let seen = answer.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), value.as_bytes().to_vec())
        });
        let own = ["content-length", "transfer-encoding", "date"];
        prop_assert_eq!(sorted(seen.collect(), &own), lowered(&meant.fields));
    }

    // req: GW-01
    #[test]
    fn a_request_written_here_is_heard_here(length in any::<u32>(), keeps in any::<bool>()) {
        let mut headers = HeaderMap::new();
        if !keeps {
            headers.insert("connection", "close".parse().unwrap());
        }
        let uri = "/a?b=c".parse().unwrap();
        let ask = crate::Ask { method: &http::Method::PUT, uri: &uri, headers: &headers, more: &[] };
        let mut out = Vec::new();
        let payload = Payload::Some(Some(length.into()));
        crate::write_head(&mut out, &ask, || "host".to_owned(), payload);
        let mut inbox = BytesMut::from(&out[..]);
        let read = RequestReader::new(4096).read(&mut inbox, &mut HeaderMap::new());
        let request = read.unwrap().unwrap();
        prop_assert_eq!(request.uri, uri);
        prop_assert_eq!(request.body, Sending::Length(length.into()));
        prop_assert_eq!(request.terms.keeps, keeps);
    }
}
