//! Every key of the config does something; those that others show are shown there.

use bytes::Bytes;
use oap::{Hello, Meta, Opening, app_proto};
use svc_transport::ECHO;
use svc_transport::config::{GateText, TransportText};

use super::house::*;
use super::peer::Peer;

// req: TR-03
#[tokio::test]
async fn hello_agrees_on_the_lesser_of_what_both_can() {
    let mut text = TransportText::default();
    text.limits.inflight = 5;
    text.limits.frame_bytes = 70_000;
    text.limits.window_bytes = 100_000;
    let house = House::open(text).await;
    let mut peer = Peer::connect(house.address).await;
    let agreed = peer.greet(&Meta::default()).await;
    assert_eq!(
        (agreed.max_inflight, agreed.max_frame, agreed.window),
        (5, 70_000, 100_000)
    );
    let hello = Hello {
        max_inflight: 3,
        max_frame: 9_000,
        ..Hello::full("small")
    };
    let mut peer = Peer::with(house.address, hello).await;
    let agreed = peer.greet(&Meta::default()).await;
    assert_eq!((agreed.max_inflight, agreed.max_frame), (3, 9_000));
}

// req: TR-03
#[tokio::test]
async fn a_frame_beyond_what_was_agreed_on_ends_the_connection() {
    let mut text = TransportText::default();
    text.limits.frame_bytes = 10_000;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    let mut large = peer.plain_request(2);
    large.payload = Bytes::from(vec![0; 10_000]);
    peer.send(large).await;
    let (status, problem) = peer.farewell().await.expect("an error frame");
    assert_eq!((status, &*problem.reason), (413, "length-over"));
}

#[tokio::test]
async fn more_at_once_than_inflight_is_busy() {
    let mut text = TransportText::default();
    text.limits.inflight = 2;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    for _ in 0..2 {
        peer.ask(PROBE, WAIT, b"").await;
    }
    let mut third = peer.plain_request(100);
    (third.header.app_proto, third.header.code) = (PROBE, WAIT);
    peer.send(third).await;
    let (id, status, _) = peer.untracked().await;
    assert_eq!((id, status), (100, 429));
}

#[tokio::test]
async fn an_address_comes_so_often_and_no_oftener() {
    let mut text = TransportText::default();
    text.limits.accepts_per_ip = 1;
    let house = House::open(text).await;
    let mut refused = 0;
    for _ in 0..20 {
        let mut peer = Peer::connect(house.address).await;
        let hello = peer.session.hello(&Meta::default()).unwrap();
        let mut out = bytes::BytesMut::new();
        hello.encode(&mut out).unwrap();
        refused += usize::from(!peer.try_raw(&out).await || peer.frame().await.is_none());
    }
    assert!(refused > 0);
    let cut = r#"connections_cut_total{door="transport.tcp",reason="rate"}"#;
    assert_eq!(house.metric(cut), refused as u64);
}

// req: TR-06
#[tokio::test]
async fn no_more_is_read_while_so_many_bytes_are_under_way() {
    let mut text = TransportText::default();
    text.limits.held_bytes = 65_536;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    let large = vec![0; 70_000];
    let first = peer.ask(PROBE, DEAF, &large).await;
    until("it is under way", || house.live() == 1).await;
    let second = peer.ask(app_proto::ECHO, ECHO, b"later").await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(
        house.metric(r#"transport_requests_total{opcode="echo",status="2xx"}"#),
        0
    );
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (first, 200, Bytes::from("1")));
    assert_eq!(peer.answer().await, (second, 200, Bytes::from("later")));
}

#[tokio::test]
async fn a_gate_says_how_long_an_answer_may_take() {
    let text = TransportText {
        gates: vec![GateText {
            app_proto: PROBE,
            opcode: WAIT,
            inflight: None,
            waiting: None,
            deadline_ms: Some(100),
        }],
        ..TransportText::default()
    };
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    let opening = Opening {
        app_proto: PROBE,
        opcode: WAIT,
        meta: Meta {
            deadline_ms: Some(3_600_000),
            ..Meta::default()
        },
        ..Opening::default()
    };
    let id = peer.open(&opening, b"", true).await;
    let (of, status, _) = peer.answer().await;
    assert_eq!((of, status), (id, 504));
}

// req: TR-06
#[tokio::test]
async fn a_stream_that_stands_still_is_refused_in_time() {
    let mut text = TransportText::default();
    text.timeouts.write_ms = 200;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    let opening = Opening {
        app_proto: PROBE,
        opcode: COUNT,
        ..Opening::default()
    };
    let id = peer.open(&opening, b"only this", false).await;
    let (of, status, payload) = peer.answer().await;
    assert_eq!((of, status), (id, 408));
    let problem = oap::Problem::from_payload(&payload).unwrap();
    assert_eq!(problem.reason, "body-timeout");
}
