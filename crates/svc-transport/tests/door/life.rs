//! How long a connection may live doing what, and how it ends.

use std::time::Duration;

use bytes::Bytes;
use kernel::drain::Outcome;
use oap::{Event, Meta, Opening, app_proto};
use svc_transport::ECHO;
use svc_transport::config::TransportText;

use super::house::*;
use super::peer::Peer;

// req: TR-07
#[tokio::test]
async fn a_connection_on_which_nothing_happens_is_told_so_and_closed() {
    let mut text = TransportText::default();
    text.timeouts.idle_ms = 300;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, WAIT, b"").await;
    // Whoever waits for an answer is not idle.
    tokio::time::sleep(Duration::from_millis(700)).await;
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("1")));
    let Event::GoAway(away) = peer.event().await else {
        panic!("it is told");
    };
    assert_eq!(&away.reason[..], b"idle");
    assert!(peer.frame().await.is_none(), "closed");
}

// req: TR-06
#[tokio::test]
async fn a_reset_stops_the_work() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    let reset = peer.session.cancel(id).unwrap();
    peer.send(reset).await;
    until("its work has stopped", || house.live() == 0).await;
    until("its place is free", || {
        house.metric("transport_inflight") == 0
    })
    .await;
    let id = peer.ask(app_proto::ECHO, ECHO, b"next").await;
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("next")));
    assert_eq!(house.metric(r#"transport_canceled_total{by="reset"}"#), 1);
}

#[tokio::test]
async fn a_client_that_is_gone_stops_the_work() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    for _ in 0..3 {
        peer.ask(PROBE, WAIT, b"").await;
    }
    until("they are under way", || house.live() == 3).await;
    peer.reset();
    until("their work has stopped", || house.live() == 0).await;
    let lost = r#"transport_canceled_total{by="lost"}"#;
    until("they are counted", || house.metric(lost) == 3).await;
}

#[tokio::test]
async fn opening_and_resetting_in_turn_gets_no_more_done_than_was_agreed_on() {
    let mut text = TransportText::default();
    text.limits.inflight = 4;
    let house = House::open(text).await;
    let mut peer = Peer::greeted(&house).await;
    for _ in 0..500 {
        let id = peer.ask(PROBE, WAIT, b"").await;
        let reset = peer.session.cancel(id).unwrap();
        peer.send(reset).await;
    }
    let asked = peer.ask(app_proto::ECHO, ECHO, b"after").await;
    loop {
        match peer.event().await {
            Event::Response { header, .. } if header.corr_id == asked => break,
            Event::Dropped | Event::Response { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    until("all work has stopped", || house.live() == 0).await;
}

// req: TR-05
#[tokio::test]
async fn a_deadline_is_kept_and_its_work_stops() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    for deadline_ms in [0, 100] {
        let opening = Opening {
            app_proto: PROBE,
            opcode: WAIT,
            meta: Meta {
                deadline_ms: Some(deadline_ms),
                ..Meta::default()
            },
            ..Opening::default()
        };
        let id = peer.open(&opening, b"", true).await;
        let (of, status, payload) = peer.answer().await;
        assert_eq!((of, status), (id, 504));
        let problem = oap::Problem::from_payload(&payload).unwrap();
        assert_eq!(problem.reason, "deadline");
    }
    until("their work has stopped", || house.live() == 0).await;
}

// req: TR-07
#[tokio::test]
async fn a_drain_says_goaway_finishes_what_is_under_way_and_closes() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let mut idle = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    house.drain();
    let Event::GoAway(away) = peer.event().await else {
        panic!("it is told");
    };
    assert_eq!((away.last_id, away.status), (id, 503));
    // Requests that come all the same are refused, and may go elsewhere.
    let mut late = peer.plain_request(id + 1);
    late.header.app_proto = app_proto::ECHO;
    peer.send(late).await;
    let (of, status, _) = peer.untracked().await;
    assert_eq!((of, status), (id + 1, 503));
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("1")));
    assert!(peer.frame().await.is_none(), "closed");
    assert!(matches!(idle.event().await, Event::GoAway(_)));
    assert!(idle.frame().await.is_none(), "closed");
    assert_eq!(house.ended().await, Outcome::Drained);
}

// req: TR-06, TR-07
#[tokio::test]
async fn a_drain_lets_streams_come_to_their_end() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, MANY, b"3000000").await;
    let Event::Response { payload, .. } = peer.event().await else {
        panic!("it begins");
    };
    house.drain();
    // Without credit it stands still until the drain has begun.
    let (mut bytes, mut owed, mut told) = (payload.len(), payload.len(), false);
    let mut ended = false;
    while !ended {
        match peer.event().await {
            Event::Data { header, payload } => {
                bytes += payload.len();
                owed += payload.len();
                ended = header.ends();
            }
            Event::GoAway(_) => told = true,
            other => panic!("{other:?}"),
        }
        if told && let Some(grant) = peer.session.consumed(id, std::mem::take(&mut owed)) {
            peer.send(grant).await;
        }
    }
    assert_eq!(bytes, 3_000_000);
    assert!(peer.frame().await.is_none(), "closed");
    assert_eq!(house.ended().await, Outcome::Drained);
}

// req: TR-07
#[tokio::test]
async fn a_full_door_asks_those_without_a_request_to_leave() {
    let mut text = TransportText::default();
    text.limits.connections = 2;
    let house = House::open(text).await;
    let mut busy = Peer::greeted(&house).await;
    let id = busy.ask(PROBE, WAIT, b"").await;
    let mut idle = Peer::greeted(&house).await;
    let mut newcomer = Peer::connect(house.address).await;
    newcomer.greet(&Meta::default()).await;
    let Event::GoAway(away) = idle.event().await else {
        panic!("it is told");
    };
    assert_eq!(&away.reason[..], b"crowded");
    house.probe.gate.add_permits(1);
    assert_eq!(busy.answer().await, (id, 200, Bytes::from("1")));
}
