//! Upstreams that fail in every way there is: each has its stated answer, and none costs more than it must.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::log;
use e2e::wait::eventually;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use testkit::http::{Failure, Response, request_bytes};
use testkit::load::{Load, Stream};
use testkit::upstream::{Fault, Reply, Upstream, filler};
use tokio::net::TcpListener;

/// Nothing is concluded from failures: each case is to be seen by itself.
const NO_BREAKER: &str = "[gateway.upstreams.main.breaker]\nsamples = 100000";

/// What the upstream of the table is given to answer in.
const DEADLINE: Duration = Duration::from_millis(600);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn hurried(upstream: SocketAddr) -> String {
    let timeouts = "[gateway.timeouts]\nrequest_ms = 600\nupstream_ms = 300\nbody_ms = 400\n";
    format!("{timeouts}{}", to(upstream, NO_BREAKER))
}

/// What a client has to see.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// A refusal: status, reason, and how often a GET reaches the upstream. A POST does so once.
    Refused(u16, &'static str, u64),
    /// The answer breaks off, or is refused where the fault was seen before anything was passed on; how often a GET
    /// reaches the upstream at most.
    Broken(u64),
}

use Expected::{Broken, Refused};

fn faults() -> Vec<(&'static str, Reply, Expected)> {
    let long = || Reply::default().body(filler(300_000));
    vec![
        // attack: K-10
        (
            "/silence",
            Fault::Silence.into(),
            Refused(504, "deadline", 1),
        ),
        (
            "/reset",
            Fault::Reset.into(),
            Refused(502, "upstream-reset", 3),
        ),
        // attack: K-11
        (
            "/reset-at",
            long().fault(Fault::ResetAt(150_000)),
            Broken(1),
        ),
        (
            "/reset-at-chunked",
            long().chunked().fault(Fault::ResetAt(150_000)),
            Broken(1),
        ),
        // attack: K-12
        (
            "/stall",
            long().chunked().fault(Fault::StallAt(150_000)),
            Broken(1),
        ),
        ("/drip", Fault::Slow { bytes_per_s: 20 }.into(), Broken(1)),
        // attack: K-13
        ("/half-close", Fault::HalfCloseAt(5).into(), Broken(3)),
        (
            "/half-close-long",
            long().fault(Fault::HalfCloseAt(150_000)),
            Broken(1),
        ),
        // attack: K-14
        (
            "/garbage",
            Fault::Garbage.into(),
            Refused(502, "upstream-garbage", 3),
        ),
        // attack: K-15
        (
            "/huge-head",
            Fault::HugeHeaders { bytes: 1 << 20 }.into(),
            Refused(502, "upstream-head", 3),
        ),
        (
            "/interim-flood",
            Fault::InterimFlood { count: 20_000 }.into(),
            Refused(502, "upstream-head", 3),
        ),
        // attack: K-16
        (
            "/length-short",
            Fault::LengthShort(5).into(),
            Refused(502, "upstream-garbage", 3),
        ),
        ("/length-long", Fault::LengthLong(5).into(), Broken(3)),
    ]
}

// req: GW-08, GW-10
// attack: K-10, K-11, K-12, K-13, K-14, K-15, K-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_has_its_stated_answer_whether_or_not_it_may_be_tried_again() {
    for dispatch in ["inline", "pool"] {
        let upstream = Upstream::start().await.unwrap();
        let section = format!("dispatch = \"{dispatch}\"\n{}", hurried(upstream.addr()));
        let gateway = Gateway::start(&section).await;
        for (path, reply, expected) in faults() {
            upstream.set(path, reply);
            for method in ["GET", "POST"] {
                assert_stated(&gateway, &upstream, (method, path), expected).await;
            }
        }
        assert_eq!(gateway.get("/well").await.status, 200);
        gateway.end().await;
    }
}

async fn assert_stated(
    gateway: &Gateway,
    upstream: &Upstream,
    (method, path): (&str, &str),
    expected: Expected,
) {
    // The retry budget is refilled by what goes well.
    let mut client = gateway.connect().await;
    for _ in 0..25 {
        let request = request_bytes("GET", "gate.test", "/well", &[], b"");
        let answer = client.exchange(&request, PATIENCE).await.unwrap();
        assert_eq!(answer.status, 200);
    }
    let before = upstream.received();
    let body: &[u8] = if method == "POST" { b"once" } else { b"" };
    let began = Instant::now();
    let answer = gateway.ask(method, path, &[], body).await;
    let (took, reached) = (began.elapsed(), upstream.received() - before);
    let seen = format!("{method} {path}: {reached} calls in {took:?}, {answer:?}");
    assert!(took < DEADLINE + ms(1000), "{seen}");
    match expected {
        Refused(status, reason, calls) => {
            let answer = answer.unwrap_or_else(|_| panic!("{seen}"));
            assert_refusal(&answer, status, reason);
            let calls = if method == "GET" { calls } else { 1 };
            assert_eq!(reached, calls, "{seen}");
        }
        Broken(most) => {
            assert!(!is_whole(answer.as_ref()), "{seen}");
            let most = if method == "GET" { most } else { 1 };
            assert!((1..=most).contains(&reached), "{seen}");
        }
    }
}

/// Whether somebody would take it for the upstream's answer.
fn is_whole(answer: Result<&Response, &Failure>) -> bool {
    answer.is_ok_and(|answer| answer.status < 400)
}

// attack: K-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_interim_answers_are_no_flood() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Fault::InterimFlood { count: 3 });
    let gateway = Gateway::start(&hurried(upstream.addr())).await;
    let answer = gateway.get("/").await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Answers the first request of each connection, and closes it when a second one comes.
async fn forgetful() -> (SocketAddr, tokio::sync::watch::Receiver<Vec<String>>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (saw, seen) = tokio::sync::watch::channel(Vec::new());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let saw = saw.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                for turn in 0..2 {
                    let read = stream.read(&mut buffer).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    let line = text.lines().next().unwrap_or_default().to_owned();
                    saw.send_modify(|lines| lines.push(format!("{turn} {line}")));
                    if turn == 0 {
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                        stream.write_all(answer).await.unwrap();
                    }
                }
            });
        }
    });
    (addr, seen)
}

// req: GW-10
// attack: K-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooled_connection_that_went_stale_is_one_silent_retry_for_what_may_be_repeated() {
    let (upstream, seen) = forgetful().await;
    let gateway = Gateway::start(&to(upstream, NO_BREAKER)).await;
    assert_eq!(gateway.get("/a").await.status, 200);
    let began = Instant::now();
    assert_eq!(gateway.get("/b").await.status, 200);
    assert!(began.elapsed() < ms(1000), "at once: {:?}", began.elapsed());
    let answer = gateway.ask("POST", "/c", &[], b"once").await.unwrap();
    assert_refusal(&answer, 502, "upstream-reset");
    let lines = seen.borrow().clone();
    let expected = ["0 GET /a", "1 GET /b", "0 GET /b", "1 POST /c"];
    let got: Vec<_> = lines
        .iter()
        .map(|line| line.strip_suffix(" HTTP/1.1").unwrap())
        .collect();
    assert_eq!(got, expected);
}

// req: GW-10
// attack: K-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooled_connection_that_went_stale_costs_no_retry_of_the_budget() {
    let (upstream, seen) = forgetful().await;
    let gateway = Gateway::start(&to(upstream, NO_BREAKER)).await;
    for turn in 0..60 {
        assert_eq!(gateway.get("/").await.status, 200, "{turn}");
    }
    // Each but the first finds the connection of the one before it.
    assert_eq!(seen.borrow().len(), 60 + 59);
}

// req: GW-10
// attack: K-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_body_of_unknown_length_goes_again_where_it_may_be_repeated() {
    let (upstream, _) = forgetful().await;
    let gateway = Gateway::start(&to(upstream, NO_BREAKER)).await;
    for (method, status) in [("PUT", 200), ("POST", 502)] {
        assert_eq!(gateway.get("/a").await.status, 200);
        let sent = format!(
            "{method} /b HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n\
             3\r\nbbb\r\n0\r\n\r\n"
        );
        let mut client = gateway.connect().await;
        let answer = client.exchange(sent.as_bytes(), PATIENCE).await.unwrap();
        assert_eq!(answer.status, status, "{method}: {}", answer.text());
    }
}

// req: GW-10
// attack: K-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_closes_after_each_answer_loses_nothing() {
    let upstream = Upstream::start().await.unwrap();
    upstream.close_after(1);
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let report = Load::new(gateway.door)
        .stream(Stream::new("get", 300.0))
        .duration(Duration::from_secs(2))
        .timeout(PATIENCE)
        .run()
        .await;
    let gets = report.stream("get");
    assert_eq!(gets.by_status.get(&200), Some(&gets.intended), "{report}");
    assert_eq!(upstream.received(), gets.intended, "none was done twice");
}

/// An address that refuses connections.
async fn nobodys() -> SocketAddr {
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    nobody.local_addr().unwrap()
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_refuses_connections_is_stepped_over_whatever_the_method() {
    let upstream = Upstream::start().await.unwrap();
    let closed = nobodys().await;
    let section = format!(
        "[[gateway.routes]]\nupstream = \"main\"\n[gateway.upstreams.main]\nbalance = \"round_robin\"\n\
         endpoints = [\"http://{closed}\", \"http://{}\"]\n",
        upstream.addr()
    );
    let gateway = Gateway::start(&section).await;
    for _ in 0..20 {
        let answer = gateway.ask("POST", "/", &[], b"once").await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(upstream.received(), 20);
    let alone = Gateway::start(&to(closed, NO_BREAKER)).await;
    for method in ["GET", "POST"] {
        let answer = alone.ask(method, "/", &[], b"").await.unwrap();
        assert_refusal(&answer, 502, "upstream-unreachable");
    }
}

// req: GW-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_alone_could_be_asked_and_is_not_there_is_given_time_between_tries() {
    let alone = Gateway::start(&to(nobodys().await, NO_BREAKER)).await;
    for method in ["GET", "POST"] {
        let began = Instant::now();
        let answer = alone.ask(method, "/", &[], b"").await.unwrap();
        assert_refusal(&answer, 502, "upstream-unreachable");
        let took = began.elapsed();
        assert!(
            took >= ms(50 + 100),
            "{method}: a pause and a longer one in {took:?}"
        );
    }
    let retries = alone.metrics().await.sum("backoff_retries_total", &[]);
    assert_eq!(retries, 4.0);
}

/// Asks for what is not there yet, and starts it between the first try and the last.
async fn bridged() -> bool {
    let address = nobodys().await;
    let gateway = Gateway::start(&to(address, NO_BREAKER)).await;
    let back = async {
        eventually("it is tried again", PATIENCE, async || {
            gateway.metrics().await.sum("backoff_retries_total", &[]) > 0.0
        })
        .await;
        Upstream::bind(address).await
    };
    let (answer, upstream) = tokio::join!(gateway.ask("POST", "/", &[], b"once"), back);
    answer.unwrap().status == 200 && upstream.is_ok_and(|upstream| upstream.received() == 1)
}

// A machine that is busy may start it too late, or give its port away: then another is tried.
// req: GW-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_only_endpoint_that_is_over_soon_is_not_noticed() {
    for _ in 0..5 {
        if bridged().await {
            return;
        }
    }
    panic!("in none of five");
}

// attack: K-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_nobodys_is_unreachable() {
    let section = "[[gateway.routes]]\nupstream = \"main\"\n[gateway.upstreams.main]\n\
                   endpoints = [\"http://nobody.invalid:80\"]\n";
    let gateway = Gateway::start(section).await;
    let answer = gateway.get("/").await;
    assert_refusal(&answer, 502, "upstream-unreachable");
}

// req: GW-08, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_the_same_in_header_body_log_and_metric() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/reset", Fault::Reset);
    let gateway = Gateway::start(&to(upstream.addr(), NO_BREAKER)).await;
    let answer = gateway
        .ask("POST", "/reset?secret=1", &[], b"x")
        .await
        .unwrap();
    assert_refusal(&answer, 502, "upstream-reset");
    assert_eq!(gateway.rejected("upstream-reset").await, 1);
    let id = answer.header("x-request-id").unwrap().to_owned();
    gateway.end().await;
    let events = log::events(&gateway.process);
    let line = events.iter().find(|event| event["id"] == id.as_str());
    let line = line.expect("a line in the access log");
    assert_eq!(line["reason"], "upstream-reset", "{line}");
    assert_eq!(line["status"], 502, "{line}");
    assert_eq!(line["path"], "/reset", "{line}");
    assert_eq!(line["upstream"], "main", "{line}");
    assert_eq!(line["tries"], 1, "{line}");
    assert_eq!(line["client"], "127.0.0.1", "{line}");
    assert!(line["upstream_ms"].is_number() && line["queue_ms"].is_number());
    assert!(!line.to_string().contains("secret"), "{line}");
}
