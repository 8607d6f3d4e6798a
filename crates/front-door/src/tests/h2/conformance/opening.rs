//! How a connection begins, and settings.

use super::Verdict::*;
use super::*;

#[tokio::test]
async fn settings_are_checked_and_unknown_ones_ignored() {
    let mut cases = Cases::default();
    let set = |id: u16, value: u32| settings(&[(id, value)]);
    cases.dies("settings on a stream", PROTOCOL, frame(SETTINGS, 0, 1, &[]));
    cases.dies(
        "an acknowledgement on a stream",
        PROTOCOL,
        frame(SETTINGS, ACK, 1, &[]),
    );
    cases.dies(
        "an acknowledgement with a setting",
        FRAME_SIZE,
        frame(SETTINGS, ACK, 0, &[0; 6]),
    );
    cases.dies(
        "an acknowledgement with a byte",
        FRAME_SIZE,
        frame(SETTINGS, ACK, 0, &[0]),
    );
    for length in [1, 5, 7, 13] {
        let name = format!("settings of {length} bytes");
        cases.dies(&name, FRAME_SIZE, frame(SETTINGS, 0, 0, &vec![0; length]));
    }
    for value in [2, u32::MAX] {
        cases.dies(&format!("a push of {value}"), PROTOCOL, set(2, value));
    }
    for value in [1 << 31, u32::MAX] {
        cases.dies(
            &format!("a window of {value}"),
            FLOW_CONTROL,
            set(INITIAL_WINDOW, value),
        );
    }
    for value in [0, (1 << 14) - 1, 1 << 24, u32::MAX] {
        cases.dies(
            &format!("frames of {value}"),
            PROTOCOL,
            set(FRAME_MAX, value),
        );
    }
    let wrong_later = settings(&[(INITIAL_WINDOW, 100), (99, 1), (2, 7)]);
    cases.dies("a wrong one behind right ones", PROTOCOL, wrong_later);
    for (id, value) in [
        (TABLE_SIZE, 0),
        (TABLE_SIZE, u32::MAX),
        (2, 0),
        (2, 1),
        (STREAMS, 0),
        (STREAMS, u32::MAX),
        (INITIAL_WINDOW, (1 << 31) - 1),
        (FRAME_MAX, 1 << 14),
        (FRAME_MAX, (1 << 24) - 1),
        (6, 0),
        (6, u32::MAX),
        (0, 1),
        (7, 1),
        (8, 0),
        (9, 1),
        (0xff, u32::MAX),
        (0xffff, 0),
    ] {
        let bytes = [set(id, value), whole(1, GET)].concat();
        cases.answered(&format!("setting {id} to {value}"), bytes);
    }
    let many: Vec<_> = (0..100)
        .map(|number| (0x100 + number, u32::from(number)))
        .collect();
    cases.ignored("a hundred unknown settings", settings(&many));
    cases.ignored("an empty frame of settings", settings(&[]));
    cases.ignored("unknown flags", frame(SETTINGS, 0xfe, 0, &[]));
    let nobody = frame(SETTINGS, ACK, 0, &[]);
    cases.may(
        "an acknowledgement of nothing",
        &[Ignores, Dies(PROTOCOL)],
        nobody,
    );
    cases.hold().await;
}

#[tokio::test]
async fn each_frame_of_settings_is_acknowledged_in_turn() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    for number in 0..20 {
        peer.set(&[(0x200 + number, 1), (INITIAL_WINDOW, u32::from(number))])
            .await;
    }
    peer.until("21 acknowledgements", |peer| peer.acks == 21)
        .await;
    peer.settle().await;
    assert_eq!(peer.acks, 21);
    // The last of several values in a frame is the one that counts.
    peer.set(&[(INITIAL_WINDOW, 50), (INITIAL_WINDOW, 3)]).await;
    peer.until("an acknowledgement", |peer| peer.acks == 22)
        .await;
    peer.send(&whole(1, &ask("/bytes/100"))).await;
    peer.until("three bytes", |peer| peer.received(1) == 3)
        .await;
    peer.settle().await;
    assert_eq!(peer.received(1), 3);
}

#[tokio::test]
async fn a_connection_begins_with_the_preface_and_settings() {
    let ground = Ground::open(lenient()).await;
    let mut wrong = Vec::new();
    for (name, said) in [
        ("a ping first", frame(PING, 0, 0, &[0; 8])),
        ("a request first", whole(1, GET)),
        ("an unknown frame first", frame(0xfa, 0, 0, &[])),
        ("an acknowledgement first", frame(SETTINGS, ACK, 0, &[])),
    ] {
        let mut peer = Peer::mute(&ground).await;
        peer.send(&[PREFACE, &said, &whole(3, GET)].concat()).await;
        while peer.goodbye.is_none() && !peer.streams.values().any(Seen::is_over) {
            if peer.hear().await != Heard::Frame {
                break;
            }
        }
        let right = match peer.goodbye {
            Some((_, code)) => code == PROTOCOL,
            None => peer.closed && peer.streams.is_empty(),
        };
        if !right {
            wrong.push(format!("{name}: {}", peer.summary()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_begins_unlike_the_preface_is_not_served() {
    let ground = Ground::open(lenient()).await;
    let settings = settings(&[]);
    for begun in [
        &b"INVALID CONNECTION PREFACE\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r",
        b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n",
        b"PRI / HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(ground.address).await.unwrap();
        let said = [begun, &settings, &whole(1, GET)].concat();
        stream.write_all(&said).await.unwrap();
        let (_, answer) = until_closed(&mut stream).await;
        assert!(!answer.contains("hello"), "{begun:?}: {answer}");
    }
}

#[tokio::test]
async fn a_client_need_not_wait_for_the_settings_of_the_door() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::mute(&ground).await;
    let tell = [begun(3, &telling(&[])), last(3, b"early")].concat();
    peer.expect(&[]);
    peer.send(&[PREFACE, &settings(&[]), &whole(1, GET), &tell].concat())
        .await;
    assert_eq!(peer.answer(1).await.text(), "hello");
    assert!(peer.answer(3).await.text().contains("text early\n"));
    peer.until("an acknowledgement", |peer| peer.acks == 1)
        .await;
}

/// All that a small conversation says, with a body, padding, a block in parts, and trailers.
fn conversation() -> Vec<u8> {
    let get = ask("/tell");
    let (one, two) = get.split_at(7);
    [
        PREFACE,
        &settings(&[(INITIAL_WINDOW, 70_000), (99, 1)]),
        &frame(SETTINGS, ACK, 0, &[]),
        &begun(1, &telling(&[("x", "y")])),
        &frame(PING, 0, 0, b"pingpong"),
        &data(1, b"some "),
        &frame(DATA, PADDED, 1, &[&[3][..], b"text", &[0; 3]].concat()),
        &frame(0xfa, 7, 1, b"unknown"),
        &update(0, 1000),
        &update(1, 1000),
        &whole(1, &field("after", "all")),
        &frame(HEADERS, END_STREAM, 3, one),
        &frame(CONTINUATION, END_HEADERS, 3, two),
    ]
    .concat()
}

#[tokio::test]
async fn frames_may_be_cut_anywhere() {
    let ground = Ground::open(lenient()).await;
    let said = conversation();
    let whole = vec![&said[..]];
    let bytes: Vec<_> = said.chunks(1).collect();
    let mut cuts: Vec<_> = (1..said.len())
        .map(|at| vec![&said[..at], &said[at..]])
        .collect();
    cuts.push(bytes);
    cuts.push(said.chunks(7).collect());
    cuts.insert(0, whole);
    let mut expected = None;
    for (number, parts) in cuts.into_iter().enumerate() {
        let mut peer = Peer::mute(&ground).await;
        peer.case = format!("cut {number}");
        peer.expect(&[(INITIAL_WINDOW, 70_000)]);
        for part in parts {
            peer.send(part).await;
            tokio::task::yield_now().await;
        }
        let (first, second) = (peer.answer(1).await, peer.answer(3).await);
        assert_eq!(peer.pongs, [b"pingpong"], "{}", peer.case);
        let told = [first.text(), second.text()];
        assert_eq!((first.status, second.status), (200, 200), "{told:?}");
        assert!(
            told[0].contains("text some text\n") && told[0].contains("trailer after: all"),
            "{told:?}"
        );
        assert_eq!(
            expected.get_or_insert_with(|| told.clone()),
            &told,
            "{}",
            peer.case
        );
    }
}
