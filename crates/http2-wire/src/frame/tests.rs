//! Frames are read as they were written, and what a peer may not say has the code that the standard gives it.

use proptest::prelude::*;

use super::*;

fn frame(kind: u8, flags: u8) -> Frame {
    Frame {
        length: 0,
        kind,
        flags,
        stream: 1,
    }
}

/// The only frame in these bytes, and what it carries.
fn only(bytes: &[u8]) -> (Frame, &[u8]) {
    let frame = Frame::read(bytes).unwrap();
    let payload = &bytes[Frame::HEAD..];
    assert_eq!(payload.len(), frame.length as usize);
    (frame, payload)
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// What a frame says of what it carries.
fn said(bytes: &[u8]) -> (u8, u8, u32) {
    let (frame, _) = only(bytes);
    (frame.kind, frame.flags, frame.stream)
}

fn entry(name: u16, value: u32) -> Vec<u8> {
    [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// What settings show, and how that ends.
fn shown(payload: &[u8]) -> (Vec<Setting>, Result<(), Code>) {
    let mut shown = Vec::new();
    let end = settings(payload, |setting| shown.push(setting));
    (shown, end)
}

#[test]
fn a_head_lies_in_its_nine_bytes_as_the_standard_has_it() {
    let head = Frame {
        length: 0x01_02_03,
        kind: 4,
        flags: 5,
        stream: 0x06_07_08_09,
    };
    assert_eq!(written(|out| head.write(out)), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn only_bodies_and_heads_end_a_stream() {
    for kind in 0..=u8::MAX {
        let may = kind == DATA || kind == HEADERS;
        assert_eq!(frame(kind, END_STREAM).ends_stream(), may);
        assert_eq!(frame(kind, u8::MAX).ends_stream(), may);
        assert!(!frame(kind, !END_STREAM).ends_stream());
    }
}

#[test]
fn padding_may_be_all_that_is_carried_and_not_more() {
    for kind in [DATA, HEADERS] {
        let padded = frame(kind, PADDED);
        assert_eq!(padded.strip(b"\x00"), Ok(&b""[..]));
        assert_eq!(padded.strip(b"\x00ab"), Ok(&b"ab"[..]));
        assert_eq!(padded.strip(b"\x01ab"), Ok(&b"a"[..]));
        assert_eq!(padded.strip(b"\x02ab"), Ok(&b""[..]));
        assert_eq!(padded.strip(b"\x03ab"), Err(Code::Protocol));
        assert_eq!(padded.strip(b"\xffab"), Err(Code::Protocol));
        assert_eq!(padded.strip(b""), Err(Code::FrameSize));
        assert_eq!(frame(kind, 0).strip(b"\x01ab"), Ok(&b"\x01ab"[..]));
    }
}

#[test]
fn a_weight_is_five_bytes_of_a_head_and_of_nothing_else() {
    let head = frame(HEADERS, WEIGHTED);
    assert_eq!(head.strip(b"12345"), Ok(&b""[..]));
    assert_eq!(head.strip(b"12345ab"), Ok(&b"ab"[..]));
    assert_eq!(head.strip(b"1234"), Err(Code::FrameSize));
    assert_eq!(head.strip(b""), Err(Code::FrameSize));
    assert_eq!(frame(DATA, WEIGHTED).strip(b"12"), Ok(&b"12"[..]));
    let both = frame(HEADERS, PADDED | WEIGHTED);
    assert_eq!(both.strip(b"\x0012345"), Ok(&b""[..]));
    assert_eq!(both.strip(b"\x0212345abcd"), Ok(&b"ab"[..]));
    assert_eq!(both.strip(b"\x0412345abcd"), Ok(&b""[..]));
    // The weight is no padding.
    assert_eq!(both.strip(b"\x0512345abcd"), Err(Code::Protocol));
    assert_eq!(both.strip(b"\x001234"), Err(Code::FrameSize));
    assert_eq!(both.strip(b"\x00"), Err(Code::FrameSize));
}

#[test]
fn a_word_has_no_highest_bit_and_is_nothing_where_it_is_cut() {
    assert_eq!(word(&[0xff; 4]), u32::MAX >> 1);
    assert_eq!(word(&[0x80, 0, 0, 0]), 0);
    assert_eq!(word(&[1, 2, 3, 4, 5]), 0x01_02_03_04);
    for cut in 0..4 {
        assert_eq!(word(&[0x7f; 4][..cut]), 0);
    }
}

#[test]
fn settings_that_are_no_whole_entries_have_the_wrong_size() {
    for length in 0..=24 {
        let (seen, end) = shown(&vec![0; length]);
        assert!(seen.is_empty(), "0 is the name of nothing");
        match length % 6 {
            0 => assert_eq!(end, Ok(())),
            _ => assert_eq!(end, Err(Code::FrameSize), "{length}"),
        }
    }
    let cut = [entry(1, 0), vec![0; 5]].concat();
    assert_eq!(shown(&cut), (vec![], Err(Code::FrameSize)), "none of it");
}

#[test]
fn each_setting_has_the_bounds_of_the_standard() {
    let push = Err(Code::Protocol);
    let window = Err(Code::FlowControl);
    let payload = Err(Code::Protocol);
    let cases = [
        (1, 0, Ok(Some(Setting::Table(0)))),
        (1, u32::MAX, Ok(Some(Setting::Table(u32::MAX)))),
        (2, 0, Ok(None)),
        (2, 1, Ok(None)),
        (2, 2, push),
        (2, u32::MAX, push),
        (3, 0, Ok(None)),
        (3, u32::MAX, Ok(None)),
        (4, 0, Ok(Some(Setting::Window(0)))),
        (4, 0x7fff_ffff, Ok(Some(Setting::Window(0x7fff_ffff)))),
        (4, 0x8000_0000, window),
        (4, u32::MAX, window),
        (5, 0, payload),
        (5, 16_383, payload),
        (5, 16_384, Ok(Some(Setting::Payload(16_384)))),
        (5, 16_777_215, Ok(Some(Setting::Payload(16_777_215)))),
        (5, 16_777_216, payload),
        (5, u32::MAX, payload),
        (6, 0, Ok(None)),
        (6, u32::MAX, Ok(None)),
    ];
    for (name, value, expected) in cases {
        let (seen, end) = shown(&entry(name, value));
        assert_eq!(
            end.map(|()| seen.first().copied()),
            expected,
            "{name}: {value}"
        );
        assert_eq!(seen.len(), usize::from(matches!(expected, Ok(Some(_)))));
    }
}

#[test]
fn settings_that_nobody_knows_are_passed_over() {
    for name in (7..=u16::MAX).chain([0]) {
        assert_eq!(shown(&entry(name, u32::MAX)), (vec![], Ok(())));
    }
}

#[test]
fn settings_are_shown_in_their_order_and_none_behind_a_wrong_one() {
    let said = [entry(4, 1), entry(9, 9), entry(1, 2), entry(4, 3)].concat();
    let expected = [Setting::Window(1), Setting::Table(2), Setting::Window(3)];
    assert_eq!(shown(&said), (expected.to_vec(), Ok(())));
    let said = [entry(1, 2), entry(2, 2), entry(4, 3)].concat();
    assert_eq!(shown(&said), (vec![Setting::Table(2)], Err(Code::Protocol)));
}

#[test]
fn codes_have_the_numbers_of_the_standard() {
    let codes = [
        (Code::NoError, 0),
        (Code::Protocol, 1),
        (Code::Internal, 2),
        (Code::FlowControl, 3),
        (Code::StreamClosed, 5),
        (Code::FrameSize, 6),
        (Code::Refused, 7),
        (Code::Cancel, 8),
        (Code::Compression, 9),
        (Code::Calm, 11),
    ];
    for (code, number) in codes {
        let reset = written(|out| write_reset(out, 1, code));
        assert_eq!(only(&reset).1, u32::to_be_bytes(number));
        let goaway = written(|out| write_goaway(out, 1, code));
        assert_eq!(only(&goaway).1[4..], u32::to_be_bytes(number));
    }
}

#[test]
fn an_acknowledgement_says_nothing_else() {
    let acked = written(write_settings_ack);
    assert_eq!(said(&acked), (SETTINGS, ACK, 0));
    assert_eq!(only(&acked).1, b"");
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let length = 0_u32..1 << 24;
    let stream = 0..=STREAM_MAX;
    (length, any::<u8>(), any::<u8>(), stream).prop_map(|(length, kind, flags, stream)| Frame {
        length,
        kind,
        flags,
        stream,
    })
}

proptest! {
    #[test]
    fn a_head_is_read_as_it_was_written_whatever_is_behind_it(
        frame in any_frame(),
        behind in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = written(|out| frame.write(out));
        prop_assert_eq!(bytes.len(), Frame::HEAD);
        for cut in 0..bytes.len() {
            prop_assert_eq!(Frame::read(&bytes[..cut]), None);
        }
        bytes.extend(behind);
        prop_assert_eq!(Frame::read(&bytes), Some(frame));
        // A peer may set the bit that has no meaning.
        bytes[5] |= 0x80;
        prop_assert_eq!(Frame::read(&bytes), Some(frame));
    }

    #[test]
    fn what_is_put_around_a_payload_is_stripped_off_again(
        content in prop::collection::vec(any::<u8>(), 0..50),
        padding in prop::option::of(any::<u8>()),
        weight in prop::option::of(any::<[u8; 5]>()),
        kind in prop::sample::select(vec![DATA, HEADERS]),
    ) {
        let (mut flags, mut payload) = (END_STREAM | END_HEADERS, Vec::new());
        if let Some(padding) = padding {
            flags |= PADDED;
            payload.push(padding);
        }
        if let (Some(weight), HEADERS) = (weight, kind) {
            flags |= WEIGHTED;
            payload.extend(weight);
        }
        payload.extend(&content);
        payload.resize(payload.len() + usize::from(padding.unwrap_or(0)), 0);
        prop_assert_eq!(frame(kind, flags).strip(&payload), Ok(&content[..]));
    }

    #[test]
    fn bytes_without_any_meaning_are_stripped_or_refused(
        payload in prop::collection::vec(any::<u8>(), 0..20),
        flags in any::<u8>(),
        kind in 0_u8..12,
    ) {
        if let Ok(stripped) = frame(kind, flags).strip(&payload) {
            let around = payload.len() - stripped.len();
            prop_assert!(flags & (PADDED | WEIGHTED) != 0 || around == 0);
        }
        let _refused = settings(&payload, |_| ());
    }

    #[test]
    fn what_a_server_says_by_itself_is_read_as_that(
        stream in 1..=STREAM_MAX,
        number in 0..=WINDOW_MAX,
        ping in any::<[u8; 8]>(),
        ack in any::<bool>(),
    ) {
        let goaway = written(|out| write_goaway(out, stream, Code::Calm));
        prop_assert_eq!(said(&goaway), (GOAWAY, 0, 0));
        prop_assert_eq!(word(only(&goaway).1), stream);
        let reset = written(|out| write_reset(out, stream, Code::Calm));
        prop_assert_eq!(said(&reset), (RST_STREAM, 0, stream));
        prop_assert_eq!(word(only(&reset).1), Code::Calm as u32);
        let update = written(|out| write_window_update(out, stream, number));
        prop_assert_eq!(said(&update), (WINDOW_UPDATE, 0, stream));
        prop_assert_eq!(word(only(&update).1), number);
        let pinged = written(|out| write_ping(out, ping, ack));
        prop_assert_eq!(said(&pinged), (PING, if ack { ACK } else { 0 }, 0));
        prop_assert_eq!(only(&pinged).1, &ping);
    }

    #[test]
    fn what_a_server_is_like_is_three_settings(
        streams in any::<u32>(),
        window in 0..=WINDOW_MAX,
        list in any::<u32>(),
    ) {
        let written = written(|out| write_settings(out, streams, window, list));
        prop_assert_eq!(said(&written), (SETTINGS, 0, 0));
        let expected = [entry(3, streams), entry(4, window), entry(6, list)].concat();
        prop_assert_eq!(only(&written).1, &expected[..]);
        prop_assert_eq!(shown(only(&written).1), (vec![Setting::Window(window)], Ok(())));
    }

    #[test]
    fn frames_are_written_behind_what_is_there(before in prop::collection::vec(any::<u8>(), 0..20)) {
        let mut out = before.clone();
        write_settings_ack(&mut out);
        write_ping(&mut out, [7; 8], false);
        prop_assert_eq!(&out[..before.len()], &before[..]);
        let first = Frame::read(&out[before.len()..]).unwrap();
        prop_assert_eq!((first.kind, first.length), (SETTINGS, 0));
        let (second, payload) = only(&out[before.len() + Frame::HEAD..]);
        prop_assert_eq!((second.kind, payload), (PING, &[7; 8][..]));
    }
}
