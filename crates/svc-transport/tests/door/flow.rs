//! Requests and answers, whole and as streams.

use bytes::Bytes;
use oap::{Event, Meta, Opening, app_proto};
use svc_transport::ECHO;
use svc_transport::config::TransportText;

use super::house::*;
use super::peer::Peer;

// req: TR-03
#[tokio::test]
async fn what_is_asked_is_answered_in_any_order() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let slow = peer.ask(PROBE, WAIT, b"").await;
    let quick = peer.ask(app_proto::ECHO, ECHO, b"hello").await;
    assert_eq!(peer.answer().await, (quick, 200, Bytes::from("hello")));
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (slow, 200, Bytes::from("1")));
}

// req: TR-06
#[tokio::test]
async fn a_stream_goes_back_as_it_comes_under_credit() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let opening = Opening {
        app_proto: app_proto::ECHO,
        opcode: ECHO,
        ..Opening::default()
    };
    let id = peer.open(&opening, b"first", false).await;
    let (mut sent, mut heard) = (5, 0);
    let total = 1_000_000;
    loop {
        while let Some(room @ 1..) = peer.session.sendable(id)
            && sent < total
        {
            let piece = Bytes::from(vec![7; room.min(total - sent)]);
            sent += piece.len();
            let frame = peer.session.data(id, piece, sent == total).unwrap();
            peer.send(frame).await;
        }
        match peer.event().await {
            Event::Response { header, payload } | Event::Data { header, payload } => {
                heard += payload.len();
                if header.ends() {
                    break;
                }
                if let Some(grant) = peer.session.consumed(id, payload.len()) {
                    peer.send(grant).await;
                }
            }
            Event::Credit(of) => assert_eq!(of, id),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, total);
}

// req: TR-06
#[tokio::test]
async fn a_large_answer_comes_in_chunks_under_credit() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    for bytes in [0, 1, 65_536, 65_537, 2_000_000] {
        let id = peer.ask(PROBE, MANY, bytes.to_string().as_bytes()).await;
        assert_eq!(peer.all(id).await, (200, bytes));
    }
}

// req: TR-06
#[tokio::test]
async fn a_request_that_nobody_reads_does_not_hold_up_its_connection() {
    let mut text = TransportText::default();
    text.limits.window_bytes = 65_536;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    let opening = Opening {
        app_proto: PROBE,
        opcode: DEAF,
        ..Opening::default()
    };
    let stuck = peer.open(&opening, &[0; 60_000], false).await;
    until("it is under way", || house.live() == 1).await;
    let quick = peer.ask(app_proto::ECHO, ECHO, b"past it").await;
    assert_eq!(peer.answer().await, (quick, 200, Bytes::from("past it")));
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (stuck, 200, Bytes::from("1")));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_told_by_reset() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, BREAK, b"").await;
    let Event::Response { payload, .. } = peer.event().await else {
        panic!("it begins");
    };
    assert_eq!(&payload[..], b"some");
    let Event::Reset { id: of, reset } = peer.event().await else {
        panic!("it breaks off");
    };
    assert_eq!(
        (of, reset.status, &reset.reason[..]),
        (id, 502, &b"broken-off"[..])
    );
}

// req: TR-03
#[tokio::test]
async fn what_is_not_there_is_refused_by_name() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    for (app_proto, opcode, status, reason) in
        [(999, 1, 404, "no-service"), (PROBE, 999, 501, "no-opcode")]
    {
        peer.ask(app_proto, opcode, b"").await;
        let (_, code, payload) = peer.answer().await;
        let problem = oap::Problem::from_payload(&payload).unwrap();
        assert_eq!((code, &*problem.reason), (status, reason));
    }
}

// attack: H-02
#[tokio::test]
async fn a_tenant_that_no_credential_says_is_refused() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let opening = Opening {
        app_proto: app_proto::ECHO,
        opcode: ECHO,
        tenant: 0xdd,
        ..Opening::default()
    };
    peer.open(&opening, b"mine", true).await;
    let (_, status, payload) = peer.answer().await;
    let problem = oap::Problem::from_payload(&payload).unwrap();
    assert_eq!((status, &*problem.reason), (403, "tenant-unproven"));
}

#[tokio::test]
async fn the_credential_of_hello_holds_for_requests_that_bring_none() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::connect(house.address).await;
    let token = |text: &'static str| Meta {
        token: Some(Bytes::from(text)),
        ..Meta::default()
    };
    peer.greet(&token("of the connection")).await;
    let mut opening = Opening {
        app_proto: PROBE,
        opcode: WHO,
        ..Opening::default()
    };
    peer.open(&opening, b"", true).await;
    assert_eq!(&peer.answer().await.2[..], b"of the connection");
    opening.meta = token("of the request");
    peer.open(&opening, b"", true).await;
    assert_eq!(&peer.answer().await.2[..], b"of the request");
}

// req: TR-04
#[tokio::test]
async fn a_compressed_stream_is_read_as_one() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    // Half a byte of noise in each: it shrinks, but not by much.
    let noise =
        (0..100_000_u64).map(|index| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u8);
    let noise: Vec<u8> = noise.collect();
    let packed = oap::Codec::Zstd.compress(&noise).unwrap();
    let opening = Opening {
        app_proto: PROBE,
        opcode: COUNT,
        comp: true,
        ..Opening::default()
    };
    let (first, rest) = packed.split_at(packed.len() / 2);
    let id = peer.open(&opening, first, false).await;
    let rest = Bytes::copy_from_slice(rest);
    let last = peer.session.data(id, rest, true).unwrap();
    peer.send(last).await;
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("100000")));
}

// req: TR-03
#[tokio::test]
async fn a_ping_is_answered() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let ping = peer.session.ping(*b"are you?").unwrap();
    peer.send(ping).await;
    assert_eq!(peer.event().await, Event::Pong(*b"are you?"));
}
