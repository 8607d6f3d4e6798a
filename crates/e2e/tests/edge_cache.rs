//! A cache in front of a site, seen from its door: what it says of itself, what it passes on, and for whom.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::Duration;

use e2e::edge::Edge;
use e2e::gateway::PATIENCE;
use futures_util::future::join_all;
use testkit::http::Response;
use testkit::upstream::{Fault, Reply, Upstream};

async fn site(more: &str) -> (Upstream, Edge) {
    let origin = Upstream::start().await.unwrap();
    let section = format!(
        "limits.inflight = 4000\n[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\ntries = 1\n{more}\n",
        origin.addr()
    );
    let edge = Edge::start(&[], &section).await;
    (origin, edge)
}

fn reply(body: &str, headers: &[(&str, &str)]) -> Reply {
    let reply = Reply::status(200).body(body);
    headers
        .iter()
        .fold(reply, |reply, (name, value)| reply.header(name, value))
}

/// What all caches on the way say they did, in their order.
fn did(answer: &Response) -> Vec<&str> {
    answer.headers.all("cache-status").collect()
}

/// A list member of structured fields as RFC 9211 has it: a token, then parameters that are flags, numbers or tokens.
fn is_member(text: &str) -> bool {
    let mut parts = text.split("; ");
    let token = |text: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte);
        text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(inner)
    };
    let named = parts.next().is_some_and(token);
    named
        && parts.all(|part| match part.split_once('=') {
            None => matches!(part, "hit" | "stored" | "collapsed"),
            Some(("ttl" | "fwd-status", number)) => number.parse::<i64>().is_ok(),
            Some(("fwd" | "detail", word)) => token(word),
            Some(_) => false,
        })
}

// req: ED-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caches_on_the_way_stand_in_their_order_and_each_says_what_it_did() {
    let (origin, edge) = site("").await;
    let headers = [
        ("cache-control", "max-age=600, stale-if-error=600"),
        ("cache-status", "Behind; hit; ttl=30"),
        ("age", "70"),
    ];
    origin.set("/a", reply("one", &headers));
    origin.set("/b", reply("one", &[("cache-control", "no-store")]));
    origin.set("/c", Reply::status(503));
    let whole = edge.get("/o/a").await;
    let cases = [
        ("GET", "/o/a", vec![], "macronode; hit; "),
        ("HEAD", "/o/a", vec![], "macronode; hit; "),
        (
            "GET",
            "/o/a",
            vec![("range", "bytes=0-0")],
            "macronode; hit; ",
        ),
        (
            "GET",
            "/o/a",
            vec![("cache-control", "no-cache")],
            "macronode; fwd=request; ",
        ),
        ("GET", "/o/b", vec![], "macronode; fwd=uri-miss; "),
        ("POST", "/o/b", vec![], "macronode; fwd=method; "),
        ("GET", "/o/c", vec![], "macronode; fwd=uri-miss; "),
    ];
    let [behind, own] = did(&whole)[..] else {
        panic!("{whole:?}");
    };
    assert_eq!(behind, "Behind; hit; ttl=30");
    assert!(is_member(own) && own.ends_with("; stored"), "{own}");
    for (method, path, asked, begins) in cases {
        let answer = edge.ask(method, path, &asked).await.unwrap();
        let did = did(&answer);
        let (own, others) = did.split_last().unwrap();
        assert!(
            own.starts_with(begins) && is_member(own),
            "{method} {path}: {own}"
        );
        let expected: &[&str] = match path {
            "/o/a" => &["Behind; hit; ttl=30"],
            _ => &[],
        };
        assert_eq!(others, expected, "{method} {path}");
        let age = answer.header("age").map(|age| age.parse::<u64>().unwrap());
        assert_eq!(
            age.is_some_and(|age| age >= 70),
            path == "/o/a",
            "{method} {path}: {age:?}"
        );
    }
    edge.end().await;
}

// req: ED-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_makes_an_answer_older_and_then_stale() {
    let (origin, edge) = site("").await;
    let small = "Thu, 18 aug 2050 02:01:18 gmt";
    origin.set(
        "/short",
        reply("one", &[("cache-control", "max-age=1"), ("etag", "\"a\"")]),
    );
    origin.set("/long", reply("one", &[("expires", small)]));
    let first = edge.get("/o/short").await;
    edge.get("/o/long").await;
    let again = Reply::status(304).header("etag", "\"a\"");
    origin.set(
        "/short",
        again
            .header("cache-control", "max-age=600")
            .header("x-new", "1"),
    );
    e2e::wait::eventually("it is asked about", PATIENCE, async || {
        let answer = edge.get("/o/short").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "one"));
        did(&answer)[0].starts_with("macronode; fwd=stale; fwd-status=304; ttl=")
    })
    .await;
    let kept = edge.get("/o/short").await;
    assert!(did(&kept)[0].starts_with("macronode; hit; "), "{kept:?}");
    assert_eq!(kept.header("x-new"), Some("1"));
    assert!(kept.header("date").is_some() && first.header("date").is_some());
    e2e::wait::eventually("it is older", PATIENCE, async || {
        let answer = edge.get("/o/long").await;
        assert!(
            did(&answer)[0].starts_with("macronode; hit; "),
            "{answer:?}"
        );
        let age: u64 = answer.header("age").unwrap().parse().unwrap();
        age >= 1
    })
    .await;
    edge.end().await;
}

// req: ED-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interim_answers_end_here_and_nothing_of_them_is_kept() {
    let (origin, edge) = site("").await;
    let fresh = reply("one", &[("cache-control", "max-age=600")]);
    origin.set("/a", fresh.fault(Fault::InterimFlood { count: 3 }));
    for hit in [false, true] {
        let answer = edge.get("/o/a").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "one"));
        assert!(answer.interim.is_empty(), "{answer:?}");
        assert_eq!(did(&answer)[0].contains("; hit"), hit, "{answer:?}");
    }
    edge.end().await;
}

// req: ED-04, ED-05
// attack: L-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_what_was_fetched_with_the_key_of_another() {
    let (origin, edge) = site("forward = [\"*\"]").await;
    let slow = |headers: &[(&str, &str)]| reply("x", headers).delay(Duration::from_millis(300));
    origin.set("/said", slow(&[("cache-control", "max-age=600")]));
    origin.set("/unsaid", slow(&[]));
    origin.set("/asked", slow(&[("cache-control", "no-cache")]));
    for (path, fewest) in [("/said", 1), ("/unsaid", 8), ("/asked", 8)] {
        let before = origin.received();
        let ask = |number: usize| {
            let (edge, key, path) = (&edge, format!("key-{number}"), format!("/o{path}"));
            async move { edge.get_with(&path, &[("x-api-key", &key)]).await }
        };
        let answers = join_all((0..8).map(ask)).await;
        assert!(answers.iter().all(|answer| answer.status == 200), "{path}");
        assert_eq!(origin.received() - before, fewest, "{path}");
    }
    edge.end().await;
}
