//! The edge's bounds: rate, places, bodies, memory; its end; and what stands in its store.

use std::time::Duration;

use e2e::command::{macronode, ran};
use e2e::edge::{Edge, SEEN, home, picture};
use e2e::gateway::{PATIENCE, assert_refusal};
use e2e::packfile::PackFile;
use e2e::wait::eventually;
use testkit::http::{self, Connection, request_bytes};
use testkit::upstream::{Reply, Upstream};

/// A pack that no socket's buffers hold.
fn large() -> Vec<u8> {
    let tile: Vec<u8> = (0..40_000_000_u32).map(|n| (n / 11) as u8).collect();
    PackFile::default().tile(0, 0, 0, &tile).bytes()
}

fn get(path: &str) -> Vec<u8> {
    request_bytes("GET", "tiles.test", path, &[], b"")
}

// req: ED-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_the_rate_is_told_when_to_come_again() {
    let edge = Edge::start(&[("p.pmtiles", picture(1))], "limits.rps = 1\n").await;
    let mut connection = edge.connect().await;
    // All at once: at one a second they would take a dozen seconds.
    connection
        .send(&get("/tiles/p/0/0/0").repeat(12))
        .await
        .unwrap();
    let (mut served, mut refused) = (0, 0);
    for _ in 0..12 {
        let answer = connection.response(PATIENCE).await.unwrap();
        match answer.status {
            200 => served += 1,
            _ => {
                assert_refusal(&answer, 429, "rate-global");
                assert!(answer.header("retry-after").is_some());
                refused += 1;
            }
        }
    }
    assert!(
        served > 0 && refused > 0,
        "{served} served, {refused} refused"
    );
    assert_eq!(edge.rejected("rate_limit").await, refused);
    edge.end().await;
}

// req: ED-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_is_held_to_the_last_byte_and_who_finds_none_is_told_at_once() {
    let packs = [("p.pmtiles", picture(1)), ("large.pmtiles", large())];
    let section = "limits.inflight = 2\ntimeouts.write_ms = 60000\n";
    let edge = Edge::start(&packs, section).await;
    let mut slow: Vec<Connection> = Vec::new();
    for _ in 0..2 {
        let mut connection = edge.connect().await;
        connection.send(&get("/packs/large")).await.unwrap();
        slow.push(connection);
    }
    // Nobody else asks meanwhile: whoever did could have the place of one of them.
    eventually("both places are taken", PATIENCE, async || {
        edge.metrics().await.sum("edge_inflight", &[]) == 2.0
    })
    .await;
    let answer = edge.get("/tiles/p/0/0/0").await;
    assert_refusal(&answer, 503, "node-busy");
    assert!(answer.header("retry-after").is_some());
    drop(slow.pop());
    eventually("a place is free", PATIENCE, async || {
        edge.get("/tiles/p/0/0/0").await.status == 200
    })
    .await;
    drop(slow);
    edge.end().await;
}

// req: ED-09
// attack: D-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_the_cap_is_refused_unread() {
    let edge = Edge::start(&[("p.pmtiles", picture(1))], "").await;
    let head = "GET /tiles/p/0/0/0 HTTP/1.1\r\nhost: tiles.test\r\ncontent-length: 1048577\r\n\r\n";
    assert_refusal(&edge.raw(head).await, 413, "body-too-large");
    assert_eq!(edge.rejected("body_cap").await, 1);
    edge.end().await;
}

// req: ED-09
// attack: J-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_of_memory_nobody_is_let_in_and_the_node_lives() {
    let packs = [("p.pmtiles", picture(1))];
    let edge = Edge::start(&packs, "limits.memory_bytes = 1000000\n").await;
    let answer = edge.get("/tiles/p/0/0/0").await;
    assert_refusal(&answer, 503, "memory-full");
    assert!(answer.header("retry-after").is_some());
    let health = http::get(edge.admin, "/healthz").await.unwrap();
    assert_eq!(health.status, 200);
    edge.reload("limits.memory_bytes = 0\n").await;
    eventually("there is memory again", SEEN, async || {
        edge.get("/tiles/p/0/0/0").await.status == 200
    })
    .await;
    edge.end().await;
}

// req: ED-01
// attack: K-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_sent_when_the_node_ends_is_sent_whole() {
    let file = large();
    let edge = Edge::start(
        &[("p.pmtiles", file.clone())],
        "[drain]\ndeadline_ms = 60000\n",
    )
    .await;
    let mut connection = edge.connect().await;
    connection.send(&get("/packs/p")).await.unwrap();
    eventually("it has begun", PATIENCE, async || {
        edge.metrics().await.sum("edge_inflight", &[]) == 1.0
    })
    .await;
    assert!(edge.process.signal(libc::SIGTERM).unwrap());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let answer = connection.response(Duration::from_secs(30)).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.body == file);
    drop(connection);
    let status = edge
        .process
        .wait_exit(Duration::from_secs(30))
        .await
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

// req: ED-03, ED-04, ED-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_fetched_can_be_had_by_its_hash() {
    let hash = "d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24";
    let origin = Upstream::start().await.unwrap();
    origin.set(
        "/greeting",
        Reply::default()
            .header("cache-control", "max-age=600")
            .body("hello world"),
    );
    let store = home();
    let section = format!(
        "[edge.store]\ndir = \"{}\"\n[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\n",
        store.path().join("store").display(),
        origin.addr()
    );
    let edge = Edge::start(&[], &section).await;
    assert_refusal(
        &edge.get(&format!("/cas/{hash}")).await,
        404,
        "unknown-object",
    );
    let fetched = edge.get("/o/greeting").await;
    assert_eq!(
        (fetched.status, fetched.text()),
        (200, "hello world".to_owned())
    );
    eventually("it is stored", PATIENCE, async || {
        edge.get(&format!("/cas/{hash}")).await.status == 200
    })
    .await;
    let object = edge
        .get_with(&format!("/cas/{hash}"), &[("range", "bytes=6-")])
        .await;
    assert_eq!((object.status, object.text()), (206, "world".to_owned()));
    assert_eq!(object.header("etag"), Some(format!("\"{hash}\"").as_str()));
    assert!(
        object
            .header("cache-control")
            .unwrap()
            .contains("immutable")
    );
    assert_refusal(&edge.get("/cas/00").await, 400, "no-hash");
    assert_refusal(
        &edge.get(&format!("/cas/{}", hash.to_uppercase())).await,
        400,
        "no-hash",
    );
    edge.end().await;
}

// req: ED-13
#[test]
fn amnesia_refuses_a_store_on_a_disk() {
    let home = home();
    let file = home.path().join("node.toml");
    let store = "amnesia = true\n[edge.store]\ndir = \"/var/lib/edge\"\n";
    std::fs::write(&file, store).unwrap();
    let said = ran(macronode(["check", "--config"]).arg(&file));
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(
        said.stderr.contains("under amnesia nothing is written"),
        "{said:?}"
    );
    std::fs::write(&file, "amnesia = true\n[edge]\n").unwrap();
    let said = ran(macronode(["check", "--config"]).arg(&file));
    assert_eq!(said.code, Some(0), "{said:?}");
}
