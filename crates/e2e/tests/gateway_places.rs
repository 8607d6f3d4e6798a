//! Places of an upstream: who holds one uses it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use e2e::gateway::{Gateway, PATIENCE, TRUSTED, assert_refusal, to};
use e2e::wait::eventually;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use testkit::http::{Connection, request_bytes};
use testkit::load::{Load, Stream};
use testkit::upstream::{Fault, Reply, Upstream, filler};
use tokio::net::TcpStream;

/// Two routes to one upstream with so many places.
fn section(upstream: &Upstream, limit: u32, reports: &str) -> String {
    format!(
        "{TRUSTED}[[gateway.routes]]\nname = \"pages\"\nupstream = \"main\"\n\
         [[gateway.routes]]\nname = \"reports\"\npath = \"/reports\"\nupstream = \"main\"\n{reports}\n\
         [gateway.upstreams.main]\nendpoints = [\"http://{}\"]\nlimit = {limit}\n",
        upstream.addr()
    )
}

async fn asks(gateway: &Gateway, path: &str, tenant: &str) -> Connection {
    let mut connection = Connection::open(gateway.door, PATIENCE).await.unwrap();
    let request = request_bytes("GET", "gate.test", path, &[("x-tenant", tenant)], b"");
    connection.send(&request).await.unwrap();
    connection
}

// req: GW-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_its_route_keeps_nobody_of_another_from_a_place() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set(
        "/reports",
        Reply::default().delay(Duration::from_millis(1_500)),
    );
    let reports = "inflight = 2\nwaiting = 6\ndeadline_ms = 9000";
    let gateway = Gateway::start(&section(&upstream, 8, reports)).await;
    let mut waiting = Vec::new();
    for _ in 0..8 {
        waiting.push(asks(&gateway, "/reports", "noisy").await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for _ in 0..6 {
        let asked = Instant::now();
        let page = gateway.get_with("/page", &[("x-tenant", "polite")]).await;
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(
            asked.elapsed() < Duration::from_millis(400),
            "a place was free"
        );
    }
    let full = gateway.get_with("/reports", &[("x-tenant", "noisy")]).await;
    assert_refusal(&full, 429, "route-busy");
    for mut one in waiting {
        let answer = one.response(PATIENCE).await.unwrap();
        assert_eq!(answer.status, 200, "who waited has its turn");
    }
}

// req: GW-07, AC-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_slowly_keeps_nobody_from_a_place_for_long() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/large", Reply::default().body(filler(48 << 20)));
    let gateway = Gateway::start(&section(&upstream, 4, "")).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        slow.push(asks(&gateway, "/large", "slow").await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    loop {
        let page = gateway.get_with("/page", &[("x-tenant", "polite")]).await;
        if page.status == 200 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(4), "{}", page.text());
    }
    for mut one in slow {
        let answer = one.response(Duration::from_secs(30)).await.unwrap();
        assert_eq!(answer.body.len(), 48 << 20, "it goes on as it was");
    }
}

/// Begins an upload of so many bytes, and sends this much of it.
async fn uploads(gateway: &Gateway, length: usize, begun: usize) -> Connection {
    let mut connection = Connection::open(gateway.door, PATIENCE).await.unwrap();
    let head = format!(
        "POST /up HTTP/1.1\r\nhost: gate.test\r\nx-tenant: slow\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.send(head.as_bytes()).await.unwrap();
    connection.send(&filler(begun)).await.unwrap();
    connection
}

// req: GW-04, AC-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sends_a_small_body_slowly_keeps_nobody_from_a_place() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/up", Reply::default().delay(Duration::from_millis(300)));
    let uploads_may_last = section(&upstream, 4, "deadline_ms = 20000").replace("/reports", "/up");
    let no_streams = "[gateway.limits]\nstreams_per_tenant = 0\n";
    let gateway = Gateway::start(&(uploads_may_last + no_streams)).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        slow.push(uploads(&gateway, 1_000, 10).await);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..10 {
        let asked = Instant::now();
        let page = gateway.get_with("/page", &[("x-tenant", "polite")]).await;
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(
            asked.elapsed() < Duration::from_millis(400),
            "a place is free"
        );
    }
    assert_eq!(upstream.received(), 10, "it hears of no upload yet");
    for one in &mut slow {
        one.send(&filler(990)).await.unwrap();
    }
    for one in &mut slow {
        let answer = one.response(PATIENCE).await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let bodies = upstream
        .requests()
        .into_iter()
        .map(|asked| asked.body.len());
    assert_eq!(bodies.filter(|length| *length == 1_000).count(), 4);
}

// req: GW-04, AC-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sends_large_bodies_slowly_keeps_no_more_places_than_its_part() {
    let upstream = Upstream::start().await.unwrap();
    let uploads_may_last = section(&upstream, 4, "deadline_ms = 20000").replace("/reports", "/up");
    let gateway = Gateway::start(&uploads_may_last).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        slow.push(uploads(&gateway, 900_000, 100_000).await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (began, mut served) = (Instant::now(), 0);
    while served < 10 {
        let page = gateway.get_with("/page", &[("x-tenant", "polite")]).await;
        served += u32::from(page.status == 200);
        assert!(began.elapsed() < Duration::from_secs(3), "{}", page.text());
    }
    let mut ended = Vec::new();
    for mut one in slow {
        // Who had to go may no longer be listened to.
        let _sent = one.send(&filler(800_000)).await;
        ended.push(one.response(PATIENCE).await.unwrap());
    }
    let had_to_go = ended.iter().filter(|answer| answer.status != 200);
    for answer in had_to_go.clone() {
        assert_refusal(answer, 408, "body-timeout");
    }
    assert!((1..=2).contains(&had_to_go.count()), "its part is two");
}

// req: FQ-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_and_on_keeps_nobody_from_a_place_for_ever() {
    let upstream = Upstream::start().await.unwrap();
    let drops = Fault::Slow { bytes_per_s: 20 };
    let report = Reply::default().body(filler(200)).chunked().fault(drops);
    upstream.set("/reports", report);
    let gateway = Gateway::start(&section(&upstream, 4, "deadline_ms = 600")).await;
    let mut tails = Vec::new();
    for _ in 0..4 {
        tails.push(asks(&gateway, "/reports", "tails").await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    the_polite_is_served_soon(&gateway).await;
    for mut one in tails {
        let answer = one.response(Duration::from_secs(20)).await.unwrap();
        assert_eq!(answer.body, filler(200), "it goes on as it was");
    }
}

async fn the_polite_is_served_soon(gateway: &Gateway) {
    let began = Instant::now();
    loop {
        let page = gateway.get_with("/page", &[("x-tenant", "polite")]).await;
        if page.status == 200 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(4), "{}", page.text());
    }
}

async fn over_http2(gateway: &Gateway) -> SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(gateway.door).await.unwrap();
    let mut client = Builder::new(TokioExecutor::new());
    client.initial_stream_window_size(64 * 1024);
    let (sender, connection) = client.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// The upstream is never waited for: its client takes all the time, and is never so slow that the door would say so.
// req: FQ-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_end_keeps_nobody_from_a_place_however_steadily_it_is_read() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/reports", Fault::EndlessBody);
    let gateway = Gateway::start(&section(&upstream, 4, "deadline_ms = 600")).await;
    let mut tails = Vec::new();
    for _ in 0..4 {
        let mut sender = over_http2(&gateway).await;
        let request = Request::get("http://gate.test/reports").header("x-tenant", "tails");
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        tails.push(tokio::spawn(async move {
            let mut body = answer.into_body();
            while let Some(Ok(_piece)) = body.frame().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }));
    }
    // Until all that lies between is full.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    the_polite_is_served_soon(&gateway).await;
    for tail in tails {
        assert!(!tail.is_finished(), "it goes on as it was");
        tail.abort();
    }
}

/// Places become more while those who wait for one share connections, which hear of it from each other then.
// req: GT-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_several_connections_wait_for_places_that_become_more() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(Duration::from_millis(20)));
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let mut senders = Vec::new();
    for _ in 0..3 {
        senders.push(over_http2(&gateway).await);
    }
    let began = Instant::now();
    let mut served = 0;
    while began.elapsed() < Duration::from_secs(3) {
        let mut answers = Vec::new();
        for round in 0..60 {
            let request = Request::get("http://gate.test/");
            let request = request.body(Empty::<Bytes>::new()).unwrap();
            answers.push(senders[round % 3].send_request(request));
        }
        for answer in answers {
            let status = answer.await.unwrap().status();
            assert!(status == 200 || status == 429, "{status}");
            served += u32::from(status == 200);
        }
    }
    let metrics = gateway.metrics().await;
    let waits = metrics.sum("fq_wait_seconds_count", &[]);
    assert!(
        waits > 0.0 && served > 1_000,
        "{waits} waited, {served} served"
    );
    assert!(metrics.sum("upstream_limit", &[]) > 16.0, "it became more");
}

// req: GW-01, GW-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_place_finds_a_connection_that_no_stream_has() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(Duration::from_millis(20)));
    let events = Reply::default().header("content-type", "text/event-stream");
    upstream.set("/events", events.fault(Fault::StallAt(1)));
    let keys = "connections = 4\nlimit = 20";
    let gateway = Gateway::start(&to(upstream.addr(), keys)).await;
    let streams = async |expected: f64| {
        eventually("they are streams", PATIENCE, async || {
            gateway.metrics().await.sum("gateway_streams", &[]) == expected
        })
        .await;
    };
    let all_answered = async |least: u64| {
        let load = Load::new(gateway.door).stream(Stream::new("get", 0.0));
        let load = load.closed(10).duration(Duration::from_secs(1));
        let report = load.timeout(PATIENCE).run().await;
        let get = report.stream("get");
        assert!(get.ok > least && get.ok == get.intended, "{report}");
    };
    let first = [(); 2].map(|()| asks(&gateway, "/events", "slow"));
    let first = futures_util::future::join_all(first).await;
    streams(2.0).await;
    all_answered(30).await;
    let more = [(); 2].map(|()| asks(&gateway, "/events", "slow"));
    let more = futures_util::future::join_all(more).await;
    streams(4.0).await;
    assert_refusal(&gateway.get("/other").await, 503, "connections-full");
    drop((first, more));
    streams(0.0).await;
    all_answered(90).await;
}

// req: GW-16, GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_at_an_endpoint_that_is_gone_take_nothing_from_the_next() {
    let [old, new] = [Upstream::start().await, Upstream::start().await].map(Result::unwrap);
    let events = Reply::default().header("content-type", "text/event-stream");
    old.set("/events", events.fault(Fault::StallAt(1)));
    new.set_default(Fault::Silence);
    let keys = "connections = 4\nlimit = 20";
    let gateway = Gateway::start(&to(old.addr(), keys)).await;
    let streams = [(); 4].map(|()| asks(&gateway, "/events", "slow"));
    let streams = futures_util::future::join_all(streams).await;
    eventually("they are streams", PATIENCE, async || {
        gateway.metrics().await.sum("gateway_streams", &[]) == 4.0
    })
    .await;
    gateway.reload(&to(new.addr(), keys)).await;
    let mut asked = Vec::new();
    for _ in 0..4 {
        asked.push(asks(&gateway, "/", "polite").await);
    }
    eventually(
        "each has a place, and none an answer",
        PATIENCE,
        async || new.received() == 4,
    )
    .await;
    drop((streams, asked));
}

// req: GW-02, FQ-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_to_end_for_others_leaves_them_its_connection_with_its_place() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/large", Reply::default().body(filler(48 << 20)));
    let no_streams = "[gateway.limits]\nstreams_per_tenant = 0\n";
    let section = section(&upstream, 4, "") + "connections = 4\n" + no_streams;
    let gateway = Gateway::start(&section).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        slow.push(asks(&gateway, "/large", "slow").await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Its clients read nothing, and so hear of nothing.
    the_polite_is_served_soon(&gateway).await;
    for _ in 0..20 {
        let page = gateway.get_with("/page", &[("x-tenant", "polite")]).await;
        assert_eq!(page.status, 200, "{}", page.text());
    }
    eventually("the upstream is let go", PATIENCE, async || {
        upstream.abandoned() >= 1
    })
    .await;
}
