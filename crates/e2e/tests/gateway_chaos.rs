//! Workers that die, and what is heard whoever does the work.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::gateway::{Gateway, MODES, PATIENCE, ROOMY, assert_all_well, assert_refusal, origin, to};
use e2e::readiness::Watch;
use e2e::wait::eventually;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use testkit::http::request_bytes;
use testkit::load::{Load, Report, Stream};
use testkit::upstream::{Fault, Upstream};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Workers that may die.
fn pool(upstream: SocketAddr) -> String {
    format!(
        "dispatch = \"pool\"\nworkers = 12\n{ROOMY}{}",
        to(upstream, "limit = 1000")
    )
}

async fn kill(gateway: &Gateway, workers: usize) {
    let path = format!("/chaos/kill?workers={workers}");
    let answer = gateway.ask("POST", &path, &[], b"").await.unwrap();
    assert_eq!(
        answer.status,
        200,
        "is the binary built with `--features chaos`? {}",
        answer.text()
    );
}

/// Kills one of the workers every quarter of a second until `until`. No more: who is hit twice is lost, as stated. Who
/// was hit is answered before two others have come and gone, one after the other.
async fn kill_now_and_then(gateway: &Gateway, until: Instant) {
    let mut beat = tokio::time::interval(ms(250));
    while Instant::now() < until {
        beat.tick().await;
        kill(gateway, 1).await;
        for _ in 0..2 {
            assert_eq!(gateway.get("/a").await.status, 200);
        }
    }
}

fn fate(metrics: &testkit::process::Metrics, fate: &str) -> u64 {
    let labels = [("pool", "gateway"), ("fate", fate)];
    metrics.sum("pool_units_total", &labels) as u64
}

// req: AC-04, GW-17
// attack: K-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_die_lose_nothing_that_may_be_repeated_and_one_503_tells_of_the_rest() {
    let origin = origin(ms(80)).await;
    let gateway = Gateway::start(&pool(origin.addr())).await;
    let mut watch = Watch::of_ready(gateway.admin, PATIENCE).await;
    let running = Load::new(gateway.door)
        .stream(Stream::new("get", 150.0).path("/a"))
        .stream(Stream::new("post", 100.0).path("/a").body("POST", "once"))
        .duration(Duration::from_secs(5))
        .timeout(PATIENCE)
        .start();
    kill_now_and_then(&gateway, running.started() + Duration::from_secs(5)).await;
    let killed = Instant::now();
    let report = running.finish().await;
    let recovered = watch.is("ready", PATIENCE).await;
    let metrics = gateway.metrics().await;
    let words = watch.words();
    println!(
        "{report}{} requeued, {} lost; ready {:?} after the last kill; {words:?}",
        fate(&metrics, "requeued"),
        fate(&metrics, "lost"),
        recovered.saturating_duration_since(killed),
    );
    assert_all_well(report.stream("get"));
    assert!(
        fate(&metrics, "requeued") > 0,
        "no unit was hit: the test shows nothing"
    );
    lost_once(&report, fate(&metrics, "lost"));
    assert_eq!(
        gateway.rejected("worker-lost").await,
        fate(&metrics, "lost")
    );
    assert_eq!(words[..2], ["ready", "degraded"], "{words:?}");
    let calm = |word: &String| word == "ready" || word == "degraded";
    assert!(words.iter().all(calm), "{words:?}");
    drop(watch);
    gateway.end().await;
}

/// What may not be repeated was answered, or refused for its worker.
fn lost_once(report: &Report, lost: u64) {
    let posts = report.stream("post");
    assert!(lost > 0, "no unit was hit: the test shows nothing");
    assert_eq!(posts.by_status.get(&503), Some(&lost), "{report}");
    assert_eq!(posts.by_reason.get("worker-lost"), Some(&lost), "{report}");
    assert_eq!(posts.ok + lost, posts.intended, "{report}");
}

// req: AC-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_of_the_workers_killed_at_once_are_back_soon() {
    let origin = origin(ms(20)).await;
    let gateway = Gateway::start(&pool(origin.addr())).await;
    let mut watch = Watch::of_ready(gateway.admin, PATIENCE).await;
    let load = Load::new(gateway.door).stream(Stream::new("get", 100.0).path("/a"));
    let running = load
        .duration(Duration::from_secs(2))
        .timeout(PATIENCE)
        .start();
    tokio::time::sleep(ms(500)).await;
    let killed = Instant::now();
    kill(&gateway, 6).await;
    let degraded = watch.turns("degraded", killed, PATIENCE).await;
    let back = watch.turns("ready", degraded, PATIENCE).await - killed;
    let report = running.finish().await;
    println!("{report}back after {back:?}");
    assert_all_well(report.stream("get"));
    assert!(back <= ms(1500), "{back:?}");
    assert_eq!(watch.words(), ["ready", "degraded", "ready"]);
}

// req: AC-02, GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_and_clients_that_leave_are_heard_whoever_does_the_work() {
    for dispatch in MODES {
        let origin = Upstream::start().await.unwrap();
        origin.set_default(Fault::Silence);
        let section = format!("dispatch = \"{dispatch}\"\n{}", to(origin.addr(), ""));
        let gateway = Gateway::start(&section).await;
        let mut took = Vec::new();
        for call in 1..=3 {
            let began = Instant::now();
            let answer = gateway.get_with("/", &[("request-timeout", "0.4")]).await;
            took.push(began.elapsed());
            assert_refusal(&answer, 504, "deadline");
            eventually("the late call is given up", ms(1500), async || {
                origin.abandoned() == call
            })
            .await;
        }
        // The machine may be late once.
        took.sort_unstable();
        assert!(
            took[0] >= ms(395) && took[1] <= ms(500),
            "{dispatch}: {took:?}"
        );
        let mut client = gateway.connect().await;
        let request = request_bytes("POST", "gate.test", "/", &[], b"once");
        client.send(&request).await.unwrap();
        eventually("it is under way", PATIENCE, async || origin.received() == 4).await;
        drop(client);
        eventually("the upstream is let go", ms(1500), async || {
            origin.abandoned() == 4
        })
        .await;
        gateway.end().await;
    }
}
