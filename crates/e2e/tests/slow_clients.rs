//! Clients that take their time: they are closed in time, and cost nobody else anything.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use e2e::Node;
use testkit::http::{self, Connection};

const OPEN: Duration = Duration::from_secs(5);
/// The head timeout of every door, and what a busy machine may add.
const HEAD: Duration = Duration::from_secs(5);
const LATEST: Duration = Duration::from_millis(6500);

/// Sends one byte of a head after another until the door closes; says when that was.
async fn drip(door: SocketAddr, bytes: &'static [u8]) -> Duration {
    let mut connection = Connection::open(door, OPEN).await.expect("a connection");
    let began = Instant::now();
    for byte in bytes.iter().cycle() {
        if connection.send(&[*byte]).await.is_err() || began.elapsed() > LATEST * 2 {
            break;
        }
        let (_, closed) = connection
            .read_until_close(Duration::from_millis(200))
            .await;
        if closed {
            break;
        }
    }
    began.elapsed()
}

async fn silent(door: SocketAddr) -> Duration {
    let mut connection = Connection::open(door, OPEN).await.expect("a connection");
    let began = Instant::now();
    connection.read_until_close(LATEST * 2).await;
    began.elapsed()
}

/// Asks, rests longer than a head may take, and asks again on the same connection.
async fn rest(door: SocketAddr, path: &'static str) {
    let mut connection = Connection::open(door, OPEN).await.expect("a connection");
    let request = http::request_bytes("GET", door, path, &[], b"");
    for pause in [HEAD + Duration::from_secs(1), Duration::ZERO] {
        let answer = connection
            .exchange(&request, OPEN)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 200);
        tokio::time::sleep(pause).await;
    }
}

// req: KN-15
// attack: A-50
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_that_drip_and_connections_that_say_nothing_are_closed_while_resting_ones_stay() {
    let node = Node::start(&[]).await;
    let mut attacks = tokio::task::JoinSet::new();
    for door in [node.admin, node.demo] {
        for _ in 0..5 {
            attacks.spawn(drip(door, b"GET / HTTP/1.1\r\nhost: a\r\nx-slow: yes\r\n"));
            attacks.spawn(drip(door, b"x"));
            attacks.spawn(silent(door));
        }
    }
    let resting = [
        tokio::spawn(rest(node.admin, "/healthz")),
        tokio::spawn(rest(node.demo, "/work")),
    ];
    let count = attacks.len();
    while let Some(closed_after) = attacks.join_next().await {
        let closed_after = closed_after.unwrap();
        assert!(closed_after <= LATEST, "closed after {closed_after:?}");
    }
    for client in resting {
        client.await.unwrap();
    }
    let timeouts = node
        .process
        .metric("io_timeouts_total", &[("op", "read")])
        .await
        .unwrap();
    assert!(
        timeouts > 0.0 && timeouts <= count as f64,
        "{timeouts} timeouts of {count} attacks"
    );
}

async fn assert_answers(door: SocketAddr, path: &str) {
    for _ in 0..5 {
        let began = Instant::now();
        let answer = http::get(door, path).await.expect("an answer");
        assert_eq!(answer.status, 200);
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{path} took {:?}",
            began.elapsed()
        );
    }
}

// req: KN-15
// attack: A-50
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_silent_connections_at_either_door_keep_nobody_from_being_answered() {
    for silent_at_admin in [false, true] {
        let node = Node::start(&[]).await;
        let door = if silent_at_admin {
            node.admin
        } else {
            node.demo
        };
        let mut held = Vec::new();
        for _ in 0..200 {
            held.push(Connection::open(door, OPEN).await.unwrap());
        }
        assert_answers(node.demo, "/work").await;
        assert_answers(node.admin, "/healthz").await;
        drop(held);
    }
}
