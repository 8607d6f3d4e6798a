//! Windows for uploads: what the door lets a client send is all that it takes.

use super::*;

const PIECE: usize = 1 << 14;

/// Sends as much as a stream's window holds; the size of the last piece is what is left.
async fn fill(peer: &mut Peer, stream: u32, less: i64) {
    loop {
        let (own, all) = peer.rooms(stream);
        let length = (own.min(all) - less).min(PIECE as i64);
        if length <= 0 {
            return;
        }
        peer.upload(stream, 0, &vec![b'x'; length as usize]).await;
    }
}

/// That a client is told it sent too much.
async fn is_told_off(peer: &mut Peer, stream: u32) {
    peer.until("a word about it", |peer| {
        peer.goodbye.is_some() || peer.seen(stream).is_over()
    })
    .await;
    let reason = peer
        .goodbye
        .map(|goodbye| goodbye.1)
        .or(peer.seen(stream).reset);
    assert_eq!(
        reason,
        Some(FLOW_CONTROL),
        "{}: {}",
        peer.case,
        peer.summary()
    );
}

#[tokio::test]
async fn more_than_a_window_holds_is_an_error() {
    let ground = Ground::open(lenient()).await;
    for (name, flags, payload) in [
        ("a byte too many", 0, &b"x"[..]),
        ("a last byte too many", END_STREAM, b"x"),
        ("padding too much", PADDED, &[0][..]),
        ("padding alone", PADDED, &[3, 0, 0, 0][..]),
    ] {
        let mut peer = Peer::open(&ground, &[]).await;
        peer.case = name.into();
        peer.send(&begun(1, &asking("POST", "/hold"))).await;
        peer.settle().await;
        fill(&mut peer, 1, 0).await;
        peer.settle().await;
        assert_eq!(peer.rooms(1).0, 0, "nobody took anything");
        assert!(
            !peer.seen(1).is_over() && peer.goodbye.is_none(),
            "all that is allowed"
        );
        peer.upload(1, flags, payload).await;
        is_told_off(&mut peer, 1).await;
        if peer.goodbye.is_none() {
            peer.is_well(3).await;
        }
    }
    // Padding is what goes beyond.
    let mut peer = Peer::open(&ground, &[]).await;
    peer.case = "padding beyond".into();
    peer.send(&begun(1, &asking("POST", "/hold"))).await;
    peer.settle().await;
    fill(&mut peer, 1, 100).await;
    peer.upload(1, PADDED, &[&[90][..], &[b'x'; 10], &[0; 90]].concat())
        .await;
    is_told_off(&mut peer, 1).await;
}

#[tokio::test]
async fn more_than_the_window_of_all_is_an_error_of_the_connection() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    let streams = peer.theirs.get(&STREAMS).copied().unwrap_or(100).min(100);
    for number in 0..streams {
        let stream = number * 2 + 1;
        peer.send(&begun(stream, &asking("POST", "/hold"))).await;
        fill(&mut peer, stream, 0).await;
        if peer.rooms(stream).1 <= 0 {
            break;
        }
    }
    peer.settle().await;
    assert!(peer.goodbye.is_none(), "all that is allowed");
    let open: Vec<_> = (0..streams).map(|number| number * 2 + 1).collect();
    let stream = open
        .iter()
        .copied()
        .find(|stream| peer.rooms(*stream).0 > 0);
    // Where each stream may fill its own window, that of all holds as much as they do together.
    let (stream, by_one) = stream.map_or((1, true), |stream| (stream, false));
    let beyond = peer.rooms(stream).1.max(0) as usize + 1;
    if by_one || beyond <= PIECE {
        peer.upload(stream, 0, &vec![b'x'; beyond.min(PIECE)]).await;
        is_told_off(&mut peer, stream).await;
    }
}

#[tokio::test]
async fn what_is_read_makes_room_and_so_does_padding() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    let padded = [&[255][..], b"x", &[0; 255]].concat();
    peer.send(&begun(1, &asking("POST", "/tell"))).await;
    for _ in 0..3000 {
        peer.until_room(1, padded.len()).await;
        peer.upload(1, PADDED, &padded).await;
    }
    peer.upload(1, END_STREAM, b"").await;
    assert!(peer.answer(1).await.text().contains("body 3000\n"));
    peer.send(&begun(3, &asking("POST", "/tell"))).await;
    for _ in 0..100 {
        peer.until_room(3, PIECE).await;
        peer.upload(3, 0, &[b'x'; PIECE]).await;
    }
    peer.upload(3, END_STREAM, b"").await;
    let body = format!("body {}\n", 100 * PIECE);
    assert!(peer.answer(3).await.text().contains(&body));
}

#[tokio::test]
async fn a_body_nobody_reads_waits_and_is_in_no_others_way() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    peer.send(&begun(1, &asking("POST", "/hold"))).await;
    peer.settle().await;
    fill(&mut peer, 1, 0).await;
    peer.settle().await;
    let filled = peer.rooms(1).0;
    assert_eq!(filled, 0, "nobody reads");
    peer.is_well(3).await;
    peer.send(&begun(5, &asking("POST", "/echo"))).await;
    peer.until_room(5, 5).await;
    peer.upload(5, END_STREAM, b"other").await;
    assert_eq!(peer.answer(5).await.text(), "other");
    ground.mirror.gate.0.add_permits(1);
    for _ in 0..20 {
        peer.until_room(1, PIECE).await;
        peer.upload(1, 0, &[b'x'; PIECE]).await;
    }
    peer.upload(1, END_STREAM, b"").await;
    let seen = peer.answer(1).await;
    assert!(
        seen.status == 200 && seen.reset.is_none(),
        "{}",
        peer.summary()
    );
}

#[tokio::test]
async fn what_is_thrown_away_is_given_back_to_all() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    // More than the window of all, on streams that nobody reads and that are given up.
    let all = peer.rooms(1).1 + (1 << 20);
    let (mut sent, mut stream) = (0, 1);
    while sent < all {
        peer.send(&begun(stream, &asking("POST", "/hold"))).await;
        let own = peer.rooms(stream).0;
        for _ in 0..own / PIECE as i64 {
            peer.until_room(stream, PIECE).await;
            peer.upload(stream, 0, &[b'x'; PIECE]).await;
            sent += PIECE as i64;
        }
        peer.send(&reset(stream, CANCEL)).await;
        // Not each of them is asked after: who resets much and pings much is a flood.
        if stream % 20 == 1 {
            peer.settle().await;
        }
        stream += 2;
    }
    peer.is_well(stream).await;
}

#[tokio::test]
async fn who_answers_before_it_reads_answers_in_full() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    for (stream, length) in [(1, 5), (3, 30_000), (5, 0)] {
        peer.send(&begun(stream, &asking("POST", &format!("/bytes/{length}"))))
            .await;
        peer.send(&data(stream, b"part of a body")).await;
        peer.until("the end of the answer", |peer| peer.seen(stream).ended)
            .await;
        let seen = peer.seen(stream);
        assert!(
            seen.status == 200 && seen.body == pattern(length),
            "{}",
            peer.summary()
        );
        // The rest is on its way while the door says that it does not care.
        peer.send(&data(stream, b"more of it")).await;
        peer.send(&last(stream, b"the rest")).await;
        peer.settle().await;
        let reason = peer.seen(stream).reset;
        assert!(
            matches!(reason, None | Some(NO_ERROR | STREAM_CLOSED)),
            "{reason:?}"
        );
    }
    peer.is_well(7).await;
}
