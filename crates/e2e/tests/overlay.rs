//! The node's own API: what it shows is what its document says, and what changes the node is asked by who may.

use std::time::Duration;

use e2e::overlay::{OPERATOR, Overlay, PATIENCE, READER, config};
use e2e::wait::eventually;
use e2e::{log, schema};
use serde_json::Value;
use testkit::http::{self, request_bytes};

/// Another service of the node, which has gates of its own.
const TRANSPORT: &str = "[transport]\nlisten = [\"127.0.0.1:0\"]";
const COMMITTED: &str = include_str!("../../../docs/reference/openapi.json");

fn faults(document: &Value, described: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut faults = Vec::new();
    schema::check_in(document, described, value, at, &mut faults);
    faults
}

/// What is sent to a path that takes a body.
fn body(path: &str) -> &'static str {
    match path {
        "/v1/purge" => r#"{"prefix":"/"}"#,
        "/v1/tenants/{name}/weight" => r#"{"weight":7}"#,
        "/v1/gates/{name}/limit" => r#"{"limit":2}"#,
        _ => "",
    }
}

// req: ND-07, ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_of_the_document_answers_as_it_says() {
    let node = Overlay::start("").await;
    let document = node.read("/openapi.json").await;
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    assert!(
        document == committed,
        "docs/reference/openapi.json is stale: cargo xtask docs"
    );
    let mut seen = 0;
    let paths = document["paths"].as_object().unwrap();
    // The drain goes last: after it nothing answers.
    let (drain, others): (Vec<_>, Vec<_>) =
        paths.iter().partition(|(path, _)| *path == "/v1/drain");
    for (path, methods) in others.into_iter().chain(drain) {
        for (method, operation) in methods.as_object().unwrap() {
            seen += 1;
            if path == "/v1/events" {
                continue;
            }
            let name = if path.contains("gates") {
                "api"
            } else {
                "gold"
            };
            let at = path.replace("{name}", name);
            let method = method.to_uppercase();
            let answer = node.ask(&method, &at, Some(OPERATOR), body(path)).await;
            let said = &operation["responses"][answer.status.to_string()]["content"];
            let described = &said[answer.header("content-type").unwrap()]["schema"];
            assert!(described.is_object(), "{method} {at}: {answer:?}");
            let value = serde_json::from_slice(&answer.body).unwrap();
            let found = faults(&document, described, &value, &at);
            assert!(answer.status < 300 && found.is_empty(), "{at}: {found:#?}");
            if let Some(asked) = operation.pointer("/requestBody/content/application~1json/schema")
            {
                let sent = serde_json::from_str(body(path)).unwrap();
                assert_eq!(faults(&document, asked, &sent, &at), [""; 0]);
            }
        }
    }
    assert_eq!(seen, 17);
    let ended = node.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(ended.code(), Some(0));
    log::books(&node.process).await;
}

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_what_the_document_says_a_problem_is() {
    let node = Overlay::start("").await;
    let document: Value = serde_json::from_str(COMMITTED).unwrap();
    let problem = &document["components"]["schemas"]["Problem"];
    for (method, path, token, body, status, reason) in [
        ("GET", "/nothing", None, "", 404, "not-found"),
        ("POST", "/v1/status", None, "", 405, "method-not-allowed"),
        ("TRACE", "/v1/status", None, "", 405, "trace-not-allowed"),
        (
            "GET",
            "/v1/%2e%2e/status",
            None,
            "",
            400,
            "path-dot-segment",
        ),
        ("GET", "/v1/status", Some("wrong"), "", 401, "bad-token"),
        ("POST", "/v1/drain", None, "", 401, "unauthorized"),
        ("POST", "/v1/drain", Some(READER), "", 403, "forbidden"),
        (
            "PUT",
            "/v1/tenants/nobody/weight",
            Some(OPERATOR),
            r#"{"weight":1}"#,
            404,
            "unknown-tenant",
        ),
        (
            "PUT",
            "/v1/gates/nowhere/limit",
            Some(OPERATOR),
            r#"{"limit":1}"#,
            404,
            "unknown-gate",
        ),
        (
            "PUT",
            "/v1/gates/api/limit",
            Some(OPERATOR),
            r#"{"limit":0}"#,
            400,
            "bad-body",
        ),
        (
            "PUT",
            "/v1/gates/api/limit",
            Some(OPERATOR),
            r#"{"limit":1,"x":2}"#,
            400,
            "bad-body",
        ),
        (
            "POST",
            "/v1/purge",
            Some(OPERATOR),
            r#"{"url":"x"}"#,
            400,
            "bad-body",
        ),
    ] {
        let answer = node.ask(method, path, token, body).await;
        let said = (answer.status, answer.header("x-macronode-reason"));
        assert_eq!(said, (status, Some(reason)), "{method} {path}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{method}");
        let value: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(faults(&document, problem, &value, path), [""; 0]);
        assert_eq!(value["reason"], reason);
        assert_eq!(value["request_id"].as_str(), answer.header("x-request-id"));
    }
    assert_eq!(node.read("/v1/status").await["stage"], "running");
}

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_set_by_hand_is_shown_recorded_and_gone_with_the_next_config() {
    let node = Overlay::start(TRANSPORT).await;
    let weight = node.ask(
        "PUT",
        "/v1/tenants/gold/weight",
        Some(OPERATOR),
        r#"{"weight":9}"#,
    );
    assert_eq!(weight.await.status, 200);
    let limit = node.ask(
        "PUT",
        "/v1/gates/api/limit",
        Some(OPERATOR),
        r#"{"limit":2}"#,
    );
    let said: Value = serde_json::from_slice(&limit.await.body).unwrap();
    assert_eq!(said["until"], "the next config is in force");
    let gates = node.read("/v1/gates").await;
    let opcode = gates["transport"][0]["gate"].as_str().unwrap().to_owned();
    let path = format!("/v1/gates/{opcode}/limit");
    let set = node
        .ask("PUT", &path, Some(OPERATOR), r#"{"limit":5}"#)
        .await;
    assert_eq!(set.status, 200, "{opcode}");
    let shown = node.read("/v1/config").await;
    let overrides = shown["overrides"].as_array().unwrap();
    assert_eq!(overrides.len(), 3, "{overrides:?}");
    assert_eq!(
        (&overrides[2]["name"], &overrides[2]["now"]),
        (&Value::from(&*opcode), &5.into())
    );
    assert_eq!(
        (&overrides[0]["configured"], &overrides[0]["now"]),
        (&3.into(), &9.into())
    );
    let gates = node.read("/v1/gates").await;
    assert_eq!(gates["gates"][0]["limit"], 2);
    assert_eq!(gates["transport"][0]["limit"], 5);
    let text = shown.to_string();
    assert!(!text.contains(OPERATOR) && !text.contains(READER), "{text}");

    let refused = node.ask("POST", "/v1/reload", Some(READER), "").await;
    assert_eq!(refused.status, 403);
    let unknown = node.ask("POST", "/v1/reload", Some("none-of-those"), "");
    assert_eq!(unknown.await.status, 401);
    let bearer = format!("Bearer {OPERATOR}");
    let host = node.door.to_string();
    let send = async |path, header| {
        let headers = [("authorization", &*bearer), header];
        let request = request_bytes("POST", &host, path, &headers, b"");
        let answer = http::exchange(node.door, &request, PATIENCE).await;
        answer.unwrap().status
    };
    assert_eq!(
        send("/v1/drain", ("sec-fetch-site", "cross-site")).await,
        403
    );
    assert_eq!(send("/v1/purge", ("content-length", "4194305")).await, 413);
    let lines = [
        ("token ops", "set-weight", "gold", "done"),
        ("token ops", "set-limit", "api", "done"),
        ("token ops", "set-limit", &*opcode, "done"),
        ("token look", "reload", "", "forbidden"),
        ("nobody known", "reload", "", "bad-token"),
        ("token ops", "drain", "", "cross-site"),
        ("token ops", "purge", "", "body-too-large"),
    ];
    eventually("each is in the log", PATIENCE, async || {
        let told = log::events(&node.process);
        let audits = told.iter().filter(|event| event["target"] == "audit");
        let audits: Vec<_> = audits
            .map(|event| ["who", "action", "name", "result"].map(|key| event[key].clone()))
            .collect();
        audits == lines.map(|(who, what, name, result)| [who, what, name, result].map(Value::from))
    })
    .await;
    let told = log::events(&node.process);
    let set = told.iter().find(|event| event["action"] == "set-weight");
    assert_eq!(set.unwrap()["what"], r#"{"weight":9}"#);
    let told = told.iter().map(Value::to_string);
    assert!(
        !told.into_iter().any(|line| line.contains(OPERATOR)),
        "never the token"
    );

    let new = config(TRANSPORT).replace("weight = 3", "weight = 4");
    node.process.replace_config(&new).unwrap();
    eventually("the new config is in force", PATIENCE, async || {
        let shown = node.read("/v1/config").await;
        shown["generation"] == 2 && shown["overrides"].as_array().unwrap().is_empty()
    })
    .await;
    let gates = node.read("/v1/gates").await;
    assert_eq!(gates["gates"][0]["limit"], 8);
    assert_ne!(gates["transport"][0]["limit"], 5);
}

// req: ND-09, KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_change_with_the_config() {
    let node = Overlay::start("").await;
    let asked = async |token| node.ask("GET", "/v1/status", Some(token), "").await.status;
    assert_eq!(asked(READER).await, 200);
    let another = "another-token-that-may-read";
    let new = config("").replace(READER, another);
    node.process.replace_config(&new).unwrap();
    eventually("the new token counts", PATIENCE, async || {
        asked(another).await == 200
    })
    .await;
    assert_eq!(asked(READER).await, 401, "and the old one does not");
}

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_that_is_asked_for_twice_is_a_drain() {
    let node = Overlay::start("[drain]\naccept_grace_ms = 5000").await;
    let mut states = Vec::new();
    for _ in 0..3 {
        let answer = node.ask("POST", "/v1/drain", Some(OPERATOR), "").await;
        assert_eq!(answer.status, 202);
        let said: Value = serde_json::from_slice(&answer.body).unwrap();
        states.push(said["state"].as_str().unwrap().to_owned());
    }
    assert_eq!(states, ["requested", "draining", "draining"]);
    eventually("the drain is shown", PATIENCE, async || {
        node.read("/v1/readiness").await["draining"] == true
    })
    .await;
    let ended = node.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(ended.code(), Some(0), "not cut short");
}

// req: ND-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_beyond_four_mebibytes_and_hasty_addresses_are_turned_away() {
    let hasty = config("").replace("accepts_per_ip = 0", "accepts_per_ip = 20");
    let node = Overlay::with(&hasty).await;
    let host = node.door.to_string();
    let bearer = format!("Bearer {OPERATOR}");
    let headers = [("authorization", &*bearer), ("content-length", "4194305")];
    let request = request_bytes("POST", &host, "/v1/purge", &headers, b"");
    let answer = http::exchange(node.door, &request, PATIENCE).await.unwrap();
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert_eq!(answer.header("x-macronode-reason"), Some("body-too-large"));
    let request = request_bytes("GET", &host, "/v1/status", &[("connection", "close")], b"");
    eventually("too many are closed unheard", PATIENCE, async || {
        let mut asked = Vec::new();
        for _ in 0..60 {
            let request = request.clone();
            let door = node.door;
            asked.push(tokio::spawn(async move {
                http::exchange(door, &request, Duration::from_secs(5)).await
            }));
        }
        for asking in asked {
            let _cut_or_not = asking.await.unwrap().is_err();
        }
        let metrics = node.process.metrics().await.unwrap();
        let labels = [("door", "overlay.http"), ("reason", "rate")];
        metrics.sum("connections_cut_total", &labels) > 0.0
    })
    .await;
    let after = async || http::exchange(node.door, &request, PATIENCE).await;
    eventually("who waits is heard again", PATIENCE, async || {
        after().await.is_ok_and(|answer| answer.status == 200)
    })
    .await;
}
