//! Requests and answers, whole and as streams.

use bytes::Bytes;
use oap::{Event, Opening, app_proto};
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
