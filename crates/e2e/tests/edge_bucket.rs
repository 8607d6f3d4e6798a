//! A bucket behind the store, against a server of somebody else that checks signatures.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::edge::{Edge, home};
use e2e::gateway::PATIENCE;
use e2e::storage::Storage;
use e2e::wait::eventually;
use serde_json::Value;
use testkit::http::{self, Response, request_bytes};
use testkit::upstream::{Reply, Upstream, filler};

fn section(origin: &Upstream, storage: &Storage, more: &str) -> String {
    format!(
        "{more}\n{}[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\n[admin]\ntoken = \"secret\"\n",
        storage.section(),
        origin.addr()
    )
}

fn fresh(body: impl Into<Vec<u8>>) -> Reply {
    let reply = Reply::status(200).body(body).header("cache-tag", "red");
    reply.header("cache-control", "max-age=600")
}

fn is_from_bucket(answer: &Response) -> bool {
    let said = answer.header("cache-status").unwrap_or_default();
    said.starts_with("macronode; hit") && said.contains("bucket")
}

async fn counted(edge: &Edge, result: &str, least: f64) {
    eventually(result, PATIENCE, async || {
        let metrics = edge.metrics().await;
        metrics.sum("edge_bucket_total", &[("result", result)]) >= least
    })
    .await;
}

async fn purge(edge: &Edge, query: &str) -> Value {
    let headers = [("authorization", "Bearer secret"), ("connection", "close")];
    let path = format!("/edge/purge?{query}");
    let request = request_bytes("POST", edge.admin, &path, &headers, b"");
    let done = http::exchange(edge.admin, &request, PATIENCE)
        .await
        .unwrap();
    serde_json::from_slice::<Value>(&done.body).unwrap()["purged"].clone()
}

// req: ED-03, ED-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_share_what_they_fetched_by_way_of_a_bucket_and_forget_it_there() {
    let Some(storage) = Storage::start().await else {
        return;
    };
    let (origin, disk) = (Upstream::start().await.unwrap(), home());
    // Two bodies: the server fails when the same object is put twice at once.
    for (path, bytes) in [("/a", 200_000), ("/b", 200_001)] {
        origin.set(path, fresh(filler(bytes)));
    }
    let dir = format!("store.dir = \"{}\"", disk.path().join("s").display());
    let first = Edge::start(&[], &section(&origin, &storage, &dir)).await;
    first.get("/o/a").await;
    first.get("/o/b").await;
    counted(&first, "put", 2.0).await;
    first.end().await;
    let second = Edge::start(&[], &section(&origin, &storage, "")).await;
    let found = second.get("/o/a").await;
    assert!(is_from_bucket(&found), "{found:?}");
    assert_eq!((found.body, origin.received()), (filler(200_000), 2));
    assert_eq!(purge(&second, "url=/o/a").await, 1);
    storage.stop_checking().await;
    assert_eq!(purge(&second, "tag=red").await, 1);
    let third = Edge::start(&[], &section(&origin, &storage, "")).await;
    for path in ["/o/a", "/o/b"] {
        assert!(!is_from_bucket(&third.get(path).await), "{path}");
    }
    assert_eq!(origin.received(), 4);
    second.end().await;
    third.end().await;
}

// req: ED-03, ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_that_refuses_or_is_gone_leaves_requests_to_the_origin() {
    let Some(storage) = Storage::start().await else {
        return;
    };
    let origin = Upstream::start().await.unwrap();
    let wrong = section(&origin, &storage, "").replace(&storage.keys.1, "wrong");
    let edge = Edge::start(&[], &wrong).await;
    origin.set("/a", fresh("refused"));
    assert_eq!(edge.get("/o/a").await.text(), "refused");
    counted(&edge, "failed", 1.0).await;
    drop(storage);
    for path in ["/b", "/c", "/d", "/e", "/f", "/g"] {
        origin.set(path, fresh("gone"));
        let answer = edge.get(&format!("/o{path}")).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "gone"));
    }
    counted(&edge, "left_alone", 1.0).await;
    edge.end().await;
}
