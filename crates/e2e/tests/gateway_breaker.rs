//! Upstreams that fail for long: they are asked little, then left alone, then tried again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::log;
use e2e::wait::eventually;
use std::net::Ipv4Addr;
use std::time::Duration;
use testkit::http::request_bytes;
use testkit::load::{Load, Stream};
use testkit::upstream::{Fault, Reply, Upstream};
use tokio::net::{TcpListener, TcpSocket};

/// Nothing is concluded from failures: each case is to be seen by itself.
const NO_BREAKER: &str = "[gateway.upstreams.main.breaker]\nsamples = 100000";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// req: GW-10
// attack: H-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_always_fails_is_asked_at_most_a_fifth_more_often() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::status(503));
    let keys = format!("limit = 200\n{NO_BREAKER}");
    let gateway = Gateway::start(&to(upstream.addr(), &keys)).await;
    let report = Load::new(gateway.door)
        .stream(Stream::new("get", 200.0))
        .stream(Stream::new("post", 100.0).body("POST", "once"))
        .duration(Duration::from_secs(3))
        .timeout(PATIENCE)
        .run()
        .await;
    let gets = report.stream("get");
    let posts = report.stream("post");
    let asked = upstream.received() - posts.intended;
    let amplified = asked as f64 / gets.intended as f64;
    println!("{report}{amplified:.3} calls per GET");
    assert!(amplified > 1.0, "nothing was tried again");
    assert!(amplified <= 1.2, "{amplified}");
    assert_eq!(
        gets.by_status.get(&503),
        Some(&gets.intended),
        "the last answer is passed on: {report}"
    );
}

// req: GW-10
// attack: H-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_an_outage_begins_nothing_that_was_saved_before_makes_it_worse() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), NO_BREAKER)).await;
    do_well(&gateway).await;
    upstream.set_default(Reply::status(503));
    let before = upstream.received();
    for _ in 0..50 {
        assert_eq!(gateway.get("/").await.status, 503);
    }
    let asked = upstream.received() - before;
    assert!((51..=60).contains(&asked), "{asked} calls for 50 requests");
}

/// A port that takes no further connection and refuses none: its queue is full, so nobody ever hears back.
async fn blackhole() -> (TcpListener, Vec<tokio::net::TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    loop {
        let connecting = tokio::net::TcpStream::connect(addr);
        match tokio::time::timeout(ms(200), connecting).await {
            Ok(connected) => fillers.push(connected.unwrap()),
            Err(_) => return (listener, fillers),
        }
    }
}

/// How long each refusal took that needed one try only, by the access log, sorted.
fn refusal_millis(gateway: &Gateway, reason: &str) -> Vec<f64> {
    let events = log::events(&gateway.process);
    let refused = events
        .iter()
        .filter(|event| event["reason"] == reason && event["tries"] == 1);
    let mut millis: Vec<f64> = refused
        .map(|event| event["total_ms"].as_f64().unwrap() - event["queue_ms"].as_f64().unwrap())
        .collect();
    assert!(millis.len() > 50, "only {} lines", millis.len());
    millis.sort_unstable_by(f64::total_cmp);
    millis
}

/// Runs a load into an upstream that never answers: its breaker opens in time, and from then on refusals are quick.
async fn assert_left_alone(gateway: &Gateway) {
    let report = Load::new(gateway.door)
        .stream(Stream::new("get", 50.0).path("/x"))
        .duration(Duration::from_secs(7))
        .timeout(PATIENCE)
        .keep_outcomes(10_000)
        .run()
        .await;
    println!("{report}");
    let is_open = |reason: &Option<String>| reason.as_deref() == Some("open-circuit");
    let began = report
        .outcomes
        .iter()
        .map(|one| one.intended)
        .min()
        .unwrap();
    let opened = report.outcomes.iter().filter(|one| is_open(&one.reason));
    let opened = opened
        .map(|one| one.ended_at)
        .min()
        .expect("it never opened")
        - began;
    assert!(opened <= Duration::from_secs(5), "opened after {opened:?}");
    let later = report
        .outcomes
        .iter()
        .filter(|one| one.intended >= began + opened);
    let mut took: Vec<_> = later.map(|one| one.ended_at - one.intended).collect();
    took.sort_unstable();
    // Seen from a client on a busy machine, and as the node itself says.
    assert!(took[took.len() * 3 / 4] <= ms(10), "{took:?}");
    let refusals = refusal_millis(gateway, "open-circuit");
    let slowest = refusals[refusals.len() * 99 / 100];
    println!("opened after {opened:?}; from then on at most {slowest} ms");
    assert!(slowest <= 10.0, "{refusals:?}");
    let answer = loop {
        // Now and then somebody has to try whether it is well again.
        let answer = gateway.get("/x").await;
        if answer.status == 503 {
            break answer;
        }
    };
    assert_refusal(&answer, 503, "open-circuit");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&wait), "{wait}");
    let mut statuses = report.streams[0].by_status.keys();
    assert!(
        statuses.all(|status| matches!(status, 429 | 502..=504)),
        "{report}"
    );
}

// req: GW-11
// attack: K-10, K-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_takes_requests_and_never_answers_is_soon_left_alone() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Fault::Silence);
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    assert_left_alone(&gateway).await;
    let probes = upstream.received();
    assert!(probes <= 40, "{probes} requests reached it in 7 s");
}

// req: GW-11
// attack: K-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_cannot_be_connected_to_is_soon_left_alone() {
    let (listener, _fillers) = blackhole().await;
    let upstream = to(listener.local_addr().unwrap(), "connect_ms = 500");
    assert_left_alone(&Gateway::start(&upstream).await).await;
}

// req: GW-08, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_connected_to_in_time_is_told_apart_from_who_is_late() {
    let (listener, _fillers) = blackhole().await;
    let routes = "[[gateway.routes]]\npath = \"/short\"\nupstream = \"main\"\ndeadline_ms = 100\n";
    let quick = format!("connect_ms = 200\n{NO_BREAKER}");
    let upstream = to(listener.local_addr().unwrap(), &quick);
    let log = "[gateway.access_log]\nlevel = \"all\"\n";
    let gateway = Gateway::start(&format!("{log}{routes}{upstream}")).await;
    assert_refusal(&gateway.get("/").await, 504, "connect-timeout");
    assert_refusal(&gateway.get("/short").await, 504, "deadline");
    let of_all_tries = || {
        log::events(&gateway.process)
            .into_iter()
            .find(|event| event["reason"] == "connect-timeout")
    };
    eventually("it is logged", PATIENCE, async || of_all_tries().is_some()).await;
    let event = of_all_tries().unwrap();
    let tries = event["tries"].as_f64().unwrap();
    assert!(tries > 1.0, "{event}");
    assert!(
        event["connect_ms"].as_f64().unwrap() >= 200.0 * tries,
        "{event}"
    );
}

/// Good answers, as many as fill the time that a breaker looks back.
async fn do_well(gateway: &Gateway) {
    let report = Load::new(gateway.door)
        .stream(Stream::new("get", 40.0))
        .duration(Duration::from_secs(10))
        .timeout(PATIENCE)
        .run()
        .await;
    let well = report.streams[0].by_status.get(&200).copied();
    assert!(well.is_some_and(|well| well > 300), "{report}");
}

// req: GW-11
// attack: K-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_falls_silent_after_it_was_well_is_left_alone_as_soon() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    do_well(&gateway).await;
    upstream.set_default(Fault::Silence);
    assert_left_alone(&gateway).await;
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_that_break_off_at_once_beside_much_that_goes_well_open_nothing() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    upstream.set("/broken", Fault::Reset);
    let broken = async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        for _ in 0..15 {
            let broken = gateway.ask("POST", "/broken", &[], b"once").await.unwrap();
            assert_eq!(broken.status, 502);
        }
    };
    tokio::join!(do_well(&gateway), broken);
    assert_eq!(gateway.get("/").await.status, 200);
}

// req: GW-11
// attack: K-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_time_takes_the_upstream_from_nobody_else() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/slow", Reply::default().delay(ms(1000)));
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let hurried = [("connection", "close"), ("request-timeout", "0.02")];
    let hurried = request_bytes("GET", "gate.test", "/slow", &hurried, b"");
    for _ in 0..60 {
        let answer = testkit::http::exchange(gateway.door, &hurried, PATIENCE);
        let answer = answer.await.unwrap();
        let reason = answer.header("x-macronode-reason");
        assert_ne!(reason, Some("open-circuit"), "{answer:?}");
    }
    for _ in 0..10 {
        assert_eq!(gateway.get("/").await.status, 200);
    }
}

// req: GW-11
// attack: K-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_is_well_again_is_tried_by_one_and_then_by_all() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Fault::Reset);
    let breaker = "[gateway.upstreams.main.breaker]\nopen_ms = 500\n";
    let gateway = Gateway::start(&to(upstream.addr(), breaker)).await;
    eventually("the breaker opens", PATIENCE, async || {
        let answer = gateway.get("/").await;
        answer.header("x-macronode-reason") == Some("open-circuit")
    })
    .await;
    upstream.set_default(Reply::default().delay(ms(200)));
    let before = upstream.received();
    tokio::time::sleep(ms(600)).await;
    let herd: Vec<_> = (0..20)
        .map(|_| {
            let (door, request) = (
                gateway.door,
                request_bytes("GET", "gate.test", "/", &[("connection", "close")], b""),
            );
            tokio::spawn(async move { testkit::http::exchange(door, &request, PATIENCE).await })
        })
        .collect();
    let mut well = 0;
    for one in herd {
        well += u32::from(one.await.unwrap().unwrap().status == 200);
    }
    assert_eq!(well, 1, "one probe at a time");
    assert_eq!(upstream.received() - before, 1);
    eventually("all are let in again", PATIENCE, async || {
        gateway.get("/").await.status == 200
    })
    .await;
}
