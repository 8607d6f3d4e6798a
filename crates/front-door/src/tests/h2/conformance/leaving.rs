//! How a connection ends when all is well.

use super::*;

// req: GW-09
#[tokio::test]
async fn a_client_that_says_no_more_gets_what_is_ready_and_is_waited_for_no_longer() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    peer.send(&whole(1, &ask("/hold"))).await;
    peer.send(&whole(3, &ask("/bytes/50000"))).await;
    peer.raw.stream.shutdown().await.unwrap();
    while peer.hear().await == Heard::Frame {}
    assert!(peer.closed, "{}", peer.summary());
    assert!(peer.seen(3).is_over() && peer.seen(3).body == pattern(50_000));
    assert_eq!(peer.seen(1).status, 0, "{}", peer.summary());
}

#[tokio::test]
async fn a_door_that_closes_finishes_what_is_open_and_says_goodbye() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    peer.send(&begun(1, &telling(&[]))).await;
    peer.send(&whole(3, &ask("/bytes/100000"))).await;
    peer.until("all that fits", |peer| peer.received(3) == 65_535)
        .await;
    ground.kernel.requests.request();
    peer.until("a goodbye", |peer| peer.goodbye.is_some()).await;
    let (last_stream, code) = peer.goodbye.unwrap();
    assert!(last_stream >= 3 && code == NO_ERROR, "{:?}", peer.goodbye);
    peer.send(&last(1, b"the rest")).await;
    peer.grant(0, 1 << 20).await;
    peer.grant(3, 1 << 20).await;
    while peer.hear().await == Heard::Frame {}
    assert!(peer.closed, "{}", peer.summary());
    assert_eq!(peer.goodbye.map(|goodbye| goodbye.1), Some(NO_ERROR));
    assert!(
        peer.seen(1).text().contains("text the rest\n"),
        "{}",
        peer.summary()
    );
    assert!(peer.seen(3).body == pattern(100_000), "{}", peer.summary());
    assert_eq!(ground.running.await.unwrap(), Outcome::Drained);
}

#[tokio::test]
async fn a_stream_that_comes_behind_the_goodbye_is_answered_or_left_alone() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    peer.send(&whole(1, &ask("/hold"))).await;
    peer.settle().await;
    ground.kernel.requests.request();
    peer.until("a goodbye", |peer| peer.goodbye.is_some()).await;
    peer.send(&whole(3, GET)).await;
    peer.settle().await;
    ground.mirror.gate.0.add_permits(1);
    while peer.hear().await == Heard::Frame {}
    assert!(
        peer.closed && peer.seen(1).status == 200,
        "{}",
        peer.summary()
    );
    let (last_stream, _) = peer.goodbye.unwrap();
    let seen = peer.seen(3);
    let refused = seen.frames == 0 && matches!(seen.reset, None | Some(REFUSED));
    assert!(seen.status == 200 || refused, "{}", peer.summary());
    assert!(seen.status == 0 || last_stream >= 3, "{}", peer.summary());
}
