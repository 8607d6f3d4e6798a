//! Windows for answers: the door sends what they hold, and never more.

use super::*;

const MOST: u32 = (1 << 31) - 1;

#[tokio::test]
async fn updates_of_nothing_and_of_too_much_are_errors() {
    let mut cases = Cases::default();
    let open = begun(1, &asking("POST", "/hang"));
    let behind = |bytes: Vec<u8>| [open.clone(), bytes].concat();
    cases.dies("an update of nothing", PROTOCOL, update(0, 0));
    cases.dies(
        "an update of the reserved bit",
        PROTOCOL,
        update(0, 1 << 31),
    );
    cases.resets(
        "an update of a stream by nothing",
        PROTOCOL,
        behind(update(1, 0)),
    );
    cases.dies("too much at once", FLOW_CONTROL, update(0, MOST));
    let twice = [update(0, MOST - 65_535), update(0, 1)].concat();
    cases.dies("too much in two steps", FLOW_CONTROL, twice);
    cases.ignored("as much as there may be", update(0, MOST - 65_535));
    cases.resets(
        "too much for a stream",
        FLOW_CONTROL,
        behind(update(1, MOST)),
    );
    let twice = [update(1, MOST - 65_535), update(1, 1)].concat();
    cases.resets(
        "too much for a stream in two steps",
        FLOW_CONTROL,
        behind(twice),
    );
    cases.ignored(
        "as much as a stream may have",
        behind(update(1, MOST - 65_535)),
    );
    let more = [update(1, 1), settings(&[(INITIAL_WINDOW, MOST)])].concat();
    cases.dies(
        "settings that are too much for a stream",
        FLOW_CONTROL,
        behind(more),
    );
    let first = settings(&[(INITIAL_WINDOW, MOST)]);
    cases.ignored("settings that are just enough", behind(first));
    cases.hold().await;
}

#[tokio::test]
async fn an_answer_waits_for_its_window() {
    let ground = Ground::open(lenient()).await;
    for body in ["/bytes/100", "/pieces/100"] {
        let mut peer = Peer::open(&ground, &[(INITIAL_WINDOW, 0)]).await;
        peer.send(&whole(1, &ask(body))).await;
        peer.until("a head", |peer| peer.seen(1).status == 200)
            .await;
        peer.settle().await;
        assert_eq!(peer.received(1), 0);
        let mut granted = 0;
        for by in [1, 2, 30, 7] {
            peer.grant(1, by).await;
            granted += by as usize;
            peer.until("what is granted", |peer| peer.received(1) == granted)
                .await;
            assert!(!peer.seen(1).ended);
        }
        // More for all that were opened before, and for those to come.
        peer.set(&[(INITIAL_WINDOW, 10)]).await;
        peer.until("ten more", |peer| peer.received(1) == granted + 10)
            .await;
        peer.grant(1, 1000).await;
        let seen = peer.answer(1).await;
        assert!(seen.body == pattern(100) && seen.reset.is_none());
        // What has no body needs no window.
        peer.set(&[(INITIAL_WINDOW, 0)]).await;
        peer.send(&whole(3, &ask("/empty"))).await;
        let seen = peer.answer(3).await;
        assert_eq!((seen.status, seen.ended, seen.body.len()), (200, true, 0));
        peer.send(&whole(5, &ask("/only-trailers"))).await;
        assert!(peer.answer(5).await.trailers.is_some());
    }
}

#[tokio::test]
async fn a_window_may_fall_below_nothing() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[(INITIAL_WINDOW, 1000)]).await;
    peer.grant(0, 1 << 20).await;
    peer.send(&whole(1, &ask("/bytes/5000"))).await;
    peer.until("the first thousand", |peer| peer.received(1) == 1000)
        .await;
    peer.set(&[(INITIAL_WINDOW, 400)]).await;
    peer.until("an acknowledgement", |peer| peer.acks == 2)
        .await;
    // 600 below nothing.
    for by in [1, 500, 98] {
        peer.grant(1, by).await;
        peer.settle().await;
        assert_eq!(peer.received(1), 1000, "still below");
    }
    peer.grant(1, 1).await;
    peer.settle().await;
    assert_eq!(peer.received(1), 1000, "just at nothing");
    peer.grant(1, 1).await;
    peer.until("one byte", |peer| peer.received(1) == 1001)
        .await;
    // Down again, and up by settings alone: 1001 are out, 601 of the stream's own were granted.
    peer.set(&[(INITIAL_WINDOW, 0)]).await;
    peer.set(&[(INITIAL_WINDOW, 399)]).await;
    peer.set(&[(INITIAL_WINDOW, 400)]).await;
    peer.until("acknowledgements", |peer| peer.acks == 5).await;
    peer.settle().await;
    assert_eq!(peer.received(1), 1001);
    peer.set(&[(INITIAL_WINDOW, 405)]).await;
    peer.until("five bytes", |peer| peer.received(1) == 1006)
        .await;
    peer.settle().await;
    assert_eq!(peer.received(1), 1006);
    peer.set(&[(INITIAL_WINDOW, 65_535)]).await;
    assert!(peer.answer(1).await.body == pattern(5000));
}

#[tokio::test]
async fn all_answers_share_the_window_of_the_connection() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[(INITIAL_WINDOW, 1 << 20)]).await;
    let length = 200_000;
    for stream in [1, 3] {
        peer.send(&whole(stream, &ask(&format!("/bytes/{length}"))))
            .await;
    }
    let both = |peer: &Peer| peer.received(1) + peer.received(3);
    let mut granted = 65_535;
    peer.until("the first window", |peer| both(peer) == granted)
        .await;
    peer.settle().await;
    assert_eq!(both(&peer), granted);
    while granted < 2 * length {
        let by = 20_000.min(2 * length - granted);
        granted += by;
        peer.grant(0, by as u32).await;
        peer.until("what is granted", |peer| both(peer) == granted)
            .await;
        if peer.received(1).max(peer.received(3)) < length && granted > 180_000 {
            let least = peer.received(1).min(peer.received(3));
            assert!(least > granted / 8, "one gets {least} of {granted}");
        }
    }
    for stream in [1, 3] {
        assert!(peer.answer(stream).await.body == pattern(length));
    }
    // A stream without a window is in nobody's way.
    peer.set(&[(INITIAL_WINDOW, 0)]).await;
    peer.send(&whole(5, &ask("/bytes/50000"))).await;
    peer.until("a head", |peer| peer.seen(5).status == 200)
        .await;
    peer.send(&whole(7, &ask("/bytes/50000"))).await;
    peer.grant(7, 50_000).await;
    peer.grant(0, 50_000).await;
    assert!(peer.answer(7).await.body == pattern(50_000));
    assert_eq!(peer.received(5), 0);
}

#[tokio::test]
async fn answers_are_cut_to_the_frames_their_client_takes() {
    let ground = Ground::open(lenient()).await;
    for (most, body) in [
        (1 << 14, "bytes"),
        (1 << 14, "pieces"),
        (20_000, "bytes"),
        ((1 << 24) - 1, "bytes"),
    ] {
        let wide = [(FRAME_MAX, most), (INITIAL_WINDOW, 1 << 20)];
        let mut peer = Peer::open(&ground, &wide).await;
        peer.until("an acknowledgement", |peer| peer.acks == 1)
            .await;
        peer.grant(0, 1 << 20).await;
        peer.send(&whole(1, &ask(&format!("/{body}/300000")))).await;
        let seen = peer.answer(1).await;
        assert!(seen.body == pattern(300_000), "{most}");
        assert!(
            seen.pieces.iter().all(|piece| *piece <= most as usize),
            "{:?}",
            seen.pieces
        );
    }
}

#[tokio::test]
async fn a_reset_stops_its_answer_and_no_other() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[(INITIAL_WINDOW, 30_000)]).await;
    for stream in [1, 3] {
        peer.send(&whole(stream, &ask("/bytes/100000"))).await;
    }
    peer.until("all that fits", |peer| {
        peer.received(1) + peer.received(3) == 60_000
    })
    .await;
    peer.send(&reset(1, CANCEL)).await;
    peer.settle().await;
    let frames = peer.seen(1).frames;
    peer.grant(0, 1 << 20).await;
    peer.grant(3, 1 << 20).await;
    assert!(peer.answer(3).await.body == pattern(100_000));
    peer.is_well(5).await;
    assert_eq!(peer.seen(1).frames, frames, "it goes on");
    until("the call ends", || {
        ground.mirror.live.load(Ordering::Relaxed) == 0
    })
    .await;
    // What was never sent of it is not missing from the window of all.
    peer.send(&whole(7, &ask("/bytes/900000"))).await;
    peer.grant(7, 1 << 20).await;
    assert!(peer.answer(7).await.body == pattern(900_000));
}
