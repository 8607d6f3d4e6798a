//! Blocks of fields in one part or several.

use super::Verdict::*;
use super::*;

fn parts(stream: u32, parts: &[&[u8]]) -> Vec<u8> {
    let count = parts.len();
    let part = |(at, part): (usize, &&[u8])| {
        let flags = if at + 1 == count { END_HEADERS } else { 0 };
        match at {
            0 => frame(HEADERS, flags | END_STREAM, stream, part),
            _ => frame(CONTINUATION, flags, stream, part),
        }
    };
    parts.iter().enumerate().flat_map(part).collect()
}

#[tokio::test]
async fn a_block_may_come_in_parts() {
    let mut cases = Cases::default();
    let block = [ask("/tell"), field("long", "y".repeat(300))].concat();
    let line = format!("field long: {}", "y".repeat(300));
    for at in [0, 1, 8, 9, 10, 40, 77, block.len() - 1, block.len()] {
        let cut = parts(1, &[&block[..at], &block[at..]]);
        cases.answered(&format!("cut at {at}"), cut).tells(&[&line]);
    }
    let many: Vec<_> = block.chunks(60).collect();
    cases
        .answered("in seven parts", parts(1, &many))
        .tells(&[&line]);
    cases.answered(
        "an empty part in the middle",
        parts(1, &[&block[..9], b"", &block[9..]]),
    );
    let tell = telling(&[]);
    let upload = [
        frame(HEADERS, 0, 1, &tell[..9]),
        frame(CONTINUATION, END_HEADERS, 1, &tell[9..]),
        data(1, b"one "),
        frame(HEADERS, END_STREAM, 1, &field("after", "all")[..3]),
        frame(CONTINUATION, END_HEADERS, 1, &field("after", "all")[3..]),
    ];
    let case = cases.answered("a head and trailers in parts", upload.concat());
    case.tells(&["text one ", "trailer after: all"]);
    let end_flag = [
        frame(HEADERS, 0, 1, &tell[..9]),
        frame(CONTINUATION, END_HEADERS | END_STREAM, 1, &tell[9..]),
        last(1, b"body"),
    ];
    cases
        .answered("a part ends no stream", end_flag.concat())
        .tells(&["text body"]);
    cases.hold().await;
}

#[tokio::test]
async fn nothing_comes_between_the_parts_of_a_block() {
    let mut cases = Cases::default();
    let between = [
        ("data", data(1, b"x")),
        ("data of another", data(3, b"x")),
        ("a head", whole(1, GET)),
        ("a head of another", whole(3, GET)),
        ("a priority", frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])),
        (
            "a priority of another",
            frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 1]),
        ),
        ("a reset", reset(1, CANCEL)),
        ("settings", settings(&[])),
        ("an acknowledgement", frame(SETTINGS, ACK, 0, &[])),
        ("a ping", frame(PING, 0, 0, &[0; 8])),
        ("a goodbye", frame(GOAWAY, 0, 0, &[0; 8])),
        ("an update", update(0, 1)),
        ("an update of it", update(1, 1)),
        ("an unknown frame", frame(0xfa, 0, 0, &[0; 8])),
        ("an unknown frame of it", frame(0xfa, 0, 1, &[])),
        (
            "a part of another",
            frame(CONTINUATION, END_HEADERS, 3, GET),
        ),
        ("a part of none", frame(CONTINUATION, END_HEADERS, 0, GET)),
    ];
    for (name, frames) in between {
        let end = frame(CONTINUATION, END_HEADERS, 1, &[]);
        let bytes = [
            frame(HEADERS, END_STREAM, 1, GET),
            frames.clone(),
            end.clone(),
        ]
        .concat();
        cases.dies(&format!("{name} behind a head"), PROTOCOL, bytes);
        let start = [
            frame(HEADERS, END_STREAM, 1, GET),
            frame(CONTINUATION, 0, 1, &[]),
        ];
        let bytes = [start.concat(), frames, end].concat();
        cases.dies(&format!("{name} behind a part"), PROTOCOL, bytes);
    }
    cases.hold().await;
}

#[tokio::test]
async fn parts_belong_to_a_block_and_blocks_to_a_stream() {
    let mut cases = Cases::default();
    let (part, hang) = (
        frame(CONTINUATION, END_HEADERS, 1, GET),
        asking("POST", "/hang"),
    );
    cases.dies("a part of nothing", PROTOCOL, &part);
    cases.dies(
        "a part on no stream",
        PROTOCOL,
        frame(CONTINUATION, END_HEADERS, 0, GET),
    );
    let whole_before = [begun(1, &hang), part.clone()].concat();
    cases.dies("a part behind a whole head", PROTOCOL, whole_before);
    let end = frame(CONTINUATION, END_HEADERS, 1, &[]);
    let parts = [frame(HEADERS, 0, 1, &hang), end.clone(), end.clone()].concat();
    cases.dies("a part behind the last one", PROTOCOL, parts);
    let parts = [begun(1, &hang), data(1, b"x"), part].concat();
    cases.dies("a part behind data", PROTOCOL, parts);
    cases.dies("a head on no stream", PROTOCOL, whole(0, GET));
    let priority = |payload: &[u8]| {
        let flags = WITH_PRIORITY | END_HEADERS | END_STREAM;
        frame(HEADERS, flags, 1, &[payload, GET].concat())
    };
    cases.answered("a head with a priority", priority(&[0, 0, 0, 0, 15]));
    cases.answered("a head that depends alone", priority(&[0x80, 0, 0, 0, 15]));
    cases.answered(
        "a head that depends on an idle stream",
        priority(&[0, 0, 0, 9, 255]),
    );
    // RFC 7540 takes it for an error of the stream, RFC 9113 for nothing.
    let itself = &[Says(200), Resets(PROTOCOL), Dies(PROTOCOL)];
    cases.may(
        "a head that depends on itself",
        itself,
        priority(&[0, 0, 0, 1, 15]),
    );
    let flags = WITH_PRIORITY | END_HEADERS | END_STREAM;
    let small = frame(HEADERS, flags, 1, &[0, 0, 0]);
    let smalls = &[Dies(FRAME_SIZE), Resets(FRAME_SIZE), Dies(PROTOCOL)];
    cases.may("a head too small for its priority", smalls, small);
    cases.malformed("a head of nothing", whole(1, &[]));
    cases.hold().await;
}
