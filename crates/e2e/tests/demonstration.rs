//! What runs without a config: a gateway that stays fair while a crowd asks too much of a small origin, and what an
//! operator sees of it.

use std::net::SocketAddr;
use std::time::Duration;

use e2e::command::{Ran, macronode, ran, ran_beside};
use e2e::{Node, START, binary, log, runtime, schema};
use serde_json::Value;
use testkit::http;
use testkit::process::{Pipe, Program};

/// The built-in demonstration with every port a free one.
const FREE: [&str; 7] = [
    "admin.listen=127.0.0.1:0",
    "demo.listen=127.0.0.1:0",
    "demo.crowd.origin=127.0.0.1:0",
    "gateway.listen=[\"127.0.0.1:0\"]",
    "edge.listen=[\"127.0.0.1:0\"]",
    "transport.listen=[\"127.0.0.1:0\"]",
    "overlay.listen=[\"127.0.0.1:0\"]",
];

async fn demonstration() -> Node {
    demonstration_with(&[]).await
}

async fn demonstration_with(sets: &[&str]) -> Node {
    let program = Program::new(binary()).expect("a temporary directory");
    let program = program
        .args(["run", "--runtime", &runtime()])
        .args(["--set", "log.format=json"]);
    let sets = FREE.iter().chain(sets).flat_map(|set| ["--set", *set]);
    Node::of(program.args(sets)).await
}

async fn gateway(node: &Node) -> SocketAddr {
    let address = node.process.addr("gateway.http", START);
    address.await.expect("a door of the gateway")
}

/// The summaries so far.
fn summaries(node: &Node) -> Vec<Value> {
    let events = log::events(&node.process);
    let told = events.into_iter();
    told.filter(|event| log::message(event).starts_with("who got what"))
        .collect()
}

async fn seconds(node: &Node, count: usize) {
    e2e::wait::eventually("enough summaries", Duration::from_secs(30), async || {
        summaries(node).len() >= count
    })
    .await;
}

/// The number in front of a word of a summary.
fn number(summary: &Value, tenant: &str, before: &str) -> f64 {
    let words = summary[tenant].as_str().unwrap_or_default();
    let head = words.split_once(before).map(|(head, _)| head);
    let number = head.and_then(|head| head.rsplit([' ', '(']).next());
    let number = number.and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no {before} of {tenant} in {summary}"))
}

async fn asked(node: &Node, args: &[&str]) -> Ran {
    let mut command = macronode(args);
    command.args(["--admin", &node.admin.to_string()]);
    ran_beside(command).await
}

// req: GW-07, FQ-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_noisy_tenant_costs_nobody_else_their_share() {
    let node = demonstration().await;
    seconds(&node, 8).await;
    let told = summaries(&node);
    let settled = &told[3..];
    let mean =
        |of: &dyn Fn(&Value) -> f64| settled.iter().map(of).sum::<f64>() / settled.len() as f64;
    let calm = mean(&|second| number(second, "calm", " of ") / number(second, "calm", " served"));
    assert!(calm > 0.95, "calm is served {calm}: {told:#?}");
    let share = mean(&|second| share(second, "gold"));
    let due = mean(&|second| due(second, "gold"));
    assert!(
        (share - due).abs() <= 8.0,
        "gold {share} due {due}: {told:#?}"
    );
    let noisy = mean(&|second| number(second, "noisy", " share-full"));
    assert!(noisy > 50.0, "the noisy one is refused: {told:#?}");
    node.process.signal(libc::SIGTERM).unwrap();
    let ended = node.process.wait_exit(Duration::from_secs(10)).await;
    assert_eq!(ended.unwrap().code(), Some(0));
    log::books(&node.process).await;
}

// req: GW-02, GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_full_of_old_requests_does_not_starve_the_origin() {
    // 80 requests a second, and a queue that takes nearly as long as the deadline allows.
    let node = demonstration_with(&[
        "demo.crowd.places=4",
        "demo.crowd.service_ms=50",
        "gateway.queue.per_tenant=64",
    ])
    .await;
    seconds(&node, 12).await;
    let told = summaries(&node);
    let served = |second: &Value| {
        let tenants = ["gold", "calm", "noisy"];
        let served = tenants.map(|tenant| number(second, tenant, " of "));
        served.iter().sum::<f64>()
    };
    let late: f64 = told[8..].iter().map(served).sum::<f64>() / (told.len() - 8) as f64;
    assert!(late > 55.0, "{late} served a second: {told:#?}");
}

// req: KN-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demonstration_drains_with_its_whole_crowd_at_the_door() {
    // The crowd's connections are often closed while it does not use them.
    let node = demonstration_with(&["gateway.timeouts.idle_ms=10"]).await;
    seconds(&node, 3).await;
    node.process.signal(libc::SIGTERM).unwrap();
    let ended = node.process.wait_exit(Duration::from_secs(10)).await;
    assert_eq!(ended.unwrap().code(), Some(0));
    let books = log::books(&node.process).await;
    assert_eq!(books["demo_visit"].aborted, 0, "{books:?}");
    let events = log::events(&node.process);
    let stopped = events
        .iter()
        .find(|event| log::message(event) == "macronode has stopped");
    assert_eq!(stopped.expect("its last word")["outcome"], "Drained");
}

fn share(summary: &Value, tenant: &str) -> f64 {
    number(summary, tenant, " % (due")
}

fn due(summary: &Value, tenant: &str) -> f64 {
    number(summary, tenant, " %)")
}

// req: GW-18, ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_who_waits_and_who_is_refused_and_why() {
    let node = demonstration().await;
    seconds(&node, 3).await;
    let page = asked(&node, &["top", "--once"]).await;
    assert_eq!(page.code, Some(0), "{page:?}");
    for wanted in ["noisy", "gold", "share-full", "found", "closed", "main"] {
        assert!(
            page.stdout.contains(wanted),
            "no {wanted} in {}",
            page.stdout
        );
    }
    assert!(!page.stdout.contains('\x1b'), "nothing steers a pipe");
    let json = asked(&node, &["top", "--once", "--json"]).await;
    let view: Value = serde_json::from_str(&json.stdout).unwrap();
    let tenant = |name: &str| {
        let tenants = view["tenants"].as_array().unwrap().iter();
        let mut named = tenants.filter(|tenant| tenant["tenant"] == name);
        named
            .next()
            .unwrap_or_else(|| panic!("no {name} in {view}"))
            .clone()
    };
    assert!(tenant("noisy")["refused"]["share-full"].as_u64() > Some(50));
    assert_eq!(tenant("gold")["weight"], 3);
    assert_eq!(tenant("gold")["class"], "authed");
    assert_eq!(view["upstreams"][0]["limit_found"], true);
    assert_eq!(view["upstreams"][0]["endpoints"][0]["state"], "up");

    let request = http::request_bytes("GET", "a", "/", &[("x-tenant", "someone")], b"");
    let answer = http::exchange(gateway(&node).await, &request, Duration::from_secs(5));
    let answer = answer.await.unwrap();
    assert_eq!(
        answer.status, 200,
        "a newcomer has its own share: {answer:?}"
    );
}

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_of_the_admin_server_is_what_its_document_says() {
    let node = demonstration().await;
    seconds(&node, 2).await;
    let document = http::get(node.admin, "/openapi.json").await.unwrap();
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(operation) = methods.get("get") else {
            continue;
        };
        let answer = http::get(node.admin, path).await.unwrap();
        let said = &operation["responses"][answer.status.to_string()]["content"];
        let kind = answer.header("content-type").unwrap();
        let described = &said[kind]["schema"];
        assert!(described.is_object(), "{path}: {kind} is not in {said}");
        let body = match kind {
            "application/json" => serde_json::from_slice(&answer.body).unwrap(),
            _ => Value::String(answer.text()),
        };
        let mut faults = Vec::new();
        schema::check(described, &body, path, &mut faults);
        schema::unnamed(described, &body, path, &mut faults);
        assert!(faults.is_empty(), "{faults:#?}");
        seen += 1;
    }
    assert_eq!(seen, 8);
    let refused = http::get(node.admin, "/nothing").await.unwrap();
    let problem: Value = serde_json::from_slice(&refused.body).unwrap();
    let mut faults = Vec::new();
    let described = &document["components"]["schemas"]["Problem"];
    schema::check(described, &problem, "problem", &mut faults);
    assert_eq!(faults, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_a_gateway_says_so() {
    let node = Node::start(&[]).await;
    let page = asked(&node, &["top", "--once"]).await;
    assert_eq!(page.code, Some(8), "{page:?}");
    assert!(
        page.stderr.contains("gateway of this node is off"),
        "{page:?}"
    );
    let gone = ran(&mut macronode(["top", "--admin", "127.0.0.1:1"]));
    assert_eq!(gone.code, Some(6), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ready_line_says_what_to_try() {
    let node = demonstration().await;
    let invited = |line: &testkit::process::Line| {
        line.pipe == Pipe::Stdout && line.text.contains("x-tenant: gold")
    };
    let line = node.process.wait_for_line(invited, START).await.unwrap();
    assert!(line.text.contains(&gateway(&node).await.to_string()));
}

// req: ED-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demonstration_has_a_map_of_the_world() {
    let node = demonstration().await;
    let edge = node.process.addr("edge.http", START).await.unwrap();
    let page = http::get(edge, "/preview/world").await.unwrap();
    assert_eq!(page.status, 200);
    let json = http::get(edge, "/tiles/world.json").await.unwrap();
    let json: Value = serde_json::from_slice(&json.body).unwrap();
    assert_eq!(json["minzoom"], 0);
    let tile = http::get(edge, "/tiles/world/0/0/0.mvt").await.unwrap();
    assert_eq!(tile.status, 200);
    assert!(tile.body.len() > 1000, "{} bytes", tile.body.len());
}
