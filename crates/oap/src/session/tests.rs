mod rules;

use bytes::Bytes;

use super::*;
use crate::limits::{CHUNK_BYTES_MAX, WINDOW_BYTES_MIN};
use crate::{Codec, GoAway, Reset};

const SPACE: u16 = 40;

fn hello() -> Hello {
    Hello {
        max_inflight: 3,
        window: WINDOW_BYTES_MIN,
        ..Hello::full("peer/1")
    }
}

/// A client and a server that have greeted each other.
fn pair() -> (Session, Session) {
    let (mut client, mut server) = (Session::client(hello()), Session::server(hello()));
    let token = Meta {
        token: Some("key".into()),
        ..Meta::default()
    };
    let first = client.hello(&token).unwrap();
    let Ok(Event::Hello { meta, answer }) = server.receive(first) else {
        panic!("a hello is understood");
    };
    assert_eq!(meta, token);
    assert_eq!(client.receive(answer), Ok(Event::Greeted));
    assert_eq!(client.agreed(), server.agreed());
    (client, server)
}

fn server() -> Session {
    pair().1
}

fn opening() -> Opening {
    Opening {
        app_proto: SPACE,
        opcode: 5,
        tenant: 7,
        ..Opening::default()
    }
}

fn header(flags: Flags, code: u16, corr_id: u64) -> Header {
    Header {
        flags,
        code,
        app_proto: SPACE,
        tenant: 7,
        corr_id,
    }
}

fn frame(flags: Flags, code: u16, corr_id: u64, payload: &[u8]) -> Frame {
    Frame {
        header: header(flags, code, corr_id),
        cap: Bytes::new(),
        payload: Bytes::copy_from_slice(payload),
    }
}

fn chunk(byte: u8) -> Bytes {
    Bytes::from(vec![byte; CHUNK_BYTES_MAX])
}

#[test]
fn a_question_in_one_frame_is_answered_in_one_frame() {
    let (mut client, mut server) = pair();
    let asked = client.open(&opening(), "ask".into(), true).unwrap();
    let id = asked.header.corr_id;
    assert_eq!(asked.header.flags, Flags::REQ);
    let Ok(Event::Request {
        header, payload, ..
    }) = server.receive(asked)
    else {
        panic!("a request is one");
    };
    assert!(header.ends());
    assert_eq!((header.code, &payload[..]), (5, &b"ask"[..]));
    let answer = server.respond(id, 200, "said".into(), true, false).unwrap();
    assert_eq!((answer.header.tenant, answer.header.app_proto), (7, SPACE));
    let Ok(Event::Response { header, payload }) = client.receive(answer) else {
        panic!("an answer is one");
    };
    assert!(header.ends());
    assert_eq!((header.code, &payload[..]), (200, &b"said"[..]));
    assert_eq!((client.in_flight(), server.in_flight()), (0, 0));
}

#[test]
fn answers_come_in_any_order() {
    let (mut client, mut server) = pair();
    let asked: Vec<Frame> = (0..3)
        .map(|_| client.open(&opening(), Bytes::new(), true).unwrap())
        .collect();
    let ids: Vec<u64> = asked.iter().map(|frame| frame.header.corr_id).collect();
    for frame in asked {
        server.receive(frame).unwrap();
    }
    for id in ids.into_iter().rev() {
        let answer = server.respond(id, 200, Bytes::new(), true, false).unwrap();
        assert!(matches!(client.receive(answer), Ok(Event::Response { .. })));
    }
}

// req: TR-06
#[test]
fn a_stream_stops_when_its_credit_is_used_up_and_goes_on_when_it_is_consumed() {
    let (mut client, mut server) = pair();
    let first = client.open(&opening(), chunk(1), false).unwrap();
    let id = first.header.corr_id;
    server.receive(first).unwrap();
    assert_eq!(client.sendable(id), Some(0), "the window is one chunk");
    assert_eq!(client.data(id, "x".into(), false), Err(Unsent::Blocked));
    assert_eq!(server.consumed(id, 1000), None, "not worth a frame");
    let credit = server.consumed(id, CHUNK_BYTES_MAX - 1000).unwrap();
    assert_eq!(client.receive(credit), Ok(Event::Credit(id)));
    assert_eq!(client.sendable(id), Some(CHUNK_BYTES_MAX));
    let last = client.data(id, chunk(2), true).unwrap();
    assert_eq!(last.header.flags, Flags::REQ | Flags::END);
    assert!(matches!(server.receive(last), Ok(Event::Data { .. })));
    assert_eq!(server.consumed(id, CHUNK_BYTES_MAX), None, "it has ended");
    assert_eq!(client.sendable(id), None);
}

// req: TR-06
#[test]
fn who_asks_for_credit_gets_it_as_soon_as_something_is_consumed() {
    let (mut client, mut server) = pair();
    let first = client.open(&opening(), Bytes::new(), false).unwrap();
    let id = first.header.corr_id;
    server.receive(first).unwrap();
    let mut more = client.data(id, "more".into(), false).unwrap();
    more.header.flags = more.header.flags | Flags::ACK_REQ;
    server.receive(more).unwrap();
    let credit = server.consumed(id, 100).unwrap();
    assert_eq!(credit.payload[..], 4_u32.to_be_bytes(), "no more than came");
}

// attack: G-07
#[test]
fn requests_beyond_what_was_agreed_on_are_refused_alone() {
    let (_, mut server) = pair();
    for id in 10..13 {
        let event = server.receive(frame(Flags::REQ, 5, id, b""));
        assert!(matches!(event, Ok(Event::Request { .. })));
    }
    for id in 13..10_013 {
        let refused = Event::Refused {
            header: header(Flags::REQ, 5, id),
            refusal: Refusal::Busy,
        };
        assert_eq!(server.receive(frame(Flags::REQ, 5, id, b"")), Ok(refused));
    }
    assert_eq!(server.in_flight(), 3);
    server.respond(11, 200, Bytes::new(), true, false).unwrap();
    let event = server.receive(frame(Flags::REQ, 5, 20_000, b""));
    assert!(matches!(event, Ok(Event::Request { .. })));
}

#[test]
fn what_still_comes_of_a_refused_stream_is_no_request() {
    let (_, mut server) = pair();
    for id in 10..13 {
        server.receive(frame(Flags::REQ, 5, id, b"")).unwrap();
    }
    let start = frame(Flags::REQ | Flags::START, 5, 13, b"a");
    assert!(matches!(server.receive(start), Ok(Event::Refused { .. })));
    for rest in [
        frame(Flags::REQ, 0, 13, b"b"),
        frame(Flags::REQ | Flags::END, 0, 13, b"c"),
    ] {
        assert_eq!(server.receive(rest), Ok(Event::Dropped));
    }
}

#[test]
fn a_reset_request_counts_until_its_work_has_stopped() {
    let (mut client, mut server) = pair();
    for _ in 0..3 {
        let asked = client.open(&opening(), Bytes::new(), true).unwrap();
        let id = asked.header.corr_id;
        server.receive(asked).unwrap();
        let reset = client.cancel(id).unwrap();
        let expected = Reset {
            status: 499,
            reason: "canceled".into(),
        };
        let event = Event::Reset {
            id,
            reset: expected,
        };
        assert_eq!(server.receive(reset), Ok(event));
        let late = server.respond(id, 200, Bytes::new(), true, false);
        assert_eq!(late, Err(Unsent::Over));
    }
    assert_eq!((client.in_flight(), server.in_flight()), (0, 3));
    let asked = client.open(&opening(), Bytes::new(), true).unwrap();
    let refused = server.receive(asked).unwrap();
    assert!(matches!(refused, Event::Refused { .. }), "{refused:?}");
    assert_eq!(server.let_go(2), None, "the peer has lost interest");
    let asked = client.open(&opening(), Bytes::new(), true).unwrap();
    assert!(matches!(server.receive(asked), Ok(Event::Request { .. })));
}

#[test]
fn work_that_stops_without_an_answer_is_told() {
    let (mut client, mut server) = pair();
    let asked = client.open(&opening(), Bytes::new(), true).unwrap();
    let id = asked.header.corr_id;
    server.receive(asked).unwrap();
    let told = server.let_go(id).unwrap();
    let Ok(Event::Reset { reset, .. }) = client.receive(told) else {
        panic!("a reset is one");
    };
    assert_eq!((reset.status, &reset.reason[..]), (500, &b"unfinished"[..]));
    assert_eq!(server.let_go(id), None, "once");
    assert_eq!((client.in_flight(), server.in_flight()), (0, 0));
}

#[test]
fn an_answer_that_ends_before_its_question_ends_both() {
    let (mut client, mut server) = pair();
    let start = client.open(&opening(), "a".into(), false).unwrap();
    let id = start.header.corr_id;
    server.receive(start).unwrap();
    let more = client.data(id, "b".into(), false).unwrap();
    let answer = server.respond(id, 413, Bytes::new(), true, false).unwrap();
    assert_eq!(server.receive(more), Ok(Event::Dropped), "it crossed");
    client.receive(answer).unwrap();
    assert_eq!(client.data(id, "c".into(), true), Err(Unsent::Over));
    assert_eq!(client.sendable(id), None);
}

#[test]
fn a_server_that_leaves_finishes_what_it_has_and_takes_no_more() {
    let (mut client, mut server) = pair();
    let asked = client.open(&opening(), Bytes::new(), true).unwrap();
    let id = asked.header.corr_id;
    server.receive(asked).unwrap();
    let crossing = client.open(&opening(), Bytes::new(), true).unwrap();
    let away = server.go_away(503, "draining");
    let refused = server.receive(crossing).unwrap();
    assert!(matches!(
        refused,
        Event::Refused {
            refusal: Refusal::Draining,
            ..
        }
    ));
    let event = Event::GoAway(GoAway {
        last_id: id,
        status: 503,
        reason: "draining".into(),
    });
    assert_eq!(client.receive(away), Ok(event));
    let more = client.open(&opening(), Bytes::new(), true);
    assert_eq!(more, Err(Unsent::Draining));
    let answer = server.respond(id, 200, Bytes::new(), true, false).unwrap();
    assert!(matches!(client.receive(answer), Ok(Event::Response { .. })));
}

#[test]
fn a_ping_is_answered_with_its_word() {
    let (mut client, mut server) = pair();
    let ping = client.ping(*b"12345678").unwrap();
    let Ok(Event::Answer(pong)) = server.receive(ping) else {
        panic!("a ping is answered");
    };
    assert_eq!(client.receive(pong), Ok(Event::Pong(*b"12345678")));
}

#[test]
fn compression_is_for_all_of_a_message_or_for_none() {
    let (mut client, mut server) = pair();
    assert_eq!(client.agreed().unwrap().codec, Some(Codec::Zstd));
    let packed = Opening {
        comp: true,
        ..opening()
    };
    let start = client.open(&packed, "a".into(), false).unwrap();
    let id = start.header.corr_id;
    assert!(start.header.flags.has(Flags::COMP));
    server.receive(start).unwrap();
    let more = client.data(id, "b".into(), false).unwrap();
    assert!(more.header.flags.has(Flags::COMP));
    server.receive(more).unwrap();
    let plain = server.receive(frame(Flags::REQ, 0, id, b"c"));
    assert_eq!(plain, Err(Violation::Sequence));
}
