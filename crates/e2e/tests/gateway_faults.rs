//! Upstreams that fail in every way there is: each has its stated answer, and none costs more than it must.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::log;
use e2e::wait::eventually;
use testkit::http::{Failure, Response, request_bytes};
use testkit::load::{Load, Stream};
use testkit::upstream::{Fault, Reply, Upstream, filler};
use tokio::net::{TcpListener, TcpSocket};

/// Nothing is concluded from failures: each case is to be seen by itself.
const NO_BREAKER: &str = "[gateway.upstreams.main.breaker]\nsamples = 100000";
/// What the upstream of the table is given to answer in.
const DEADLINE: Duration = Duration::from_millis(600);
/// How far from its deadline an answer may be.
const NEAR: Duration = Duration::from_millis(100);

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

// req: GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_takes_its_upstream_call_with_it() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/silence", Fault::Silence);
    upstream.set("/endless", Fault::EndlessBody);
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    for (path, gone) in [("/silence", 1), ("/endless", 2)] {
        let mut client = gateway.connect().await;
        let request = request_bytes("GET", "gate.test", path, &[], b"");
        client.send(&request).await.unwrap();
        eventually("the call is under way", PATIENCE, async || {
            upstream.received() == gone
        })
        .await;
        assert_eq!(upstream.abandoned(), gone - 1);
        drop(client);
        eventually("the upstream is let go", ms(1500), async || {
            upstream.abandoned() == gone
        })
        .await;
    }
    eventually("both are counted", ms(1000), async || {
        gateway.rejected("client-gone").await == 2
    })
    .await;
}

// req: FQ-05, GW-09
// attack: H-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_while_it_waits_costs_the_upstream_nothing() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "limit = 1")).await;
    let running = tokio::spawn({
        let mut client = gateway.connect().await;
        async move {
            let request = request_bytes("GET", "gate.test", "/?delay_ms=400", &[], b"");
            client.exchange(&request, PATIENCE).await
        }
    });
    eventually("one is under way", PATIENCE, async || {
        upstream.received() == 1
    })
    .await;
    for _ in 0..5 {
        let mut client = gateway.connect().await;
        let request = request_bytes("GET", "gate.test", "/left", &[], b"");
        client.send(&request).await.unwrap();
    }
    assert_eq!(running.await.unwrap().unwrap().status, 200);
    assert_eq!(gateway.get("/next").await.status, 200);
    let paths: Vec<_> = upstream.requests().into_iter().collect();
    let targets: Vec<_> = paths
        .iter()
        .map(|request| request.head.as_ref().unwrap().target.as_str())
        .collect();
    assert_eq!(targets, ["/?delay_ms=400", "/next"]);
}

/// What is asked for by a client that gives so long, in one of the forms there are.
fn wish(form: &'static str, asked: Duration) -> (&'static str, String) {
    let moment = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + asked;
    let value = match form {
        "request-timeout" => asked.as_secs_f64().to_string(),
        "grpc-timeout" => format!("{}m", asked.as_millis()),
        _ => moment().as_millis().to_string(),
    };
    (form, value)
}

/// The time until a request was refused for its deadline. Of three the one in the middle: the machine may be late once.
async fn refused_after(
    gateway: &Gateway,
    path: &str,
    wish: impl Fn() -> (&'static str, String),
) -> Duration {
    let mut took = Vec::new();
    for _ in 0..3 {
        let (name, value) = wish();
        let began = Instant::now();
        let answer = gateway.get_with(path, &[(name, &value)]).await;
        took.push(began.elapsed());
        assert_eq!(answer.status, 504, "{}", answer.text());
    }
    took.sort_unstable();
    took[1]
}

fn near(took: Duration, meant: Duration) -> bool {
    took + ms(5) >= meant && took <= meant + NEAR
}

// req: GW-09, AC-02
// attack: H-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_kept_to_a_tenth_of_a_second_and_what_is_left_is_passed_on() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Fault::Silence);
    let route = "[[gateway.routes]]\npath = \"/short\"\nupstream = \"main\"\ndeadline_ms = 300\n";
    let section = format!("{route}{}", to(upstream.addr(), NO_BREAKER));
    let gateway = Gateway::start(&section).await;
    let asked = ms(500);
    for form in ["request-timeout", "grpc-timeout", "x-request-deadline"] {
        let took = refused_after(&gateway, "/", || wish(form, asked)).await;
        assert!(near(took, asked), "{form} took {took:?}");
        let answer = gateway.get_with("/", &[(form, &wish(form, asked).1)]).await;
        assert_refusal(&answer, 504, "deadline");
        let seen = upstream.requests().pop().unwrap().head.unwrap().headers;
        let left: f64 = seen.get("request-timeout").unwrap().parse().unwrap();
        assert!((0.3..=0.5).contains(&left), "{form} passed on {left}");
        let own = seen.get(form).unwrap();
        let left = match form {
            "request-timeout" => left,
            "grpc-timeout" => own.strip_suffix('m').unwrap().parse::<f64>().unwrap() / 1e3,
            // It was the deadline that has just passed.
            _ => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let ago = now.as_millis() as f64 - own.parse::<f64>().unwrap();
                asked.as_secs_f64() - ago.abs() / 1e3
            }
        };
        assert!((0.3..=0.5).contains(&left), "{form}: {own}");
    }
    let own = ms(300);
    let took = refused_after(&gateway, "/short", || ("x-none", String::new())).await;
    assert!(near(took, own), "the route's own: {took:?}");
    let more = Duration::from_secs(60);
    let took = refused_after(&gateway, "/short", || wish("request-timeout", more)).await;
    assert!(near(took, own), "nobody gets more: {took:?}");
    for least in ["0", "-1"] {
        let took = refused_after(&gateway, "/", || ("request-timeout", least.to_owned())).await;
        assert!(took <= NEAR, "{least}: {took:?}");
    }
}

// req: GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_that_passes_in_the_queue_frees_its_place_and_says_so() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "limit = 1")).await;
    let first = gateway.get("/?delay_ms=600");
    let second = async {
        tokio::time::sleep(ms(100)).await;
        let began = Instant::now();
        let answer = gateway
            .get_with("/late", &[("request-timeout", "0.2")])
            .await;
        (answer, began.elapsed())
    };
    let (first, (second, took)) = tokio::join!(first, second);
    assert_eq!(first.status, 200);
    assert_refusal(&second, 504, "deadline-in-queue");
    assert!(near(took, ms(200)), "{took:?}");
    assert_eq!(upstream.received(), 1, "it never reached the upstream");
    assert_eq!(gateway.get("/").await.status, 200);
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
async fn assert_left_alone(upstream: SocketAddr, keys: &str) {
    let gateway = Gateway::start(&to(upstream, keys)).await;
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
    let refusals = refusal_millis(&gateway, "open-circuit");
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
    assert_left_alone(upstream.addr(), "").await;
    let probes = upstream.received();
    assert!(probes <= 40, "{probes} requests reached it in 7 s");
}

// req: GW-11
// attack: K-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_cannot_be_connected_to_is_soon_left_alone() {
    let (listener, _fillers) = blackhole().await;
    assert_left_alone(listener.local_addr().unwrap(), "connect_ms = 500").await;
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
    assert!(began.elapsed() < ms(50), "at once: {:?}", began.elapsed());
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

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_refuses_connections_is_stepped_over_whatever_the_method() {
    let upstream = Upstream::start().await.unwrap();
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let closed = nobody.local_addr().unwrap();
    drop(nobody);
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

// attack: K-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_nobodys_is_unreachable() {
    let section = "[[gateway.routes]]\nupstream = \"main\"\n[gateway.upstreams.main]\n\
                   endpoints = [\"http://nobody.invalid:80\"]\n";
    let gateway = Gateway::start(section).await;
    let answer = gateway.get("/").await;
    assert_refusal(&answer, 502, "upstream-unreachable");
}

// attack: D-03
// req: GW-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_too_slowly_is_408_and_never_a_whole_request() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&hurried(upstream.addr())).await;
    for method in ["POST", "PUT"] {
        let mut client = gateway.connect().await;
        let head =
            format!("{method} / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 100\r\n\r\nbegin");
        client.send(head.as_bytes()).await.unwrap();
        let began = Instant::now();
        let answer = client.response(PATIENCE).await.unwrap();
        assert_refusal(&answer, 408, "body-timeout");
        assert!(!answer.keeps_alive);
        let took = began.elapsed();
        assert!((ms(390)..ms(750)).contains(&took), "{method}: {took:?}");
    }
    assert!(whole_requests(&upstream).is_empty());
}

fn whole_requests(upstream: &Upstream) -> Vec<String> {
    let requests = upstream.requests().into_iter();
    let whole = requests.filter_map(|request| request.head.ok());
    whole.map(|head| head.target).collect()
}

// attack: D-01, D-02
// req: GW-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_the_cap_is_413_without_reading_on() {
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.limits]\nbody_bytes = 100000\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let mut client = gateway.connect().await;
    let head = "POST / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 100001\r\n\r\n";
    let answer = client.exchange(head.as_bytes(), PATIENCE).await.unwrap();
    assert_refusal(&answer, 413, "body-too-large");
    let (_, closed) = client.read_until_close(ms(2000)).await;
    assert!(closed, "what follows cannot be told from the body");
    assert_eq!(upstream.connections(), 0, "nothing was sent on");

    let mut client = gateway.connect().await;
    let head = "POST / HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n";
    client.send(head.as_bytes()).await.unwrap();
    let chunk = [b"2710\r\n".as_slice(), &filler(10_000), b"\r\n"].concat();
    for _ in 0..10 {
        client.send(&chunk).await.unwrap();
    }
    // All that is allowed has been sent; one byte more is too many, and nothing else has to come.
    client.send(b"1\r\nx\r\n").await.unwrap();
    let answer = client.response(PATIENCE).await.unwrap();
    assert_refusal(&answer, 413, "body-too-large");
    let exact = filler(100_000);
    let answer = gateway.ask("POST", "/exact", &[], &exact).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(whole_requests(&upstream), ["/exact"]);
}

// attack: D-04, D-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_upload_never_becomes_a_request_and_gives_its_place_back() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "limit = 1")).await;
    let heads = [
        "POST /cut HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 100000\r\n\r\n",
        "PUT /cut HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 60000\r\n\r\n",
        "POST /cut HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n2710\r\n",
    ];
    for head in heads {
        for reset in [false, true] {
            let mut client = gateway.connect().await;
            client.send(head.as_bytes()).await.unwrap();
            client.send(&filler(5_000)).await.unwrap();
            tokio::time::sleep(ms(50)).await;
            if reset {
                client.reset().unwrap();
            } else {
                drop(client);
            }
            let answer = gateway.get("/next").await;
            assert_eq!(answer.status, 200, "its place is free: {}", answer.text());
        }
    }
    let whole = whole_requests(&upstream);
    assert!(whole.iter().all(|target| target == "/next"), "{whole:?}");
    assert_eq!(whole.len(), 6);
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
    assert!(line["upstream_ms"].is_number() && line["queue_ms"].is_number());
    assert!(!line.to_string().contains("secret"), "{line}");
}
