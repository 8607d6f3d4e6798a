//! The committed reference and the binary say the same.

use std::time::Duration;

use e2e::Node;
use e2e::command::{Ran, macronode, ran};
use serde_json::Value;
use testkit::http;

fn said(args: &[&str], code: i32) -> Ran {
    let said = ran(&mut macronode(args));
    assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
    said
}

async fn ended(node: &Node) -> Option<i32> {
    let ended = node.process.wait_exit(Duration::from_secs(10)).await;
    ended.expect("an end").code()
}

// req: KN-13
#[test]
fn the_schema_is_json_with_ranges_secrets_and_what_needs_a_restart() {
    let schema: Value = serde_json::from_str(&said(&["config", "schema"], 0).stdout).unwrap();
    assert!(
        schema["$schema"]
            .as_str()
            .unwrap()
            .contains("json-schema.org"),
        "{schema}"
    );
    let committed = include_str!("../../../docs/reference/config.schema.json");
    assert_eq!(
        schema,
        serde_json::from_str::<Value>(committed).unwrap(),
        "cargo xtask docs"
    );
    let text = schema.to_string();
    for part in [
        "\"x-reload\":\"restart\"",
        "\"x-secret\":true",
        "\"maximum\":512",
        "\"additionalProperties\":false",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

// req: KN-19
#[test]
fn the_reference_is_written_as_it_is_committed() {
    let directory = tempfile::tempdir().unwrap();
    said(&["reference", directory.path().to_str().unwrap()], 0);
    let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut pages = 0;
    for page in std::fs::read_dir(directory.path()).unwrap() {
        let page = page.unwrap();
        let here = std::fs::read_to_string(committed.join(page.file_name())).unwrap();
        let now = std::fs::read_to_string(page.path()).unwrap();
        assert_eq!(
            now,
            here,
            "{:?} is stale: cargo xtask docs",
            page.file_name()
        );
        pages += 1;
    }
    assert!(pages >= 7, "{pages} pages");
}

/// The first cells of the rows of a page of the reference, without their quotes.
fn first_cells(page: &str) -> impl Iterator<Item = &str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

const METRICS_PAGE: &str = include_str!("../../../docs/reference/metrics.md");

// req: KN-19, KN-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_of_a_busy_node_is_documented() {
    let node = Node::start(&["demo.rate=100", "demo.crash_every_ms=100"]).await;
    for path in ["/work", "/nothing", "/work?ms=x"] {
        http::get(node.demo, path).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let page = http::get(node.admin, "/metrics").await.unwrap().text();
    let declared: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    assert!(declared.len() > 15, "{page}");
    for (name, kind) in declared {
        // OpenMetrics declares a counter without the suffix its samples have.
        let name = if kind == "counter" {
            format!("{name}_total")
        } else {
            name.to_owned()
        };
        assert!(
            first_cells(METRICS_PAGE).any(|known| known == name),
            "{name} is not documented"
        );
    }
    assert!(page.ends_with("# EOF\n"), "{page}");
}

// req: KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_documented_admin_path_answers_by_its_method_only() {
    let node = Node::start(&["admin.token=open-sesame"]).await;
    let routes: Vec<_> = first_cells(METRICS_PAGE)
        .filter_map(|cell| cell.split_once(' '))
        .collect();
    assert!(routes.len() >= 7, "{routes:?}");
    let bearer = [("authorization", "Bearer open-sesame")];
    // The drain goes last: after it nothing answers.
    let (drain, others): (Vec<_>, Vec<_>) =
        routes.into_iter().partition(|(_, path)| *path == "/drain");
    for (method, path) in others.into_iter().chain(drain) {
        let got = http::get(node.admin, path).await.unwrap();
        match method {
            "GET" => {
                assert_eq!(got.status, 200, "{path}");
                let posted = http::post(node.admin, path, &bearer, b"").await.unwrap();
                assert_eq!(
                    (posted.status, posted.header("allow")),
                    (405, Some("GET, HEAD")),
                    "{path}"
                );
            }
            _ => {
                assert_eq!(
                    (got.status, got.header("allow")),
                    (405, Some("POST")),
                    "{path}"
                );
                assert_eq!(
                    http::post(node.admin, path, &[], b"").await.unwrap().status,
                    401,
                    "{path}"
                );
                let posted = http::post(node.admin, path, &bearer, b"").await.unwrap();
                // A purge of nothing, at a node without an edge, makes no sense.
                let expected = if path == "/edge/purge" { 400 } else { 202 };
                assert_eq!(posted.status, expected, "{path}");
            }
        }
    }
    assert_eq!(ended(&node).await, Some(0));
}
