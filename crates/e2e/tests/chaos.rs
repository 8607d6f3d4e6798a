//! Children and workers that die under load: nobody who asked for something repeatable notices.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::{Duration, Instant};

use e2e::readiness::Watch;
use e2e::wait::eventually;
use e2e::{Node, log};
use serde_json::Value;
use testkit::http;
use testkit::load::{Load, Report, Stream, StreamReport};
use testkit::process::Metrics;

const PATIENCE: Duration = Duration::from_secs(10);

/// Ends the node; its books balance, or this fails.
async fn end(node: &Node) {
    assert!(node.process.signal(libc::SIGTERM).unwrap());
    let status = node.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
    log::books(&node.process).await;
}

fn load(node: &Node, seconds: u64) -> Load {
    Load::new(node.demo)
        .duration(Duration::from_secs(seconds))
        .timeout(PATIENCE)
}

fn gets(rate_per_s: f64) -> Stream {
    Stream::new("get", rate_per_s).path("/work?ms=10")
}

/// Every request of the stream was answered 200.
fn all_well(stream: &StreamReport) {
    let seen = (&stream.by_status, &stream.by_reason, &stream.failures);
    assert_eq!(
        stream.by_status.get(&200),
        Some(&stream.intended),
        "{seen:?}"
    );
}

/// Kills one or two of the workers every quarter of a second until `until`.
async fn kill_now_and_then(node: &Node, until: Instant) {
    let mut beat = tokio::time::interval(Duration::from_millis(250));
    for count in [1, 2].into_iter().cycle() {
        beat.tick().await;
        if Instant::now() >= until {
            break;
        }
        kill(node, count).await;
    }
}

async fn kill(node: &Node, workers: usize) {
    let path = format!("/chaos/kill?workers={workers}");
    let answer = http::post(node.demo, &path, &[], b"").await.unwrap();
    assert_eq!(
        answer.status,
        200,
        "is the binary built with `--features chaos`? {}",
        answer.text()
    );
}

/// Units of this fate.
fn fate(metrics: &Metrics, fate: &str) -> u64 {
    metrics.sum("pool_units_total", &[("fate", fate)]) as u64
}

/// What the pool says it did is what the clients saw.
fn fates_add_up(metrics: &Metrics, report: &Report) {
    let seen = |status: u16| {
        let counts = report.streams.iter().map(|stream| &stream.by_status);
        counts.filter_map(|counts| counts.get(&status)).sum::<u64>()
    };
    assert_eq!(fate(metrics, "done"), seen(200));
    assert_eq!(fate(metrics, "lost"), seen(503));
    assert_eq!(fate(metrics, "panicked"), 0);
    assert_eq!(fate(metrics, "abandoned"), 0);
}

fn restarts(metrics: &Metrics) -> u64 {
    metrics.sum("pool_worker_restarts_total", &[("pool", "demo")]) as u64
}

// req: KN-05, KN-06, KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_panics_again_and_again_harms_nobody_but_is_seen() {
    let node = Node::start(&["demo.crash_every_ms=100"]).await;
    let mut watch = Watch::start(node.admin);
    let began = Instant::now();
    let running = load(&node, 4).stream(gets(300.0)).start();
    watch.turns("degraded", began, PATIENCE).await;
    let report = running.finish().await;
    println!("{report}{:?}", watch.words());
    all_well(report.stream("get"));
    let words = watch.words();
    assert!(
        words
            .iter()
            .all(|word| word == "ready" || word == "degraded"),
        "{words:?}"
    );
    let service = [("service", "demo.flaky")];
    let restarts = node
        .process
        .metric("service_restarts_total", &service)
        .await
        .unwrap();
    assert!(restarts >= 2.0, "{restarts} restarts");
    drop(watch);
    end(&node).await;
}

// attack: K-08
// req: KN-06, KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_crashes_too_often_leaves_the_node_degraded_and_serving() {
    let node = Node::start(&["demo.crash_every_ms=50"]).await;
    // Six crashes, with backoffs that double in between, take about ten seconds.
    let within = Duration::from_secs(45);
    eventually("the crash loop is told", within, async || {
        let answer = http::get(node.admin, "/readyz").await.unwrap();
        assert_eq!(
            answer.status, 200,
            "an inessential child does not make a node unready"
        );
        let page: Value = serde_json::from_slice(&answer.body).unwrap();
        let services = page["services"].as_array().unwrap();
        let flaky = services.iter().find(|s| s["service"] == "demo.flaky");
        let reason = flaky.unwrap()["reason"].as_str().unwrap();
        page["state"] == "degraded" && reason.contains("restarted too often")
    })
    .await;
    let service = [("service", "demo.flaky")];
    let restarts = node
        .process
        .metric("service_restarts_total", &service)
        .await
        .unwrap();
    assert!(restarts >= 5.0, "{restarts} restarts");
    let crashes = log::events(&node.process);
    let delays = crashes
        .iter()
        .filter_map(|event| event["delay_ms"].as_u64());
    let delays: Vec<u64> = delays.collect();
    println!("restarted after {delays:?} ms");
    assert!((100..=500).contains(&delays[0]), "{delays:?}");
    assert!(delays.iter().all(|delay| *delay <= 5000), "{delays:?}");
    assert_eq!(
        http::get(node.demo, "/work?ms=1").await.unwrap().status,
        200
    );
    end(&node).await;
}

// req: KN-05, KN-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_killed_under_load_lose_no_repeatable_unit() {
    let node = Node::start(&["demo.workers=12"]).await;
    let mut watch = Watch::of_ready(node.admin, PATIENCE).await;
    let began = Instant::now();
    let running = load(&node, 4).stream(gets(600.0)).start();
    kill_now_and_then(&node, began + Duration::from_secs(4)).await;
    let killed = Instant::now();
    let report = running.finish().await;
    let recovered = watch
        .is("ready", PATIENCE)
        .await
        .saturating_duration_since(killed);
    let metrics = node.process.metrics().await.unwrap();
    println!(
        "{report}{} restarts, {} units requeued; ready {recovered:?} after the last kill; {:?}",
        restarts(&metrics),
        fate(&metrics, "requeued"),
        watch.words()
    );
    all_well(report.stream("get"));
    fates_add_up(&metrics, &report);
    assert!(restarts(&metrics) >= 12, "{} restarts", restarts(&metrics));
    assert!(
        fate(&metrics, "requeued") > 0,
        "no unit was hit: the test shows nothing"
    );
    let words = watch.words();
    assert_eq!(words[..2], ["ready", "degraded"], "{words:?}");
    assert!(
        words
            .iter()
            .all(|word| word == "ready" || word == "degraded"),
        "{words:?}"
    );
    drop(watch);
    end(&node).await;
}

// attack: K-04
// req: KN-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_that_may_not_be_repeated_gets_one_503_when_its_worker_dies() {
    let node = Node::start(&["demo.workers=12"]).await;
    let posts = Stream::new("post", 200.0)
        .path("/work?ms=50")
        .body("POST", "once");
    let running = load(&node, 4).stream(gets(200.0)).stream(posts).start();
    kill_now_and_then(&node, running.started() + Duration::from_secs(4)).await;
    let report = running.finish().await;
    let metrics = node.process.metrics().await.unwrap();
    println!("{report}{} units lost", fate(&metrics, "lost"));
    all_well(report.stream("get"));
    let posts = report.stream("post");
    let refused = posts.by_status.get(&503).copied().unwrap_or_default();
    assert_eq!(posts.ok + refused, posts.intended, "{report}");
    assert!(refused > 0, "no unit was hit: the test shows nothing");
    assert_eq!(posts.by_reason.get("degraded"), Some(&refused), "{report}");
    assert_eq!(
        metrics.sum("rejected_total", &[("reason", "degraded")]) as u64,
        refused
    );
    fates_add_up(&metrics, &report);
    end(&node).await;
}

// req: KN-06, KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_of_the_workers_killed_at_once_are_back_soon() {
    let node = Node::start(&["demo.workers=12"]).await;
    let mut watch = Watch::of_ready(node.admin, PATIENCE).await;
    let running = load(&node, 2).stream(gets(300.0)).start();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let killed = Instant::now();
    kill(&node, 6).await;
    let degraded = watch.turns("degraded", killed, PATIENCE).await;
    let back = watch.turns("ready", degraded, PATIENCE).await - killed;
    let report = running.finish().await;
    let metrics = node.process.metrics().await.unwrap();
    println!("{report}{} workers back after {back:?}", restarts(&metrics));
    all_well(report.stream("get"));
    fates_add_up(&metrics, &report);
    assert!(
        (4..=6).contains(&restarts(&metrics)),
        "{}",
        restarts(&metrics)
    );
    assert!(back <= Duration::from_secs(5), "{back:?}");
    assert_eq!(watch.words(), ["ready", "degraded", "ready"]);
    end(&node).await;
}
