//! What breaks a rule, and what it is called.

use super::*;

// req: TR-03
// attack: G-12
#[test]
fn each_broken_rule_has_its_name() {
    let ask = |id| frame(Flags::REQ, 5, id, b"");
    let start = |id| frame(Flags::REQ | Flags::START, 5, id, b"");
    let event = |code, id, payload: &[u8]| {
        let mut event = frame(Flags::EVENT, code, id, payload);
        event.header.app_proto = 0;
        event
    };
    let control = |flags, code| {
        let mut frame = frame(flags, code, 50, b"{}");
        frame.header.app_proto = 0;
        frame
    };
    let with_cap = |mut frame: Frame| {
        frame.cap = Bytes::from_static(b"\x80\0\0");
        frame
    };
    let of_another = |mut frame: Frame| {
        frame.header.app_proto += 1;
        frame
    };
    let big = chunk(0);
    let over: Vec<u8> = vec![0; CHUNK_BYTES_MAX + 1];
    let cases: Vec<(Vec<Frame>, Violation)> = vec![
        (vec![control(Flags::REQ, 0)], Violation::HelloAgain),
        (vec![control(Flags::REQ, 1)], Violation::ControlUnknown),
        (vec![control(Flags::EVENT, 9)], Violation::ControlUnknown),
        (vec![frame(Flags::RESP, 200, 9, b"")], Violation::Role),
        (
            vec![event(3, 0, b"\0\0\0\0\0\0\0\x01\x01\xf7")],
            Violation::Role,
        ),
        (vec![ask(0)], Violation::IdZero),
        (vec![event(1, 0, b"\0\0\0\x01")], Violation::IdZero),
        (vec![event(4, 9, b"12345678")], Violation::ControlBad),
        (vec![ask(9), ask(9)], Violation::IdUsed),
        (vec![ask(9), ask(8)], Violation::IdUsed),
        (vec![frame(Flags::REQ, 0, 9, b"a")], Violation::IdUnknown),
        (vec![event(1, 9, b"\0\0\0\x01")], Violation::IdUnknown),
        (vec![event(2, 9, b"\x01\xf3")], Violation::IdUnknown),
        (
            vec![ask(9), frame(Flags::REQ, 0, 9, b"a")],
            Violation::Sequence,
        ),
        (
            vec![start(9), of_another(frame(Flags::REQ, 0, 9, b"a"))],
            Violation::Sequence,
        ),
        (
            vec![start(9), with_cap(frame(Flags::REQ, 0, 9, b"a"))],
            Violation::CapMisplaced,
        ),
        (
            vec![with_cap(event(4, 0, b"12345678"))],
            Violation::CapMisplaced,
        ),
        (
            vec![frame(Flags::REQ | Flags::START, 5, 9, &over)],
            Violation::ChunkOver,
        ),
        (
            vec![start(9), frame(Flags::REQ, 0, 9, b"")],
            Violation::DataEmpty,
        ),
        (
            vec![
                start(9),
                frame(Flags::REQ, 0, 9, &big),
                frame(Flags::REQ, 0, 9, b"a"),
            ],
            Violation::WindowOver,
        ),
        (
            vec![ask(9), event(1, 9, &i32::MAX.to_be_bytes())],
            Violation::CreditBad,
        ),
    ];
    for (mut frames, violation) in cases {
        let mut server = server();
        let last = frames.pop().unwrap();
        for frame in frames {
            server.receive(frame).unwrap();
        }
        let said = format!("{last:?}");
        assert_eq!(server.receive(last), Err(violation), "{said}");
    }
}

// req: TR-03
#[test]
fn nothing_comes_before_hello() {
    for first in [
        frame(Flags::REQ, 5, 1, b""),
        Control::Ping([0; 8]).encode(0),
    ] {
        let mut server = Session::server(hello());
        assert_eq!(server.receive(first.clone()), Err(Violation::HelloFirst));
        let mut client = Session::client(hello());
        client.hello(&Meta::default()).unwrap();
        assert_eq!(client.receive(first), Err(Violation::HelloFirst));
        let early = client.open(&opening(), Bytes::new(), true);
        assert_eq!(early, Err(Unsent::NotReady));
    }
}

// req: TR-03
#[test]
fn a_flag_that_was_not_agreed_on_is_refused() {
    let mut server = Session::server(Hello {
        flags: Flags::BASE.bits(),
        ..hello()
    });
    let mut client = Session::client(hello());
    server
        .receive(client.hello(&Meta::default()).unwrap())
        .unwrap();
    for flag in [Flags::ACK_REQ, Flags::COMP] {
        let refused = server.receive(frame(Flags::REQ | flag, 5, 9, b""));
        assert_eq!(refused, Err(Violation::FlagRefused));
    }
}

#[test]
fn a_client_holds_its_server_to_the_rules_too() {
    let cases = [
        (frame(Flags::REQ, 5, 2, b""), Violation::Role),
        (frame(Flags::RESP, 200, 3, b""), Violation::IdUnknown),
        (frame(Flags::RESP, 0, 2, b"a"), Violation::Sequence),
        (frame(Flags::RESP, 200, 0, b""), Violation::IdZero),
    ];
    for (answer, violation) in cases {
        let (mut client, _) = pair();
        client.open(&opening(), Bytes::new(), true).unwrap();
        assert_eq!(client.receive(answer), Err(violation));
    }
    let (mut client, _) = pair();
    client.open(&opening(), Bytes::new(), true).unwrap();
    client
        .receive(frame(Flags::RESP | Flags::START, 200, 2, b"a"))
        .unwrap();
    let again = client.receive(frame(Flags::RESP, 200, 2, b"b"));
    assert_eq!(again, Err(Violation::Sequence));
}

// req: TR-03
#[test]
fn a_client_hears_why_its_server_closes() {
    for violation in Violation::ALL {
        let (mut client, _) = pair();
        let Ok(Event::Failed { status, problem }) = client.receive(Frame::farewell(*violation))
        else {
            panic!("a farewell is one");
        };
        assert_eq!(status, violation.status());
        assert_eq!(problem.unwrap().reason, violation.reason());
    }
}

// req: TR-05
#[test]
fn a_refusal_carries_what_the_peer_shall_do_or_just_its_status() {
    let request = header(Flags::REQ, 5, 9);
    let bare = Refusal::Busy.answer(&request, None);
    assert_eq!((bare.header.code, bare.wire_len()), (429, 38));
    let notice = crate::Directive::rate_limited(SPACE, 5, 70);
    let told = Refusal::Busy.answer(&request, Some(notice.clone()));
    let problem = Problem::from_payload(&told.payload).unwrap();
    assert_eq!(problem.directive, Some(notice));
    assert_eq!(problem.retry_after_ms, Some(70));
    let text = std::str::from_utf8(&told.payload).unwrap();
    let directive = r#""directive":{"control":"FAIL","reason":"RATE_LIMITED","advice":"RETRY","transient":true,"#;
    assert!(text.contains(directive), "{text}");
}

#[test]
fn a_bad_capability_section_harms_its_own_request_only() {
    let mut server = server();
    for (cap, refusal) in [
        (&b"\x01"[..], Refusal::CapBroken),
        (&b"\x09\0\0"[..], Refusal::CapUnknown),
    ] {
        let id = server.last_id + 1;
        let mut asked = frame(Flags::REQ, 5, id, b"");
        asked.cap = Bytes::from_static(cap);
        let header = asked.header;
        assert_eq!(
            server.receive(asked),
            Ok(Event::Refused { header, refusal })
        );
    }
    assert_eq!(server.in_flight(), 0);
}
