use super::*;
use crate::http::{Failure, get};
use crate::process::Port;
use crate::upstream::{Fault, Reply, Upstream};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Stops the whole origin for 500 ms, 300 ms after the load has begun: one place, taken for long.
async fn stall_once(upstream: &Upstream) {
    tokio::time::sleep(ms(300)).await;
    get(upstream.addr(), "/?delay_ms=500").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stall_is_charged_to_every_request_intended_during_it() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(1);
    let load = Load::new(upstream.addr())
        .stream(Stream::new("s", 200.0))
        .duration(ms(1200));
    let (report, ()) = tokio::join!(load.run(), stall_once(&upstream));
    let s = report.stream("s");
    assert_eq!(
        (s.intended, s.sent, s.ok),
        (240, 240, 240),
        "rate times time\n{report}"
    );
    assert!(
        s.latency.max() >= ms(480) && s.latency.p99() >= ms(450),
        "{report}"
    );
    // Due in the stall's first 400 ms of 500: 80 requests, each waiting for its end.
    assert!(
        s.latency.count_at_least(ms(100)) >= 70,
        "{}",
        s.latency.count_at_least(ms(100))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_loop_charges_a_stall_to_its_workers_only() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(1);
    let load = Load::new(upstream.addr())
        .stream(Stream::new("s", 0.0))
        .duration(ms(1000))
        .closed(2);
    let (report, ()) = tokio::join!(load.run(), stall_once(&upstream));
    let s = report.stream("s");
    assert!(s.ok > 100 && s.intended == s.ok, "{report}");
    assert!(
        (1..=2).contains(&s.latency.count_at_least(ms(300))),
        "{report}"
    );
    assert!(report.connections <= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_keep_their_own_rate_path_and_headers() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set(
        "/b",
        Reply::status(429).header("x-macronode-reason", "queue-full"),
    );
    let load = Load::new(upstream.addr())
        .stream(Stream::new("a", 100.0).path("/a").tenant("ann"))
        .stream(Stream::new("b", 50.0).path("/b").body("POST", "x"))
        .duration(ms(500));
    let report = load.run().await;
    let (a, b) = (report.stream("a"), report.stream("b"));
    assert_eq!((a.intended, a.ok, a.by_status[&200]), (50, 50, 50));
    assert_eq!((b.intended, b.ok, b.by_status[&429]), (25, 0, 25));
    assert_eq!(b.by_reason["queue-full"], 25);
    assert_eq!((b.latency.count(), b.refusal_latency.count()), (0, 25));
    let seen = upstream.requests();
    let tenants = |path| {
        let heads = seen
            .iter()
            .filter_map(|r| r.head.as_ref().ok())
            .filter(move |h| h.path() == path);
        heads
            .filter(|head| head.headers.get("x-tenant") == Some("ann"))
            .count()
    };
    assert_eq!((tenants("/a"), tenants("/b")), (50, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_reused_and_capped_and_waiting_for_one_counts() {
    let upstream = Upstream::start().await.unwrap();
    // 20 a second for each of two connections, asked for 80: the rest waits.
    let stream = Stream::new("s", 80.0).path("/?delay_ms=50");
    let load = Load::new(upstream.addr())
        .stream(stream)
        .duration(ms(500))
        .max_connections(2)
        .timeout(ms(5000));
    let report = load.run().await;
    assert_eq!(
        (
            report.stream("s").ok,
            report.connections,
            upstream.connections()
        ),
        (40, 2, 2)
    );
    assert!(report.stream("s").latency.max() >= ms(450), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exceeds_the_outstanding_requests_is_counted() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Fault::Silence);
    let stream = Stream::new("s", 100.0);
    let load = Load::new(upstream.addr())
        .stream(stream)
        .duration(ms(300))
        .max_outstanding(4)
        .timeout(ms(2000));
    let running = load.start();
    tokio::time::sleep(ms(500)).await;
    drop(upstream);
    let report = running.finish().await;
    let s = report.stream("s");
    assert_eq!((s.intended, s.sent, s.overflow), (30, 4, 26), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_of_failing_is_counted_apart() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/silent", Fault::Silence);
    upstream.set("/reset", Fault::Reset);
    upstream.set("/middle", Fault::ResetAt(3));
    upstream.set("/short", Fault::LengthLong(3));
    upstream.set("/garbage", Fault::Garbage);
    let paths = ["/silent", "/reset", "/middle", "/short", "/garbage"];
    let mut load = Load::new(upstream.addr())
        .duration(ms(200))
        .timeout(ms(600));
    for path in paths {
        load = load.stream(Stream::new(path, 25.0).path(path));
    }
    let report = load.run().await;
    let failed = |path: &str, failure| {
        assert_eq!(report.stream(path).failed(failure), 5, "{path}\n{report}")
    };
    failed("/silent", Failure::Timeout);
    failed("/reset", Failure::ResetBeforeByte);
    failed("/middle", Failure::ResetMidResponse);
    failed("/short", Failure::Truncated);
    let garbage = &report.stream("/garbage").failures;
    assert!(
        garbage
            .keys()
            .all(|f| matches!(f, Failure::Malformed(_) | Failure::Truncated)),
        "{report}"
    );
    assert_eq!(garbage.values().sum::<u64>(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listening_is_refused_at_once() {
    let port = Port::reserve().unwrap();
    let report = Load::new(port.addr())
        .stream(Stream::new("s", 50.0))
        .duration(ms(200))
        .run()
        .await;
    assert_eq!(
        report.stream("s").failed(Failure::ConnectRefused),
        10,
        "{report}"
    );
    assert!(report.elapsed < ms(1200));
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_up_requests_are_sent_but_not_reported() {
    let upstream = Upstream::start().await.unwrap();
    let load = Load::new(upstream.addr())
        .stream(Stream::new("s", 100.0))
        .warm_up(ms(200))
        .duration(ms(400));
    let report = load.run().await;
    assert_eq!((report.stream("s").intended, upstream.received()), (20, 40));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_load_ends_early_with_all_its_outcomes() {
    let upstream = Upstream::start().await.unwrap();
    let stream = Stream::new("s", 200.0).path("/?delay_ms=30");
    let load = Load::new(upstream.addr())
        .stream(stream)
        .duration(Duration::from_secs(60))
        .keep_outcomes(1000);
    let running = load.start();
    let started = running.started();
    tokio::time::sleep(ms(300)).await;
    let stopped = Instant::now();
    assert!(running.answered() > 0);
    running.stop();
    let report = running.finish().await;
    let s = report.stream("s");
    assert!(
        (20..=70).contains(&s.intended) && s.ok == s.intended,
        "{report}"
    );
    assert_eq!(report.outcomes.len() as u64, s.intended);
    for outcome in &report.outcomes {
        let (connected, written) = (outcome.connected_at.unwrap(), outcome.written_at.unwrap());
        assert!(started <= outcome.intended && outcome.intended <= stopped + ms(20));
        assert!(
            outcome.intended <= connected && connected <= written && written <= outcome.ended_at
        );
        assert!(outcome.ended_at - outcome.intended >= ms(30));
        assert_eq!(outcome.result, Ok(200));
    }
    assert!(
        report
            .outcomes
            .iter()
            .any(|outcome| outcome.reused_connection)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_the_server_closed_while_idle_is_not_used_again() {
    let upstream = Upstream::start().await.unwrap();
    upstream.close_after(1);
    let load = Load::new(upstream.addr())
        .stream(Stream::new("s", 20.0))
        .duration(ms(500));
    let report = load.run().await;
    assert_eq!(
        (report.stream("s").ok, report.connections),
        (10, 10),
        "{report}"
    );
}
