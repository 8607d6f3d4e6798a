//! Deadlines and clients that leave: nobody works for longer than somebody waits.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::wait::eventually;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use testkit::http::request_bytes;
use testkit::upstream::{Fault, Reply, Upstream};

/// Nothing is concluded from failures: each case is to be seen by itself.
const NO_BREAKER: &str = "[gateway.upstreams.main.breaker]\nsamples = 100000";

/// How far from its deadline an answer may be.
const NEAR: Duration = Duration::from_millis(100);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
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

// req: GW-09, GW-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_try_is_told_what_is_left_then() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::from(Fault::Reset).delay(ms(300)));
    let removes = "[[gateway.routes]]\npath = \"/quiet\"\nupstream = \"main\"\n\
                   remove_request = [\"grpc-timeout\"]\n";
    let section = format!("{removes}{}", to(upstream.addr(), NO_BREAKER));
    let gateway = Gateway::start(&section).await;
    for (path, headers) in [
        ("/", &[][..]),
        ("/", &[("grpc-timeout", "2S")]),
        ("/quiet", &[("grpc-timeout", "2S")]),
    ] {
        let before = upstream.requests().len();
        let answer = gateway.get_with(path, headers).await;
        assert_refusal(&answer, 502, "upstream-reset");
        let told = upstream.requests().split_off(before);
        let seconds = |turn: usize| -> f64 {
            let head = &told[turn].head.as_ref().unwrap().headers;
            head.get("request-timeout").unwrap().parse().unwrap()
        };
        assert!(told.len() > 1, "it is tried again");
        let less = seconds(0) - seconds(1);
        assert!((0.3..1.0).contains(&less), "{less} s less");
    }
}
