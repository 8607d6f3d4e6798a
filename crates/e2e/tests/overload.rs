//! More than the node can do: it refuses at once, in the same words everywhere, and serves what it can.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::Duration;

use e2e::wait::eventually;
use e2e::{Node, log, run};
use serde_json::Value;
use testkit::http::{self, Connection, request_bytes};
use testkit::load::{Load, Stream};

const PATIENCE: Duration = Duration::from_secs(10);
/// Two workers with four units of 20 ms each, and twice that is asked of them.
const CAPACITY_PER_S: f64 = 400.0;
const SMALL: [&str; 2] = ["demo.workers=2", "demo.units_per_worker=4"];

async fn metric(node: &Node, name: &str, labels: &[(&str, &str)]) -> u64 {
    node.process.metric(name, labels).await.unwrap() as u64
}

// req: KN-04, KN-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twice_the_load_is_refused_at_once_and_the_half_that_fits_is_served() {
    const SECONDS: u64 = 4;
    // The queue fills first; what waits in it must not run into the deadline instead.
    let node = Node::start(&[&SMALL[..], &["demo.deadline_ms=10000"]].concat()).await;
    let work = Stream::new("work", 2.0 * CAPACITY_PER_S).path("/work?ms=20");
    let load = Load::new(node.demo)
        .stream(work)
        .duration(Duration::from_secs(SECONDS))
        .timeout(PATIENCE)
        .max_connections(2000);
    let report = load.run().await;
    let work = report.stream("work");
    let refused = work.by_status.get(&429).copied().unwrap_or_default();
    let served_per_s = work.ok as f64 / report.elapsed.as_secs_f64();
    let refusal = &work.refusal_latency;
    println!(
        "{report}served {served_per_s:.0}/s of {CAPACITY_PER_S}/s; {refused} refused, p50 {:?}, p99 {:?}, max {:?}",
        refusal.p50(),
        refusal.p99(),
        refusal.max()
    );
    assert!(refused > 0, "nothing was refused: the test shows nothing");
    assert_eq!(work.ok + refused, work.intended, "{report}");
    assert_eq!(work.by_reason.get("busy"), Some(&refused));
    assert!(
        refusal.p99() <= Duration::from_secs(1),
        "{:?}",
        refusal.p99()
    );
    assert!(served_per_s >= 0.7 * CAPACITY_PER_S, "{served_per_s}/s");
    let busy = metric(&node, "rejected_total", &[("reason", "busy")]).await;
    assert_eq!(
        busy, refused,
        "what the node counted is what the clients saw"
    );
    let queue = [("queue", "work")];
    assert_eq!(metric(&node, "queue_dropped_total", &queue).await, 0);
    assert_eq!(metric(&node, "queue_depth", &queue).await, 0);
}

// req: KN-04, KN-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_why_and_when_to_come_again_in_header_and_body() {
    let node = Node::start(&[&SMALL[..], &["demo.deadline_ms=60000"]].concat()).await;
    // Eight units run and 512 wait: all that fits.
    let request = request_bytes("GET", node.demo, "/work?ms=30000", &[], b"");
    let mut waiting = Vec::new();
    for _ in 0..520 {
        let mut connection = Connection::open(node.demo, PATIENCE).await.unwrap();
        connection.send(&request).await.unwrap();
        waiting.push(connection);
    }
    eventually("the queue is full", PATIENCE, async || {
        metric(&node, "queue_depth", &[("queue", "work")]).await == 512
    })
    .await;
    let answer = http::get(node.demo, "/work?ms=1").await.unwrap();
    assert_eq!(answer.status, 429);
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(answer.header("x-macronode-reason"), Some("busy"));
    let retry_after = answer.header("retry-after").unwrap();
    assert!(retry_after.parse::<u64>().unwrap() >= 1, "{retry_after}");
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["reason"], "busy");
    assert_eq!(body["status"], 429);
    assert_eq!(body["retryable"], true);
    assert_eq!(
        metric(&node, "rejected_total", &[("reason", "busy")]).await,
        1
    );
    // Clients that go away free what they held, in the queue and with the workers.
    drop(waiting);
    eventually("the queue is served again", PATIENCE, async || {
        let answer = http::get(node.demo, "/work?ms=1").await;
        answer.is_ok_and(|answer| answer.status == 200)
    })
    .await;
}

// attack: K-20
// req: KN-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_stderr_slows_no_request_and_what_it_costs_is_counted() {
    let node = Node::of(run(&["log.level=trace"]).leave_stderr_unread()).await;
    let work = Stream::new("work", 300.0).path("/work?ms=5");
    let load = Load::new(node.demo)
        .stream(work)
        .duration(Duration::from_secs(3))
        .timeout(PATIENCE);
    // Each of these connections ends early, which the node tells in its log; more often than lines may wait.
    for _ in 0..8000 {
        let mut connection = Connection::open(node.demo, PATIENCE).await.unwrap();
        connection.send(b"GET /wo").await.unwrap();
    }
    let report = load.run().await;
    let work = report.stream("work");
    let dropped = metric(&node, "queue_dropped_total", &[("queue", "telemetry")]).await;
    println!("{report}{dropped} log lines dropped");
    assert_eq!(work.by_status.get(&200), Some(&work.intended), "{report}");
    assert!(work.latency.p99() <= Duration::from_secs(2), "{report}");
    assert!(
        dropped > 0,
        "the log was never stuck: the test shows nothing"
    );
    assert!(node.process.signal(libc::SIGTERM).unwrap());
    let status = node.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(
        status.code(),
        Some(0),
        "a stuck log does not keep the node from ending"
    );
}

// req: KN-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_leave_no_descriptors_and_no_tasks_behind() {
    let node = Node::start(&[]).await;
    assert_eq!(
        http::get(node.demo, "/work?ms=1").await.unwrap().status,
        200
    );
    let settled = |fds: usize| {
        let process = &node.process;
        async move || process.open_fds().unwrap() <= fds
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = node.process.open_fds().unwrap();
    for _ in 0..5 {
        let mut connections = Vec::new();
        for _ in 0..200 {
            connections.push(Connection::open(node.demo, PATIENCE).await.unwrap());
        }
        let request = request_bytes("GET", node.demo, "/work?ms=5", &[], b"");
        for (index, mut connection) in connections.into_iter().enumerate() {
            match index % 4 {
                // Answered, gone before the answer, reset, and never heard of.
                0 => drop(connection.exchange(&request, PATIENCE).await.unwrap()),
                1 => connection.send(&request).await.unwrap(),
                2 => connection.reset().unwrap(),
                _ => drop(connection),
            }
        }
        eventually("all descriptors are closed", PATIENCE, settled(before)).await;
    }
    eventually("no connection is open", PATIENCE, async || {
        metric(&node, "connections_open", &[("door", "demo")]).await == 0
    })
    .await;
    assert!(node.process.signal(libc::SIGTERM).unwrap());
    assert_eq!(
        node.process.wait_exit(PATIENCE).await.unwrap().code(),
        Some(0)
    );
    let connections = log::books(&node.process).await["connection"];
    assert!(connections.spawned > 1000, "{connections:?}");
    assert_eq!(connections.aborted, 0, "{connections:?}");
}

// req: KN-05, KN-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_nodes_one_after_the_other_start_serve_and_end_on_the_same_address() {
    let port = testkit::process::Port::reserve().unwrap();
    let listen = format!("demo.listen={}", port.addr());
    for cycle in 0..50 {
        let node = Node::start(&[listen.as_str()]).await;
        let answer = http::get(node.demo, "/work?ms=0").await.unwrap();
        assert_eq!(answer.status, 200, "cycle {cycle}");
        assert!(node.process.signal(libc::SIGTERM).unwrap());
        let status = node.process.wait_exit(PATIENCE).await.unwrap();
        assert_eq!(status.code(), Some(0), "cycle {cycle}: {status}");
        log::books(&node.process).await;
    }
}
