//! Pings, priorities, goodbyes of a client.

use super::Verdict::*;
use super::*;

#[tokio::test]
async fn pings_are_answered_with_their_bytes() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    let said: Vec<_> = (0..50_u64)
        .map(|number| (number << 40 | number).to_be_bytes().to_vec())
        .collect();
    for ping in &said {
        peer.send(&frame(PING, 0, 0, ping)).await;
        peer.send(&frame(PING, ACK, 0, ping)).await;
    }
    peer.until("answers", |peer| peer.pongs.len() == 50).await;
    peer.is_well(1).await;
    assert_eq!(peer.pongs, said);
}

#[tokio::test]
async fn a_ping_is_answered_before_a_long_body_is_through() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[(INITIAL_WINDOW, 100_000)]).await;
    let length = 4 << 20;
    peer.send(&whole(1, &ask(&format!("/bytes/{length}"))))
        .await;
    peer.until("the first window", |peer| peer.received(1) == 65_535)
        .await;
    // It stands still, and goes on behind the ping.
    peer.send(&frame(PING, 0, 0, b"standing")).await;
    peer.until("an answer", |peer| peer.pongs.len() == 1).await;
    peer.grant(0, 8 << 20).await;
    peer.grant(1, 8 << 20).await;
    peer.send(&frame(PING, 0, 0, b"in going")).await;
    peer.until("an answer", |peer| peer.pongs.len() == 2).await;
    assert!(peer.received(1) < length, "the whole body went first");
    assert!(peer.answer(1).await.body == pattern(length));
}

#[tokio::test]
async fn what_is_of_the_connection_is_on_no_stream_and_the_reverse() {
    let mut cases = Cases::default();
    cases.dies("a ping on a stream", PROTOCOL, frame(PING, 0, 1, &[0; 8]));
    cases.dies(
        "a ping's answer on a stream",
        PROTOCOL,
        frame(PING, ACK, 1, &[0; 8]),
    );
    let open = begun(1, &asking("POST", "/hang"));
    let ping = [open.clone(), frame(PING, 0, 1, &[0; 8])].concat();
    cases.dies("a ping on an open stream", PROTOCOL, ping);
    cases.dies(
        "a goodbye on a stream",
        PROTOCOL,
        frame(GOAWAY, 0, 1, &[0; 8]),
    );
    let goodbye = [open, frame(GOAWAY, 0, 1, &[0; 8])].concat();
    cases.dies("a goodbye on an open stream", PROTOCOL, goodbye);
    cases.may(
        "a reset of the last stream there is",
        &[Dies(PROTOCOL)],
        reset(i32::MAX as u32, CANCEL),
    );
    for (name, kind) in [("0x0a", 10), ("0x0c", 12), ("0x0d", 13), ("0xff", 255)] {
        cases.ignored(
            &format!("the unknown frame {name}"),
            frame(kind, 0xff, 0, &[0xff; 20]),
        );
    }
    let priority = |payload: &[u8]| frame(PRIORITY, 0, 1, payload);
    cases.ignored(
        "a priority on an idle stream",
        priority(&[0x80, 0, 0, 3, 255]),
    );
    let used = [
        priority(&[0, 0, 0, 3, 1]),
        whole(1, GET),
        priority(&[0, 0, 0, 0, 255]),
    ]
    .concat();
    cases.answered("priorities all along", used);
    cases.hold().await;
}

#[tokio::test]
async fn a_goodbye_of_the_client_lets_open_streams_finish() {
    let ground = Ground::open(lenient()).await;
    for code in [NO_ERROR, PROTOCOL, 0xdead_beef] {
        let mut peer = Peer::open(&ground, &[]).await;
        peer.case = format!("a goodbye for {code}");
        peer.send(&begun(1, &telling(&[]))).await;
        peer.send(&whole(3, &ask("/hold"))).await;
        peer.send(&whole(5, &ask("/bytes/100000"))).await;
        peer.until("all that fits", |peer| peer.received(5) == 65_535)
            .await;
        let payload = [[0; 4], code.to_be_bytes()].concat();
        peer.send(&frame(GOAWAY, 0, 0, &[&payload[..], b"why"].concat()))
            .await;
        // One that says why it fails is owed nothing more.
        if code != NO_ERROR {
            continue;
        }
        peer.send(&last(1, b"the rest")).await;
        peer.grant(0, 1 << 20).await;
        peer.grant(5, 1 << 20).await;
        ground.mirror.gate.0.add_permits(1);
        let all = |peer: &Peer| [1, 3, 5].iter().all(|stream| peer.seen(*stream).is_over());
        peer.until("all answers", all).await;
        assert!(peer.seen(1).text().contains("text the rest\n"));
        assert_eq!(
            (peer.seen(3).status, peer.seen(5).body.len()),
            (200, 100_000)
        );
    }
}
