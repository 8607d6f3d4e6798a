//! What a peer may try, as the list of attacks has it, section G.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oap::{Codec, Flags, Frame, Header, Hello, Meta, Opening, app_proto};
use svc_transport::ECHO;
use svc_transport::config::TransportText;

use super::house::*;
use super::peer::Peer;

/// A request to the echo, with flags and id as wanted.
fn frame(flags: Flags, corr_id: u64, payload: &[u8]) -> Frame {
    Frame {
        header: Header {
            flags,
            code: ECHO,
            app_proto: app_proto::ECHO,
            tenant: 0,
            corr_id,
        },
        cap: Bytes::new(),
        payload: Bytes::copy_from_slice(payload),
    }
}

fn bytes(frame: &Frame) -> BytesMut {
    let mut out = BytesMut::new();
    frame.encode(&mut out).unwrap();
    out
}

/// Says something, and is told what was wrong with it.
async fn told(house: &House, raw: &[u8]) -> (u16, String) {
    let mut peer = Peer::greeted(house).await;
    peer.raw(raw).await;
    let (status, problem) = peer.farewell().await.expect("an error frame");
    (status, problem.reason.into_owned())
}

/// Others are served.
async fn others_are_served(house: &House) {
    let mut peer = Peer::greeted(house).await;
    let id = peer.ask(app_proto::ECHO, ECHO, b"fine").await;
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("fine")));
}

// req: TR-02
// attack: G-01
#[tokio::test]
async fn a_length_that_breaks_off_is_a_close_and_nothing_else() {
    let house = House::open(TransportText::default()).await;
    for cut in [&b"\0"[..], b"\0\0\0", b"\0\0\0\x36\0\x01\0\x01\0"] {
        let mut peer = Peer::connect(house.address).await;
        peer.raw(cut).await;
        peer.half_close().await;
        assert_eq!(peer.farewell().await, None);
    }
    others_are_served(&house).await;
}

// req: TR-02, TR-03
// attack: G-02, G-03, G-04, G-09, G-10, G-12, G-17
#[tokio::test]
async fn what_is_no_lawful_frame_is_named_in_an_error_frame_and_ends_its_connection() {
    let house = House::open(TransportText::default()).await;
    let (over, most) = ((1_u32 << 20) + 1, u32::MAX);
    let mut version = bytes(&frame(Flags::REQ, 2, b"x"));
    version[5] = 2;
    let mut reserved = bytes(&frame(Flags::REQ, 2, b"x"));
    reserved[6] = 0x80;
    let again = bytes(&frame(Flags::REQ, 1, b"x"));
    let tries: [(&[u8], (u16, &str)); 7] = [
        (&over.to_be_bytes(), (413, "length-over")),
        (&most.to_be_bytes(), (413, "length-over")),
        (&[0; 64], (400, "length-short")),
        (&version, (505, "version")),
        (&reserved, (400, "flags-reserved")),
        (&again, (409, "id-used")),
        (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", (413, "length-over")),
    ];
    for (raw, (status, reason)) in tries {
        assert_eq!(told(&house, raw).await, (status, reason.to_owned()));
    }
    let counted = r#"transport_violations_total{reason="length-over"}"#;
    assert_eq!(house.metric(counted), 3);
    others_are_served(&house).await;
}

// attack: G-17
#[tokio::test]
async fn who_speaks_http_instead_of_hello_is_closed() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::connect(house.address).await;
    peer.raw(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let (status, _) = peer.farewell().await.expect("an error frame");
    assert_eq!(status, 413);
}

// req: TR-03
#[tokio::test]
async fn nothing_comes_before_hello() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::connect(house.address).await;
    peer.send(frame(Flags::REQ, 1, b"x")).await;
    let (_, problem) = peer.farewell().await.expect("an error frame");
    assert_eq!(problem.reason, "hello-first");
}

fn quick() -> TransportText {
    let mut text = TransportText::default();
    text.timeouts.handshake_ms = 300;
    text.timeouts.read_ms = 300;
    text.timeouts.write_ms = 300;
    text
}

// req: TR-07
// attack: G-05
#[tokio::test]
async fn a_length_that_drips_is_closed_in_time_however_it_drips() {
    let house = House::open(quick()).await;
    let mut peer = Peer::greeted(&house).await;
    // A fourth byte would make it a length, and a bad one.
    for _ in 0..3 {
        peer.raw(&[0]).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(peer.farewell().await, None);
    assert_eq!(house.metric(r#"io_timeouts_total{op="read"}"#), 1);
}

// attack: G-05, G-06
#[tokio::test]
async fn a_frame_whose_rest_drips_or_never_arrives_is_closed_in_time() {
    let house = House::open(quick()).await;
    let whole = bytes(&frame(Flags::REQ, 2, &[7; 4_000]));
    let mut silent = Peer::greeted(&house).await;
    silent.raw(&whole[..1_000]).await;
    let mut dripping = Peer::greeted(&house).await;
    let mut rest = whole.iter();
    for byte in rest.by_ref().take(3_000) {
        if !dripping.try_raw(&[*byte]).await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(rest.len() > 1_000, "drips prolong nothing");
    assert_eq!(silent.farewell().await, None);
    assert_eq!(house.metric(r#"io_timeouts_total{op="read"}"#), 2);
}

// attack: G-05
#[tokio::test]
async fn a_hello_that_does_not_come_is_closed_in_time() {
    let house = House::open(quick()).await;
    let mut peer = Peer::connect(house.address).await;
    assert_eq!(peer.farewell().await, None);
    assert_eq!(house.metric(r#"io_timeouts_total{op="read"}"#), 1);
}

/// How long 99 of 100 requests take at most.
async fn times(peer: &mut Peer) -> Duration {
    let mut took = Vec::new();
    for _ in 0..300 {
        let began = kernel::clock::now();
        let id = peer.ask(app_proto::ECHO, ECHO, b"me too").await;
        assert_eq!(peer.answer().await, (id, 200, Bytes::from("me too")));
        took.push(kernel::clock::now() - began);
    }
    took.sort_unstable();
    took[took.len() * 99 / 100]
}

// req: TR-05
// attack: G-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_pipelined_requests_get_busy_and_others_do_not_notice() {
    let house = House::open(TransportText::default()).await;
    let mut flood = Peer::greeted(&house).await;
    let mut other = Peer::greeted(&house).await;
    let mut out = BytesMut::new();
    for id in 2..10_002 {
        let mut wait = frame(Flags::REQ, id, b"");
        (wait.header.app_proto, wait.header.code) = (PROBE, WAIT);
        wait.encode(&mut out).unwrap();
    }
    let (mut reading, mut writing) = flood.split();
    let asking = async {
        tokio::io::AsyncWriteExt::write_all(&mut writing, &out)
            .await
            .unwrap();
    };
    let heard = async {
        let (mut busy, mut noticed) = (0, 0);
        while busy < 10_000 - 64 {
            let frame = reading.frame().await.expect("it goes on");
            assert_eq!(frame.header.code, 429);
            busy += 1;
            noticed += usize::from(!frame.payload.is_empty());
        }
        (busy, noticed)
    };
    let alone = times(&mut other).await;
    let served = times(&mut other);
    let ((), (busy, noticed), beside) = tokio::join!(asking, heard, served);
    println!("99 of 100 take {alone:?} alone, {beside:?} beside 10,000 pipelined requests");
    assert_eq!(busy, 9_936);
    assert!(
        (1..busy).contains(&noticed),
        "{noticed} of {busy} were told more"
    );
    let agreed = "as many as were agreed on are under way";
    until(agreed, || house.live() == 64).await;
}

// req: TR-04
// attack: G-14
#[tokio::test]
async fn a_bomb_is_refused_and_its_connection_goes_on() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let bomb = Codec::Zstd.compress(&vec![0; 9 << 20]).unwrap();
    assert!(bomb.len() < 64 * 1024);
    let opening = Opening {
        app_proto: PROBE,
        opcode: COUNT,
        comp: true,
        ..Opening::default()
    };
    let id = peer.open(&opening, &bomb, true).await;
    let (of, status, payload) = peer.answer().await;
    assert_eq!((of, status), (id, 413));
    let problem = oap::Problem::from_payload(&payload).unwrap();
    assert_eq!(problem.reason, "decoded-ratio");
    // What does not grow beyond measure is read.
    let fine = Codec::Zstd.compress(&vec![0; 60_000]).unwrap();
    let id = peer.open(&opening, &fine, true).await;
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("60000")));
}

// req: TR-04
// attack: G-11
#[tokio::test]
async fn a_wrong_checksum_ends_the_connection() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let mut broken = Codec::Zstd.compress(b"what was meant").unwrap().to_vec();
    *broken.last_mut().unwrap() ^= 1;
    let opening = Opening {
        app_proto: PROBE,
        opcode: COUNT,
        comp: true,
        ..Opening::default()
    };
    peer.open(&opening, &broken, true).await;
    let (status, problem) = peer.farewell().await.expect("an error frame");
    assert_eq!((status, &*problem.reason), (400, "payload-broken"));
}

// req: TR-02
// attack: G-16
#[tokio::test]
async fn frames_cut_at_every_byte_mean_the_same() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::connect(house.address).await;
    peer.stream.set_nodelay(true).unwrap();
    let hello = peer.session.hello(&Meta::default()).unwrap();
    let mut out = bytes(&hello);
    frame(Flags::REQ, 2, b"one").encode(&mut out).unwrap();
    frame(Flags::REQ | Flags::START, 3, b"t")
        .encode(&mut out)
        .unwrap();
    let mut rest = frame(Flags::REQ | Flags::END, 3, b"wo");
    rest.header.code = 0;
    rest.encode(&mut out).unwrap();
    for byte in &out {
        peer.raw(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    peer.half_close().await;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    while let Some(frame) = peer.frame().await {
        match frame.header.corr_id {
            2 => one.extend_from_slice(&frame.payload),
            3 => two.extend_from_slice(&frame.payload),
            _ => {}
        }
    }
    assert_eq!((&one[..], &two[..]), (&b"one"[..], &b"two"[..]));
}

// attack: G-12
#[tokio::test]
async fn an_id_that_is_in_use_is_not_used_again() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    peer.send(frame(Flags::REQ, id, b"again")).await;
    let (status, problem) = peer.farewell().await.expect("an error frame");
    assert_eq!((status, &*problem.reason), (409, "id-used"));
    until("its work has stopped", || house.live() == 0).await;
}

// req: TR-06
// attack: G-13
#[tokio::test]
async fn a_peer_that_never_reads_is_closed_at_the_write_timeout_and_costs_little() {
    let house = House::open(quick()).await;
    let hello = Hello {
        window: 1 << 30,
        ..Hello::full("deaf")
    };
    let mut peer = Peer::with(house.address, hello).await;
    peer.greet(&Meta::default()).await;
    peer.ask(PROBE, MANY, b"500000000").await;
    let closed = r#"io_timeouts_total{op="write"}"#;
    until("it is closed", || house.metric(closed) == 1).await;
    let open = r#"connections_open{door="transport.tcp"}"#;
    until("its place is free", || house.metric(open) == 0).await;
    others_are_served(&house).await;
}

// req: TR-06
#[tokio::test]
async fn a_stream_without_credit_is_broken_off_alone() {
    let house = House::open(quick()).await;
    let mut peer = Peer::greeted(&house).await;
    let stuck = peer.ask(PROBE, MANY, b"5000000").await;
    let reset = loop {
        match peer.event().await {
            oap::Event::Reset { id, reset } => break (id, reset),
            oap::Event::Response { .. } | oap::Event::Data { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((reset.0, reset.1.status), (stuck, 408));
    let id = peer.ask(app_proto::ECHO, ECHO, b"still here").await;
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("still here")));
    assert_eq!(house.metric("transport_stalled_total"), 1);
}

// req: TR-07
// attack: G-15
#[tokio::test]
async fn a_half_close_is_answered_and_then_closed() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, WAIT, b"").await;
    peer.half_close().await;
    until("it is under way", || house.live() == 1).await;
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("1")));
    assert!(peer.frame().await.is_none(), "closed");
}

// req: TR-02
// attack: G-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_interleaved_parts_of_frames_harm_nobody() {
    let house = House::open(TransportText::default()).await;
    let mut peers = Vec::new();
    for _ in 0..200 {
        peers.push(Peer::greeted(&house).await);
    }
    let whole = bytes(&frame(Flags::REQ, 2, &[7; 50_000]));
    let (front, back) = whole.split_at(whole.len() / 2);
    for part in [front, back] {
        for piece in part.chunks(6_000) {
            for peer in &mut peers {
                peer.raw(piece).await;
            }
        }
        if part == front {
            others_are_served(&house).await;
        }
    }
    for peer in &mut peers {
        let (_, status, payload) = peer.untracked().await;
        assert_eq!((status, payload.len()), (200, 50_000));
    }
}
