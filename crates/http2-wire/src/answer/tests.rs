//! An answer is unpacked as it was told, without what is about a connection of HTTP/1, in frames that all peers take.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, SET_COOKIE, VARY};
use proptest::prelude::*;

use super::*;
use crate::frame::DATA;
use crate::hpack::{Decoder, Field};

const DAY: &[u8] = b"Sun, 06 Nov 1994 08:49:37 GMT";

fn map(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        map.append(*name, value.parse().unwrap());
    }
    map
}

fn tell(headers: &HeaderMap) -> Tell<'_> {
    Tell {
        status: StatusCode::OK,
        headers,
        date: b"",
        length: None,
    }
}

/// The frames in these bytes: kind, flags, stream, what they carry.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let frame = Frame::read(bytes).unwrap();
        let (payload, behind) = bytes[Frame::HEAD..].split_at(frame.length as usize);
        frames.push((frame.kind, frame.flags, frame.stream, payload.to_vec()));
        bytes = behind;
    }
    frames
}

/// What the only frame in these bytes carries.
fn block(bytes: &[u8]) -> Vec<u8> {
    let mut frames = frames(bytes);
    assert_eq!(frames.len(), 1);
    frames.remove(0).3
}

/// All fields; a pseudo field is `None`.
fn unpacked(block: &[u8]) -> Vec<Option<(HeaderName, HeaderValue)>> {
    let mut fields = Vec::new();
    let seen = |field: &Field, _| {
        fields.push(match field {
            Field::Header(name, value) => Some((name.clone(), value.clone())),
            Field::Unfit => None,
            other => panic!("{other:?} is none of an answer's"),
        });
    };
    Decoder::new().decode(block, seen).unwrap();
    fields
}

/// The fields behind the status, which is the first and the only one of its kind.
fn fields(block: &[u8]) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = unpacked(block).into_iter();
    assert_eq!(fields.next(), Some(None));
    fields
        .map(|field| field.expect("a second status"))
        .collect()
}

fn answered(tell: &Tell<'_>) -> Vec<(HeaderName, HeaderValue)> {
    let mut out = Vec::new();
    write_answer(&mut out, 1, tell, false, false);
    fields(&block(&out))
}

fn names(fields: &[(HeaderName, HeaderValue)]) -> Vec<&str> {
    fields.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn the_status_comes_first_and_is_the_one_that_was_told() {
    let headers = map(&[("etag", "\"a\"")]);
    for code in 100..=999 {
        let status = StatusCode::from_u16(code).unwrap();
        let mut out = Vec::new();
        write_answer(
            &mut out,
            1,
            &Tell {
                status,
                ..tell(&headers)
            },
            false,
            false,
        );
        let mut expected = Vec::new();
        hpack::status(&mut expected, status);
        let block = block(&out);
        assert_eq!(block[..expected.len()], expected);
        assert_eq!(names(&fields(&block)), ["etag"]);
    }
}

#[test]
fn an_answer_is_one_frame_on_its_stream_that_ends_it_where_nothing_follows() {
    let headers = map(&[]);
    for (ends, flags) in [(false, END_HEADERS), (true, END_HEADERS | END_STREAM)] {
        let mut out = Vec::new();
        write_answer(&mut out, 0x7fff_fffd, &tell(&headers), ends, false);
        assert_eq!(
            frames(&out),
            [(HEADERS, flags, 0x7fff_fffd, vec![0x88])],
            "{ends}"
        );
    }
}

// req: GW-14
#[test]
fn what_is_about_a_connection_is_left_out() {
    let headers = map(&[
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("te", "trailers"),
        ("trailer", "x-sum"),
        ("vary", "*"),
    ]);
    assert_eq!(names(&answered(&tell(&headers))), ["trailer", "vary"]);
    let mut out = Vec::new();
    write_trailers(&mut out, 1, &headers);
    let left: Vec<_> = unpacked(&block(&out)).into_iter().flatten().collect();
    assert_eq!(names(&left), ["trailer", "vary"]);
}

// req: GW-14
#[test]
fn what_connection_names_is_left_out_in_whatever_manner_it_is_named() {
    let headers = map(&[
        ("connection", "X-One,\tx-two , ,etag"),
        ("connection", "X-THREE"),
        ("x-one", "1"),
        ("x-one", "again"),
        ("x-two", "2"),
        ("x-three", "3"),
        ("x-on", "4"),
        ("x-one-two", "5"),
        ("etag", "\"a\""),
        ("vary", "*"),
    ]);
    let told = answered(&tell(&headers));
    assert_eq!(names(&told), ["x-on", "x-one-two", "vary"]);
}

#[test]
fn a_connection_field_that_is_no_text_names_nobody_and_is_left_out() {
    let mut headers = map(&[("x-one", "1"), ("x-two", "2"), ("connection", "x-two")]);
    headers.append(CONNECTION, HeaderValue::from_bytes(b"x-one, \xff").unwrap());
    assert_eq!(names(&answered(&tell(&headers))), ["x-one"]);
}

#[test]
fn the_date_is_said_once_and_the_answers_own_counts() {
    let own = map(&[("date", "yesterday")]);
    let told = answered(&Tell {
        date: DAY,
        ..tell(&own)
    });
    assert_eq!(told, [(DATE, HeaderValue::from_static("yesterday"))]);
    let none = map(&[]);
    let told = answered(&Tell {
        date: DAY,
        ..tell(&none)
    });
    assert_eq!(told, [(DATE, HeaderValue::from_bytes(DAY).unwrap())]);
    assert_eq!(answered(&tell(&none)), [], "where nobody knows it");
}

#[test]
fn the_length_is_said_once_and_the_answers_own_counts() {
    let own = map(&[("content-length", "12")]);
    let length = Some(7);
    let told = answered(&Tell {
        length,
        ..tell(&own)
    });
    assert_eq!(told, [(CONTENT_LENGTH, HeaderValue::from_static("12"))]);
    let none = map(&[]);
    assert_eq!(answered(&tell(&none)), [], "where nobody knows it");
    for length in [0, 7, 10, 99, 100, 1_234_567_890, u64::MAX] {
        let told = answered(&Tell {
            length: Some(length),
            ..tell(&none)
        });
        assert_eq!(told, [(CONTENT_LENGTH, length.into())]);
    }
}

#[test]
fn what_is_secret_stays_secret_on_the_way() {
    let mut headers = map(&[("vary", "*")]);
    let mut secret = HeaderValue::from_static("id=1");
    secret.set_sensitive(true);
    headers.insert(SET_COOKIE, secret);
    for (name, value) in answered(&tell(&headers)) {
        assert_eq!(value.is_sensitive(), name == SET_COOKIE);
    }
}

#[test]
fn a_table_is_forgotten_at_the_beginning_of_a_block_and_only_where_it_is_to_be() {
    let headers = map(&[("vary", "*")]);
    let (mut out, mut plain) = (Vec::new(), Vec::new());
    write_answer(&mut out, 1, &tell(&headers), false, true);
    write_answer(&mut plain, 1, &tell(&headers), false, false);
    assert_eq!(block(&out), [&[0x20], &block(&plain)[..]].concat());
    assert_eq!(fields(&block(&out)), fields(&block(&plain)));
}

#[test]
fn to_go_on_is_a_status_and_no_end() {
    for (forgets, expected) in [(false, &b"\x08\x03100"[..]), (true, b"\x20\x08\x03100")] {
        let mut out = Vec::new();
        write_continue(&mut out, 3, forgets);
        assert_eq!(frames(&out), [(HEADERS, END_HEADERS, 3, expected.to_vec())]);
    }
}

#[test]
fn trailers_end_their_stream_and_have_no_status() {
    let trailers = map(&[("grpc-status", "0"), ("x-sum", "1"), ("x-sum", "2")]);
    let mut out = Vec::new();
    write_trailers(&mut out, 5, &trailers);
    let frames = frames(&out);
    let [(HEADERS, flags, 5, block)] = &frames[..] else {
        panic!("{frames:?}");
    };
    assert_eq!(*flags, END_HEADERS | END_STREAM);
    let said: Vec<_> = unpacked(block).into_iter().flatten().collect();
    let told = trailers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    assert_eq!(said, told.collect::<Vec<_>>());
    out.clear();
    write_trailers(&mut out, 5, &map(&[]));
    assert_eq!(super::tests::frames(&out), [(HEADERS, *flags, 5, vec![])]);
}

/// An answer whose block has so many bytes.
fn answer_of(bytes: usize) -> HeaderMap {
    let block = |value: usize| {
        let headers = map(&[("x", &"v".repeat(value))]);
        let mut out = Vec::new();
        hpack::status(&mut out, StatusCode::OK);
        headers
            .iter()
            .for_each(|(name, value)| hpack::field(&mut out, name, value));
        (out.len(), headers)
    };
    let (around, _) = block(bytes - 10);
    let (length, headers) = block(bytes - 10 + bytes - around);
    assert_eq!(length, bytes);
    headers
}

#[test]
fn a_head_is_split_where_it_is_larger_than_a_frame_and_not_before() {
    const MOST: usize = PAYLOAD_MAX as usize;
    for (bytes, sizes) in [
        (MOST - 1, &[MOST - 1][..]),
        (MOST, &[MOST]),
        (MOST + 1, &[MOST, 1]),
        (2 * MOST, &[MOST, MOST]),
        (2 * MOST + 1, &[MOST, MOST, 1]),
        (3 * MOST + 5, &[MOST, MOST, MOST, 5]),
    ] {
        let headers = answer_of(bytes);
        for ends in [false, true] {
            let mut out = Vec::new();
            write_answer(&mut out, 9, &tell(&headers), ends, false);
            let frames = frames(&out);
            let lengths: Vec<_> = frames.iter().map(|frame| frame.3.len()).collect();
            assert_eq!(lengths, sizes);
            for (index, (kind, flags, stream, _)) in frames.iter().enumerate() {
                let (first, last) = (index == 0, index == sizes.len() - 1);
                assert_eq!(*stream, 9);
                assert_eq!(*kind, if first { HEADERS } else { CONTINUATION });
                assert_eq!(flags & END_STREAM != 0, first && ends);
                assert_eq!(flags & END_HEADERS != 0, last);
                assert_eq!(flags & !(END_STREAM | END_HEADERS), 0);
            }
            let block: Vec<u8> = frames.into_iter().flat_map(|frame| frame.3).collect();
            let told = headers
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()));
            assert_eq!(fields(&block), told.collect::<Vec<_>>());
        }
    }
}

#[test]
fn large_trailers_are_split_as_heads_are() {
    let trailers = map(&[("x-long", &"v".repeat(40_000))]);
    let mut out = Vec::new();
    write_trailers(&mut out, 1, &trailers);
    let said: Vec<_> = frames(&out)
        .iter()
        .map(|frame| (frame.0, frame.1))
        .collect();
    let expected = [
        (HEADERS, END_STREAM),
        (CONTINUATION, 0),
        (CONTINUATION, END_HEADERS),
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_large_head_is_forgotten_for_once_and_behind_what_was_written() {
    let headers = answer_of(20_000);
    let before = Frame {
        length: 0,
        kind: DATA,
        flags: 0,
        stream: 7,
    };
    let mut out = Vec::new();
    before.write(&mut out);
    write_answer(&mut out, 9, &tell(&headers), false, true);
    let frames = frames(&out);
    let kinds: Vec<_> = frames.iter().map(|frame| (frame.0, frame.2)).collect();
    assert_eq!(kinds, [(DATA, 7), (HEADERS, 9), (CONTINUATION, 9)]);
    assert_eq!(
        (frames[1].3[..2].to_vec(), frames[2].3[0]),
        (vec![0x20, 0x88], b'v')
    );
}

/// Names that are nobody's but the answer's.
fn plain_fields() -> impl Strategy<Value = Vec<(HeaderName, HeaderValue)>> {
    let known = vec![CACHE_CONTROL, CONTENT_TYPE, ETAG, SET_COOKIE, VARY];
    let name = prop_oneof![
        prop::sample::select(known),
        "x-[a-z0-9-]{0,30}".prop_map(|name| name.parse().unwrap()),
    ];
    let value = prop_oneof![
        4 => "([!-~]([ -~]{0,40}[!-~])?)?",
        1 => "[!-~]{0,9000}",
    ];
    let value = value.prop_map(|value| HeaderValue::from_str(&value).unwrap());
    prop::collection::vec((name, value), 0..12)
}

proptest! {
    #[test]
    fn whatever_is_told_is_unpacked_with_its_date_and_length_behind_it(
        told in plain_fields(),
        length in any::<u64>(),
        forgets in any::<bool>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in told {
            headers.append(name, value);
        }
        let mut out = Vec::new();
        let tell = Tell { date: DAY, length: Some(length), ..tell(&headers) };
        write_answer(&mut out, 1, &tell, true, forgets);
        let frames = frames(&out);
        prop_assert!(frames.iter().all(|frame| frame.3.len() <= PAYLOAD_MAX as usize));
        let block: Vec<u8> = frames.into_iter().flat_map(|frame| frame.3).collect();
        let mut expected: Vec<_> =
            headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        expected.push((DATE, HeaderValue::from_bytes(DAY).unwrap()));
        expected.push((CONTENT_LENGTH, length.into()));
        prop_assert_eq!(fields(&block), expected);
    }
}
