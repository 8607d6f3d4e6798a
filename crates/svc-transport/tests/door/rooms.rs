//! Gates, the queue and the workers.

use bytes::Bytes;
use oap::{Directive, Problem, app_proto};
use svc_transport::ECHO;
use svc_transport::config::{GateText, TransportText};

use super::house::*;
use super::peer::Peer;

fn gate(opcode: u16, inflight: u32, waiting: u32) -> GateText {
    GateText {
        app_proto: PROBE,
        opcode,
        inflight: Some(inflight),
        waiting: Some(waiting),
        deadline_ms: None,
    }
}

fn gated(inflight: u32, waiting: u32) -> TransportText {
    TransportText {
        gates: vec![gate(WAIT, inflight, waiting)],
        ..TransportText::default()
    }
}

// req: TR-05, GT-10
#[tokio::test]
async fn who_finds_the_gate_full_is_told_when_to_come_again_and_then_only_that_it_is() {
    let house = House::open(gated(1, 0)).await;
    let mut peer = Peer::greeted(&house).await;
    let inside = peer.ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    let refused = peer.ask(PROBE, WAIT, b"").await;
    let (id, status, payload) = peer.answer().await;
    assert_eq!((id, status), (refused, 429));
    let problem = Problem::from_payload(&payload).unwrap();
    assert_eq!(problem.reason, "busy");
    let wait = problem.retry_after_ms.unwrap();
    let directive = Directive::rate_limited(PROBE, WAIT, wait);
    assert_eq!(problem.directive, Some(directive));
    // Many more at once: nearly all of them get the bare status.
    let mut told = 0;
    for _ in 0..50 {
        peer.ask(PROBE, WAIT, b"").await;
    }
    for _ in 0..50 {
        let (_, status, payload) = peer.answer().await;
        assert_eq!(status, 429);
        told += usize::from(!payload.is_empty());
    }
    assert!(told < 50, "a flood of refusals is not answered by one");
    // Another opcode has its own gate.
    let other = peer.ask(PROBE, WHO, b"").await;
    assert_eq!(peer.answer().await, (other, 200, Bytes::new()));
    house.probe.gate.add_permits(1);
    assert_eq!(peer.answer().await, (inside, 200, Bytes::from("1")));
    assert_eq!(house.metric(r#"rejected_total{reason="busy"}"#), 51);
}

// req: TR-05
#[tokio::test]
async fn so_many_wait_at_a_gate_and_are_served_in_their_order() {
    let house = House::open(gated(1, 2)).await;
    let mut peer = Peer::greeted(&house).await;
    let first = peer.ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    let (second, third) = (
        peer.ask(PROBE, WAIT, b"").await,
        peer.ask(PROBE, WAIT, b"").await,
    );
    let refused = peer.ask(PROBE, WAIT, b"").await;
    let (id, status, _) = peer.answer().await;
    assert_eq!((id, status), (refused, 429));
    for (index, expected) in [first, second, third].into_iter().enumerate() {
        house.probe.gate.add_permits(1);
        let tried = Bytes::from((index + 1).to_string());
        assert_eq!(peer.answer().await, (expected, 200, tried));
    }
}

// req: TR-05
#[tokio::test]
async fn a_gate_is_of_all_connections_and_a_new_config_moves_its_limit() {
    let house = House::open(gated(1, 0)).await;
    let mut peers = [Peer::greeted(&house).await, Peer::greeted(&house).await];
    peers[0].ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    peers[1].ask(PROBE, WAIT, b"").await;
    assert_eq!(peers[1].answer().await.1, 429);
    house.transport.prepare(&gated(2, 0)).unwrap()();
    peers[1].ask(PROBE, WAIT, b"").await;
    until("both are under way", || house.live() == 2).await;
    house.transport.prepare(&gated(1, 0)).unwrap()();
    assert_eq!(house.live(), 2, "nobody is sent away");
    let (key, report) = house.transport.gates().remove(0);
    assert_eq!((key.app_proto, key.opcode), (PROBE, WAIT));
    assert_eq!((report.capacity, report.in_use), (1, 2));
}

// req: TR-05, ND-09
#[tokio::test]
async fn a_limit_set_by_hand_holds_until_the_next_config() {
    let house = House::open(gated(1, 0)).await;
    let mut peer = Peer::greeted(&house).await;
    let set = house.transport.set_gate_limit(PROBE, WAIT, 2).unwrap();
    assert_eq!((set.configured, set.now), (1, 2));
    assert_eq!(house.transport.limits_set(), [set]);
    for _ in 0..2 {
        peer.ask(PROBE, WAIT, b"").await;
    }
    until("both are under way", || house.live() == 2).await;
    assert_eq!(house.transport.set_gate_limit(PROBE, 99, 2), None);
    assert_eq!(house.transport.set_gate_limit(99, WAIT, 2), None);
    assert_eq!(house.transport.set_gate_limit(PROBE, WAIT, 0), None);
    house.transport.prepare(&gated(1, 0)).unwrap()();
    assert_eq!(house.transport.limits_set(), []);
    peer.ask(PROBE, WAIT, b"").await;
    assert_eq!(peer.answer().await.1, 429);
}

// req: TR-05
#[tokio::test]
async fn a_full_queue_answers_busy_at_once() {
    let mut text = TransportText {
        workers: 1,
        units_per_worker: 1,
        ..TransportText::default()
    };
    text.limits.inflight = 1_024;
    let house = House::open(text).await;
    let hello = oap::Hello {
        max_inflight: 1_024,
        ..oap::Hello::full("test")
    };
    let mut peer = Peer::with(house.address, hello).await;
    peer.greet(&oap::Meta::default()).await;
    let held = peer.ask(PROBE, WAIT, b"").await;
    until("it is under way", || house.live() == 1).await;
    for _ in 0..512 {
        peer.ask(PROBE, WAIT, b"").await;
    }
    let depth = r#"queue_depth{queue="transport_work"}"#;
    until("the queue is full", || house.metric(depth) == 512).await;
    let refused = peer.ask(PROBE, WAIT, b"").await;
    let (id, status, payload) = peer.answer().await;
    assert_eq!((id, status), (refused, 429));
    let problem = Problem::from_payload(&payload).unwrap();
    assert!(problem.directive.is_some() && problem.retry_after_ms.is_some());
    assert_eq!(house.live(), 1, "one worker has one");
    house.probe.gate.add_permits(513);
    assert_eq!(peer.answer().await, (held, 200, Bytes::from("1")));
    for _ in 0..512 {
        assert_eq!(peer.answer().await.1, 200);
    }
}

#[tokio::test]
async fn a_service_that_panics_costs_one_answer() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let id = peer.ask(PROBE, PANIC, b"").await;
    let (of, status, payload) = peer.answer().await;
    assert_eq!((of, status), (id, 503));
    let problem = Problem::from_payload(&payload).unwrap();
    assert_eq!(problem.reason, "worker-lost");
    let id = peer.ask(app_proto::ECHO, ECHO, b"on").await;
    assert_eq!(peer.answer().await, (id, 200, Bytes::from("on")));
}

// req: TR-05
#[cfg(feature = "chaos")]
#[tokio::test]
async fn a_killed_worker_loses_nothing_that_may_be_repeated() {
    let house = House::open(TransportText::default()).await;
    let mut peer = Peer::greeted(&house).await;
    let (again, once) = (
        peer.ask(PROBE, WAIT, b"").await,
        peer.ask(PROBE, WAIT_ONCE, b"").await,
    );
    until("both are under way", || house.live() == 2).await;
    house.transport.kill(64);
    let (id, status, payload) = peer.answer().await;
    assert_eq!((id, status), (once, 503));
    let problem = Problem::from_payload(&payload).unwrap();
    assert_eq!(problem.reason, "worker-lost");
    house.probe.gate.add_permits(1);
    let (id, status, tried) = peer.answer().await;
    assert_eq!((id, status, &tried[..]), (again, 200, &b"3"[..]));
}
