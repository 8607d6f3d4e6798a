//! The states of streams and their numbers.

use super::Verdict::*;
use super::*;

#[tokio::test]
async fn an_idle_stream_takes_heads_and_priorities_only() {
    let mut cases = Cases::default();
    cases.dies("data", PROTOCOL, last(1, b"x"));
    cases.dies("a reset", PROTOCOL, reset(1, CANCEL));
    cases.dies("an update", PROTOCOL, update(1, 100));
    cases.dies("a part", PROTOCOL, frame(CONTINUATION, END_HEADERS, 1, GET));
    cases
        .dies("data of a higher one", PROTOCOL, data(5, b"x"))
        .behind(whole(1, GET));
    cases
        .dies("a reset of a higher one", PROTOCOL, reset(5, CANCEL))
        .behind(whole(1, GET));
    cases
        .dies("an update of a higher one", PROTOCOL, update(5, 1))
        .behind(whole(1, GET));
    cases.dies("data of the door's", PROTOCOL, data(2, b"x"));
    cases.dies("a reset of the door's", PROTOCOL, reset(2, CANCEL));
    cases.dies("an update of the door's", PROTOCOL, update(2, 1));
    let priority = |stream| frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 15]);
    cases.ignored("a priority", priority(1));
    let lower = [priority(9), whole(1, GET)].concat();
    cases.answered("a priority opens nothing", lower);
    cases.dies("data on no stream", PROTOCOL, last(0, b"x"));
    cases.dies("a reset of no stream", PROTOCOL, reset(0, CANCEL));
    cases.dies("a priority of no stream", PROTOCOL, priority(0));
    let promise = [&2_u32.to_be_bytes()[..], GET].concat();
    let promise = frame(PUSH_PROMISE, END_HEADERS, 1, &promise);
    cases.dies("a promise", PROTOCOL, &promise);
    let open = [begun(1, &asking("POST", "/hang")), promise].concat();
    cases.dies("a promise on an open stream", PROTOCOL, open);
    cases.hold().await;
}

#[tokio::test]
async fn behind_its_end_a_stream_takes_nothing_that_says_more() {
    let mut cases = Cases::default();
    let hang = whole(1, &ask("/hang"));
    let behind = |bytes: Vec<u8>| [hang.clone(), bytes].concat();
    cases.resets("data", STREAM_CLOSED, behind(data(1, b"x")));
    cases.resets("the end once more", STREAM_CLOSED, behind(last(1, b"")));
    cases.resets("a head", STREAM_CLOSED, behind(whole(1, GET)));
    cases.resets(
        "trailers",
        STREAM_CLOSED,
        behind(whole(1, &field("x", "y"))),
    );
    let part = frame(CONTINUATION, END_HEADERS, 1, GET);
    cases
        .resets("a part", STREAM_CLOSED, behind(part.clone()))
        .or(Dies(PROTOCOL));
    cases.ignored("an update", behind(update(1, 100)));
    cases.ignored(
        "a priority",
        behind(frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 15])),
    );
    cases.ignored("a reset", behind(reset(1, CANCEL)));
    let upload = [begun(1, &asking("POST", "/hang")), last(1, b"x")].concat();
    let data_end = [upload.clone(), data(1, b"x")].concat();
    cases.resets("data behind data with the end", STREAM_CLOSED, data_end);
    let trailers = [
        begun(1, &asking("POST", "/hang")),
        whole(1, &field("x", "y")),
        data(1, b"x"),
    ];
    cases.resets("data behind trailers", STREAM_CLOSED, trailers.concat());
    // The same once the answer is out: what was on its way may still come.
    let done = || whole(1, GET);
    cases
        .resets("data behind the answer", STREAM_CLOSED, data(1, b"x"))
        .behind(done());
    let case = cases.resets("a head behind the answer", STREAM_CLOSED, whole(1, GET));
    case.behind(done()).or(Dies(PROTOCOL));
    let case = cases.dies("a part behind the answer", PROTOCOL, part);
    case.behind(done())
        .or(Dies(STREAM_CLOSED))
        .or(Resets(STREAM_CLOSED));
    cases
        .ignored("an update behind the answer", update(1, 1))
        .behind(done());
    cases
        .ignored("a reset behind the answer", reset(1, CANCEL))
        .behind(done());
    let priority = frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 15]);
    cases
        .ignored("a priority behind the answer", priority)
        .behind(done());
    cases.hold().await;
}

#[tokio::test]
async fn behind_a_reset_of_its_own_a_client_says_no_more() {
    let mut cases = Cases::default();
    let gone = [begun(1, &asking("POST", "/hang")), reset(1, CANCEL)].concat();
    let behind = |bytes: Vec<u8>| [gone.clone(), bytes].concat();
    cases.resets("data", STREAM_CLOSED, behind(data(1, b"x")));
    let head = cases.resets("a head", STREAM_CLOSED, behind(whole(1, GET)));
    head.or(Dies(PROTOCOL));
    let part = frame(CONTINUATION, END_HEADERS, 1, GET);
    cases
        .dies("a part", PROTOCOL, behind(part))
        .or(Dies(STREAM_CLOSED));
    cases.ignored(
        "a priority",
        behind(frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 15])),
    );
    cases.may(
        "a reset",
        &[Ignores, Resets(STREAM_CLOSED), Dies(STREAM_CLOSED)],
        behind(reset(1, CANCEL)),
    );
    cases.may(
        "an update",
        &[Ignores, Resets(STREAM_CLOSED), Dies(STREAM_CLOSED)],
        behind(update(1, 1)),
    );
    let unknown = reset(1, 0xdead_beef);
    let unknown = [begun(1, &asking("POST", "/hang")), unknown].concat();
    cases.ignored("a reset for an unknown reason", unknown);
    cases.hold().await;
}

#[tokio::test]
async fn what_was_on_its_way_when_the_door_reset_a_stream_is_let_pass() {
    let ground = Ground::open(lenient()).await;
    for (name, late) in [
        ("data", last(1, b"x")),
        ("trailers", whole(1, &field("x", "y"))),
        ("an update", update(1, 10)),
        ("a reset", reset(1, CANCEL)),
    ] {
        let mut peer = Peer::open(&ground, &[]).await;
        peer.case = name.into();
        peer.send(&begun(1, &telling(&[("connection", "close")])))
            .await;
        peer.until("a reset or an end", |peer| {
            peer.goodbye.is_some() || peer.seen(1).is_over()
        })
        .await;
        if peer.goodbye.is_some() {
            continue;
        }
        peer.send(&late).await;
        peer.is_well(3).await;
    }
}

#[tokio::test]
async fn streams_of_a_client_are_odd_and_rise() {
    let mut cases = Cases::default();
    cases.dies("an even number", PROTOCOL, whole(2, GET)).on(2);
    let lower = [whole(5, &ask("/hang")), whole(3, GET)].concat();
    cases
        .dies("a lower number", PROTOCOL, lower)
        .on(3)
        .or(Dies(STREAM_CLOSED))
        .or(Resets(STREAM_CLOSED));
    let same = [
        begun(5, &asking("POST", "/hang")),
        begun(5, &asking("POST", "/hang")),
    ]
    .concat();
    cases.malformed("a second head", same).on(5);
    let skipped = [whole(1, &ask("/hang")), whole(9, GET)].concat();
    cases.answered("numbers left out", skipped).on(9);
    let data_lower = [whole(5, &ask("/hang")), data(3, b"x")].concat();
    let case = cases.resets("data of a number left out", STREAM_CLOSED, data_lower);
    case.on(3).or(Dies(PROTOCOL));
    let itself = &[Ignores, Resets(PROTOCOL), Dies(PROTOCOL)];
    let priority = frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 15]);
    cases.may("a priority of itself", itself, priority.clone());
    let open = [begun(1, &asking("POST", "/hang")), priority].concat();
    cases.may("a priority of itself when open", itself, open);
    cases.hold().await;
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    peer.is_well(i32::MAX as u32).await;
}

#[tokio::test]
async fn streams_over_the_limit_are_refused_alone() {
    let settings = DoorSettings {
        streams_per_connection: 3,
        ..lenient()
    };
    let ground = Ground::open(settings).await;
    let mut peer = Peer::open(&ground, &[]).await;
    assert_eq!(peer.theirs.get(&STREAMS), Some(&3));
    let kept = |name: &str| [ask("/hold"), self::kept("x-name", name)].concat();
    for stream in [1, 3, 5] {
        peer.send(&whole(stream, &kept(&stream.to_string()))).await;
    }
    for stream in [7, 9] {
        peer.send(&whole(stream, &kept(&stream.to_string()))).await;
        peer.until("a refusal", |peer| peer.seen(stream).is_over())
            .await;
        let reason = peer.seen(stream).reset;
        assert!(matches!(reason, Some(REFUSED | PROTOCOL)), "{reason:?}");
    }
    ground.mirror.gate.0.add_permits(3);
    for stream in [1, 3, 5] {
        let seen = peer.answer(stream).await;
        assert!(
            seen.text().contains(&format!("field x-name: {stream}\n")),
            "{}",
            seen.text()
        );
    }
    // There is room again, and the fields of what was refused are in the table.
    peer.send(&whole(11, &[ask("/tell"), vec![0xbe, 0xbf]].concat()))
        .await;
    let told = peer.answer(11).await.text();
    assert!(
        told.contains("field x-name: 9\nfield x-name: 7\n"),
        "{told}"
    );
    // A stream that was reset makes room.
    for stream in [13, 15, 17] {
        peer.send(&whole(stream, &ask("/hang"))).await;
    }
    peer.send(&reset(15, CANCEL)).await;
    peer.is_well(19).await;
}
