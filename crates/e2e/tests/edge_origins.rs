//! Cached origins from outside: what is kept, who is asked, and what a bad origin can and cannot do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::Duration;

use e2e::edge::{Edge, home};
use e2e::gateway::PATIENCE;
use futures_util::future::join_all;
use testkit::http::{self, Response, request_bytes};
use testkit::upstream::{Fault, Reply, Upstream, filler};

fn section(origin: &Upstream, more: &str) -> String {
    format!(
        "limits.inflight = 4000\n{more}\n[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\nfill_ms = 1000\ntries = 2\n",
        origin.addr()
    )
}

async fn edge() -> (Upstream, Edge) {
    let origin = Upstream::start().await.unwrap();
    let edge = Edge::start(&[], &section(&origin, "")).await;
    (origin, edge)
}

fn fresh(body: impl Into<Vec<u8>>) -> Reply {
    Reply::status(200)
        .body(body)
        .header("cache-control", "max-age=600")
}

fn is_hit(answer: &Response) -> bool {
    let said = answer.header("cache-status").unwrap_or_default();
    said.starts_with("macronode; hit")
}

fn reason(answer: &Response) -> &str {
    answer.header("x-macronode-reason").unwrap_or_default()
}

// req: ED-04, ED-05, ED-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_given_out_whole_in_part_or_not_again() {
    let (origin, edge) = edge().await;
    origin.set("/a", fresh("0123456789").header("etag", "\"a\""));
    let first = edge.get("/o/a?x=1").await;
    assert_eq!((first.status, first.text().as_str()), (200, "0123456789"));
    assert!(!is_hit(&first));
    let second = edge.get("/o/a?x=1").await;
    assert!(is_hit(&second) && second.header("age").is_some());
    assert_eq!(second.body, first.body);
    assert_eq!(second.header("date"), first.header("date"));
    let part = edge.get_with("/o/a?x=1", &[("range", "bytes=2-3")]).await;
    assert_eq!((part.status, part.text().as_str()), (206, "23"));
    assert_eq!(part.header("content-range"), Some("bytes 2-3/10"));
    let same = edge
        .get_with("/o/a?x=1", &[("if-none-match", "\"a\"")])
        .await;
    assert_eq!((same.status, same.body.len()), (304, 0));
    let head = edge.ask("HEAD", "/o/a?x=1", &[]).await.unwrap();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("10"))
    );
    assert_eq!(origin.received(), 1);
    edge.end().await;
}

// req: ED-04
// attack: L-24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_on_a_cold_key_are_one_request_upstream() {
    let (origin, edge) = edge().await;
    origin.set(
        "/a",
        fresh(filler(50_000)).delay(Duration::from_millis(500)),
    );
    let answers = join_all((0..1000).map(|_| edge.get("/o/a"))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert!(answers.iter().all(|answer| answer.body == filler(50_000)));
    assert_eq!(origin.received(), 1);
    edge.end().await;
}

// req: ED-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_goes_through_and_is_seen() {
    let (origin, edge) = edge().await;
    origin.set("/a", fresh("old"));
    edge.get("/o/a").await;
    assert!(is_hit(&edge.get("/o/a").await));
    let request = request_bytes(
        "POST",
        "tiles.test",
        "/o/a",
        &[("connection", "close"), ("content-length", "6")],
        b"change",
    );
    let changed = http::exchange(edge.door, &request, PATIENCE).await.unwrap();
    assert_eq!(changed.status, 200);
    assert_eq!(origin.requests().last().unwrap().body, b"change");
    origin.set("/a", fresh("new"));
    assert_eq!(edge.get("/o/a").await.text(), "new");
    edge.end().await;
}

// req: ED-04, ED-10
// attack: K-10, K-11, K-14, K-15, K-16, F-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_origin_is_an_error_each_time_and_warm_hits_do_not_notice() {
    let (origin, edge) = edge().await;
    origin.set("/warm", fresh("warm"));
    edge.get("/o/warm").await;
    let bad: [(&str, Reply, u16); 6] = [
        ("/silent", Fault::Silence.into(), 504),
        ("/garbage", Fault::Garbage.into(), 502),
        ("/endless", fresh("x").fault(Fault::EndlessBody), 502),
        (
            "/short",
            fresh("0123456789").fault(Fault::LengthLong(5)),
            502,
        ),
        ("/reset", fresh("0123456789").fault(Fault::ResetAt(5)), 502),
        (
            "/heads",
            fresh("x").fault(Fault::HugeHeaders { bytes: 300_000 }),
            502,
        ),
    ];
    for (path, reply, status) in bad {
        origin.set(path, reply);
        let answer = edge.get(&format!("/o{path}")).await;
        // An origin that failed too often in a row is left alone for a while.
        let left_alone = (answer.status, reason(&answer)) == (503, "origin-breaker");
        assert!(answer.status == status || left_alone, "{path}: {answer:?}");
        assert!(!answer.text().contains("127.0.0.1"), "{path}");
        assert!(is_hit(&edge.get("/o/warm").await), "{path}");
    }
    edge.end().await;
}

// req: ED-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_that_is_gone_is_stood_in_for() {
    let (origin, edge) = edge().await;
    let stale = "max-age=0, stale-if-error=600";
    origin.set(
        "/a",
        Reply::status(200)
            .body("kept")
            .header("cache-control", stale),
    );
    assert_eq!(edge.get("/o/a").await.text(), "kept");
    drop(origin);
    // It takes a moment until its connections have gone too.
    e2e::wait::eventually("the origin is stood in for", PATIENCE, async || {
        let answer = edge.get("/o/a").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "kept"));
        let said = answer.header("cache-status").unwrap_or_default();
        said.contains("detail=origin-")
    })
    .await;
    assert!(edge.get("/o/b").await.status >= 500);
    edge.end().await;
}

// req: ED-08
// attack: F-15, L-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_in_a_private_network_is_not_dialled_unless_it_is_listed() {
    let origin = Upstream::start().await.unwrap();
    let listed = section(&origin, "");
    let unlisted = listed.replace("127.0.0.0/8", "10.0.0.0/8");
    let edge = Edge::start(&[], &unlisted).await;
    let answer = edge.get("/o/a").await;
    assert_eq!(
        (answer.status, reason(&answer)),
        (502, "origin-unreachable")
    );
    assert_eq!(origin.connections(), 0);
    edge.reload(&listed).await;
    assert_eq!(edge.get("/o/a").await.status, 200);
    edge.end().await;
}

// req: ED-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_answers_those_who_wait_for_a_fetch() {
    let origin = Upstream::start().await.unwrap();
    origin.set("/a", fresh("late").delay(Duration::from_secs(600)));
    let slow = section(&origin, "").replace("fill_ms = 1000", "fill_ms = 60000");
    let edge = Edge::start(&[], &slow).await;
    let (answer, ()) = tokio::join!(edge.ask("GET", "/o/a", &[]), async {
        while origin.received() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        edge.process.signal(libc::SIGTERM).unwrap();
    });
    // At the deadline of the drain there is an answer, or the connection is closed: nobody is left hanging.
    if let Ok(answer) = answer {
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    edge.process.wait_exit(PATIENCE).await.unwrap();
}

// req: ED-03, ED-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_on_a_disk_is_there_after_a_restart() {
    let (origin, store) = (Upstream::start().await.unwrap(), home());
    origin.set("/a", fresh("lasting").header("x-a", "1"));
    let dir = format!("store.dir = \"{}\"", store.path().join("s").display());
    let before = Edge::start(&[], &section(&origin, &dir)).await;
    before.get("/o/a").await;
    e2e::wait::eventually("it is on the disk", PATIENCE, async || {
        before.metrics().await.sum("edge_store_objects", &[]) >= 1.0
    })
    .await;
    before.end().await;
    let after = Edge::start(&[], &section(&origin, &dir)).await;
    let answer = after.get("/o/a").await;
    assert_eq!(
        (answer.text().as_str(), answer.header("x-a")),
        ("lasting", Some("1"))
    );
    assert!(is_hit(&answer), "{answer:?}");
    assert_eq!(origin.received(), 1);
    after.end().await;
}
