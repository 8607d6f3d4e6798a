//! What a runtime cannot say of itself: workers that do not yield, and the death of who keeps everything alive.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::{Duration, Instant};

use e2e::gateway::{Gateway, PATIENCE, ROOMY, origin, program, to};
use e2e::wait::eventually;
use e2e::{Node, START, run, runtime};
use serde_json::Value;
use testkit::http;
use testkit::process::{Line, Process};

const STALL_MS: u64 = 6_000;

fn sum(metrics: &testkit::process::Metrics, name: &str, who: &str) -> u64 {
    metrics.sum(name, &[("who", who)]) as u64
}

/// The log's lines of this text about this one.
fn told(process: &Process, text: &str, who: &str) -> usize {
    let lines = process.lines();
    let of = |line: &&Line| {
        let event: Value = serde_json::from_str(&line.text).unwrap_or_default();
        event["message"] == text && event["who"] == who
    };
    lines.iter().filter(of).count()
}

// attack: K-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_stalls_is_seen_counted_and_told_of_while_others_go_on() {
    let origin = origin(Duration::ZERO).await;
    let section = format!(
        "dispatch = \"pool\"\nworkers = 8\n{ROOMY}{}",
        to(origin.addr(), "limit = 1000")
    );
    // More threads than are held up, whatever the machine has.
    let threads = program(&section).args(["--set", "runtime.threads=4"]);
    let gateway = Gateway::of(threads).await;
    let single = runtime() == "single";
    assert_eq!(gateway.get("/").await.status, 200);
    let stall = format!("/chaos/stall?ms={STALL_MS}");
    let began = Instant::now();
    let (ask, door) = (gateway.ask("POST", &stall, &[], b""), gateway.door);
    assert_eq!(ask.await.unwrap().status, 200, "built with chaos?");
    let mut quick = 0;
    if !single {
        eventually("the stall is in the status", PATIENCE, async || {
            let status = http::get(gateway.admin, "/status").await.unwrap();
            let status: Value = serde_json::from_str(&status.text()).unwrap();
            status["stalls"][0]["who"] == "gateway"
        })
        .await;
        let asked = http::request_bytes("GET", "gate.test", "/", &[("connection", "close")], b"");
        for _ in 0..20 {
            let answer = http::exchange(door, &asked, PATIENCE).await;
            let in_time = began.elapsed() < Duration::from_millis(STALL_MS);
            quick += usize::from(in_time && answer.is_ok_and(|answer| answer.status == 200));
        }
        assert!(quick >= 5, "others go on: {quick} of 20");
    } else {
        // There is nobody else: the admin server cannot answer either.
        tokio::time::sleep(Duration::from_millis(STALL_MS)).await;
    }
    eventually("it is over", Duration::from_secs(30), async || {
        let metrics = gateway.metrics().await;
        sum(&metrics, "runtime_stall_seconds_count", "gateway") >= 1
    })
    .await;
    let metrics = gateway.metrics().await;
    // A machine that lets a thread wait for a second looks the same, so there may be more.
    assert!(sum(&metrics, "stalls_total", "gateway") >= 1);
    let lasted = metrics.sum("runtime_stall_seconds_sum", &[("who", "gateway")]);
    println!(
        "a worker held up for {STALL_MS} ms: seen to last {lasted:.1} s, {quick} of 20 others answered meanwhile"
    );
    assert!(told(&gateway.process, "does not yield", "gateway") >= 1);
    assert!(told(&gateway.process, "yields again", "gateway") >= 1);
    if single {
        // Its thread was everybody's.
        assert!(sum(&metrics, "stalls_total", "runtime") >= 1);
        assert!(told(&gateway.process, "does not yield", "runtime") >= 1);
    }
    assert_eq!(gateway.get("/").await.status, 200);
}

/// Kills the supervisor; the exit code, and how long it took to the end.
async fn doomed(node: &Node, query: &str) -> (Option<i32>, Duration) {
    let token = [("authorization", "Bearer doom"), ("connection", "close")];
    let path = format!("/chaos/doom{query}");
    let asked = http::request_bytes("POST", node.admin, &path, &token, b"");
    let began = Instant::now();
    // Nobody is left to answer it.
    let _ = http::exchange(node.admin, &asked, START).await;
    let ended = node.process.wait_exit(START).await.unwrap();
    (ended.code(), began.elapsed())
}

// attack: K-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_supervisor_the_process_ends_and_says_so_by_its_code() {
    const INTERNAL: Option<i32> = Some(1);
    // Longer than anybody waits here: the process must not.
    const STUCK: &str = "60000";
    let token = ["admin.token=doom"];
    let node = Node::start(&token).await;
    let (code, took) = doomed(&node, "").await;
    println!("the supervisor died: ended after {took:?}");
    assert_eq!(code, INTERNAL);

    if runtime() == "multi" {
        let node = Node::start(&token).await;
        let (code, took) = doomed(&node, &format!("?hold_ms={STUCK}")).await;
        println!("the same with a thread of the runtime held up: ended after {took:?}");
        assert_eq!(code, INTERNAL);
    }

    let stuck = run(&token).env("MACRONODE_CHAOS_LINGER_MS", STUCK);
    let (code, took) = doomed(&Node::of(stuck).await, "").await;
    println!("the same with an end that is stuck: ended after {took:?}");
    assert_eq!(code, INTERNAL);
}
