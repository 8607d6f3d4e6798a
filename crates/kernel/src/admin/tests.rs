use std::net::SocketAddr;
use std::time::Duration;

use testkit::http;

use super::*;
use crate::config::reload_requests;
use crate::drain::{Outcome, Phase};
use crate::limits;
use crate::queue::Receiver;
use crate::serve::{Door, DoorLimits, Patience, serve};
use crate::testing::{supervise, until_ready};
use crate::tree::{Child, ChildSpec, Restart};

static SPEC: ChildSpec = ChildSpec {
    name: "admin",
    doc: "test",
    depends_on: &[],
    phase: Phase::Admin,
    restart: Restart::Always,
    essential: true,
};
static STUBBORN: ChildSpec = ChildSpec {
    name: "stubborn",
    phase: Phase::Work,
    ..SPEC
};

static WEATHER: Route = Route::reads(
    "/weather",
    "a service's page",
    || json!({ "type": "object", "required": ["sky"] }),
);

struct Desk {
    kernel: Kernel,
    address: SocketAddr,
    reloads: Receiver<()>,
    running: tokio::task::JoinHandle<Outcome>,
}

/// An admin server beside a child that needs 300 ms to end.
async fn desk(token: Option<&'static str>) -> Desk {
    desk_with(token, false).await
}

async fn desk_with(token: Option<&'static str>, guarded: bool) -> Desk {
    let (kernel, publisher) = Kernel::new();
    let door = Door::bind("admin", "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = door.address();
    let (reload, reloads) = reload_requests(&kernel);
    let identity = Identity {
        version: "1.2.3",
        build: "test",
    };
    let facts = vec![Fact::new("weather", || "fine")];
    let token = Arc::new(move || token.map(|token| Secret::from(token.to_owned())));
    let admin = Admin::new(&kernel, identity, reload, token, guarded, facts);
    let admin = Arc::new(admin.with_page(&WEATHER, Arc::new(|| json!({ "sky": "blue" }))));
    let patience = Patience {
        head: limits::HEAD_TIMEOUT,
        idle: limits::IDLE_TIMEOUT,
        write: limits::WRITE_TIMEOUT,
    };
    let bounds = DoorLimits {
        connections: 8,
        patience,
    };
    let children = vec![
        Child::new(&SPEC, move |context| {
            serve(context, door.clone(), bounds, admin.clone())
        }),
        Child::new(&STUBBORN, |context| async move {
            context.ready.ready();
            context.told_to_end().await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(())
        }),
    ];
    let running = supervise(&kernel, publisher, children);
    until_ready(&kernel).await;
    Desk {
        kernel,
        address,
        reloads,
        running,
    }
}

async fn json_of(address: SocketAddr, path: &str) -> (u16, Value) {
    let answer = http::get(address, path).await.unwrap();
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

// req: KN-11
#[tokio::test]
async fn every_documented_path_answers_as_documented() {
    let desk = desk(None).await;
    assert_eq!(
        http::get(desk.address, "/healthz").await.unwrap().body,
        b"ok\n"
    );
    let (status, ready) = json_of(desk.address, "/readyz").await;
    assert_eq!((status, &ready["state"]), (200, &json!("ready")));
    assert_eq!(ready["services"][1]["service"], "stubborn");
    assert_eq!(
        json_of(desk.address, "/version").await.1["version"],
        "1.2.3"
    );
    let metrics = http::get(desk.address, "/metrics").await.unwrap();
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    assert!(
        String::from_utf8(metrics.body)
            .unwrap()
            .contains("tasks_spawned_total{kind=\"child\"} 2")
    );
    let (_, status) = json_of(desk.address, "/status").await;
    assert_eq!(
        (&status["node"], &status["weather"]),
        (&json!("running"), &json!("fine"))
    );
    assert_eq!(status["children"][0]["life"], "up");
    assert_eq!(status["queues"][0]["name"], "cfg_updates");
}

#[tokio::test]
async fn what_is_not_there_says_what_is() {
    let desk = desk(None).await;
    let missing = http::get(desk.address, "/nope").await.unwrap();
    assert_eq!(
        (missing.status, missing.header("x-macronode-reason")),
        (404, Some("not-found"))
    );
    assert!(
        String::from_utf8(missing.body)
            .unwrap()
            .contains("GET /readyz")
    );
    let wrong = http::post(desk.address, "/metrics", &[], b"")
        .await
        .unwrap();
    assert_eq!(
        (wrong.status, wrong.header("allow")),
        (405, Some("GET, HEAD"))
    );
    let rejected = &crate::serve::problem::REJECTED;
    assert_eq!(
        desk.kernel.registry.counter(rejected, &["not-found"]).get(),
        1
    );
}

// req: KN-08
#[tokio::test]
async fn nothing_changes_without_the_token() {
    let open = desk(None).await;
    let refused = http::post(open.address, "/drain", &[], b"").await.unwrap();
    assert_eq!(
        (refused.status, refused.header("x-macronode-reason")),
        (401, Some("unauthorized"))
    );
    assert!(String::from_utf8(refused.body).unwrap().contains("SIGTERM"));

    let guarded = desk(Some("s3cret")).await;
    for wrong in [
        "",
        "Bearer ",
        "Bearer s3cre",
        "Bearer s3cretx",
        "Basic s3cret",
        "s3cret",
    ] {
        let answer = http::post(guarded.address, "/reload", &[("authorization", wrong)], b"")
            .await
            .unwrap();
        assert_eq!(answer.status, 401, "{wrong}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(!String::from_utf8(answer.body).unwrap().contains("s3cret"));
    }
    assert!(guarded.reloads.try_recv().is_none());
    let right = [("authorization", "Bearer s3cret")];
    assert_eq!(
        http::post(guarded.address, "/reload", &right, b"")
            .await
            .unwrap()
            .status,
        202
    );
    assert!(guarded.reloads.try_recv().is_some());
    assert_eq!(
        http::post(guarded.address, "/drain", &right, b"")
            .await
            .unwrap()
            .status,
        202
    );
    assert_eq!(guarded.running.await.unwrap(), Outcome::Drained);
    assert!(!open.kernel.shutdown.draining());
}

#[tokio::test]
async fn beyond_loopback_only_probes_are_open() {
    let desk = desk_with(Some("s3cret"), true).await;
    for (path, open) in [
        ("/healthz", true),
        ("/readyz", true),
        ("/status", false),
        ("/metrics", false),
    ] {
        let status = http::get(desk.address, path).await.unwrap().status;
        assert_eq!(status, if open { 200 } else { 401 }, "{path}");
    }
}

/// The status of a read by this host, with these headers.
async fn read_by(desk: &Desk, host: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut all = vec![("host", host), ("connection", "close")];
    all.extend(headers);
    let fields: String = all
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let request = format!("GET {path} HTTP/1.1\r\n{fields}\r\n");
    let answer = http::exchange(desk.address, request.as_bytes(), Duration::from_secs(5));
    answer.await.unwrap().status
}

// req: ND-09
#[tokio::test]
async fn a_page_whose_name_leads_here_reads_nothing() {
    let desk = desk(Some("s3cret")).await;
    let here = desk.address.to_string();
    for host in [
        &*here,
        "localhost",
        "LOCALHOST:9600",
        "[::1]:9600",
        "10.1.2.3",
    ] {
        assert_eq!(read_by(&desk, host, "/status", &[]).await, 200, "{host}");
    }
    let strange = [
        "evil.test",
        "evil.test:9600",
        "localhost.evil.test",
        "",
        "a@b",
    ];
    for host in strange {
        for path in ["/status", "/metrics", "/weather", "/openapi.json"] {
            let status = read_by(&desk, host, path, &[]).await;
            assert_eq!(status, 421, "{path} by {host:?}");
        }
        // Who balances load knows the node by whatever name.
        assert_eq!(read_by(&desk, host, "/readyz", &[]).await, 200, "{host:?}");
        let token = ("authorization", "Bearer s3cret");
        assert_eq!(read_by(&desk, host, "/status", &[token]).await, 200);
    }
    let twice = read_by(&desk, &here, "/status", &[("host", "evil.test")]).await;
    assert_eq!(twice, 421);
    let target = read_by(&desk, &here, "http://evil.test/status", &[]).await;
    assert_eq!(target, 421);
}

// req: ND-09
#[tokio::test]
async fn beyond_loopback_the_token_opens_by_any_name() {
    let desk = desk_with(Some("s3cret"), true).await;
    let token = ("authorization", "Bearer s3cret");
    assert_eq!(read_by(&desk, "node.test", "/status", &[token]).await, 200);
    assert_eq!(read_by(&desk, "node.test", "/status", &[]).await, 401);
}

// req: KN-08, KN-11
#[tokio::test]
async fn the_admin_server_answers_until_everything_else_has_ended() {
    let desk = desk(None).await;
    desk.kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (code, ready) = json_of(desk.address, "/readyz").await;
    assert_eq!((code, &ready["draining"]), (503, &json!(true)));
    assert_eq!(json_of(desk.address, "/status").await.1["node"], "draining");
    assert_eq!(
        http::get(desk.address, "/healthz").await.unwrap().status,
        200
    );
    assert_eq!(desk.running.await.unwrap(), Outcome::Drained);
}

// req: ND-09
#[tokio::test]
async fn a_page_that_a_service_adds_is_served_listed_and_guarded() {
    let open = desk(None).await;
    let (status, weather) = json_of(open.address, "/weather").await;
    assert_eq!((status, weather), (200, json!({ "sky": "blue" })));
    let missing = http::get(open.address, "/nope").await.unwrap();
    assert!(missing.text().contains("GET /weather"));
    let posted = http::post(open.address, "/weather", &[], b"")
        .await
        .unwrap();
    assert_eq!(posted.status, 405);
    let guarded = desk_with(Some("s3cret"), true).await;
    let shut = http::get(guarded.address, "/weather").await.unwrap();
    assert_eq!(shut.status, 401);
}

// req: ND-09
#[tokio::test]
async fn the_openapi_document_has_every_route_and_answers_are_as_it_says() {
    let desk = desk(None).await;
    let (_, document) = json_of(desk.address, "/openapi.json").await;
    assert_eq!(document["info"]["version"], "1.2.3");
    let operations: usize = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .map(|path| path.as_object().unwrap().len())
        .sum();
    assert_eq!(operations, ROUTES.len() + 1);
    for route in ROUTES.iter().chain([&WEATHER]) {
        let method = route.method.as_str().to_lowercase();
        let operation = &document["paths"][route.path][&method];
        assert_eq!(operation["summary"], route.doc, "{}", route.path);
        let changes = route.method == Method::POST;
        assert_eq!(
            operation["security"] != json!([]),
            changes,
            "{}",
            route.path
        );
        let answer = match changes {
            true => http::post(desk.address, route.path, &[], b"").await,
            false => http::get(desk.address, route.path).await,
        };
        let answer = answer.unwrap();
        let said = &operation["responses"];
        let documented = match changes {
            true => &said["default"],
            false => &said[answer.status.to_string()],
        };
        let content = documented["content"].as_object().unwrap();
        let sent = answer.header("content-type").unwrap();
        assert!(content.contains_key(sent), "{}: {sent}", route.path);
    }
}

// req: ND-09
#[tokio::test]
async fn the_openapi_document_of_a_guarded_server_asks_for_the_token_except_for_probes() {
    let desk = desk_with(Some("s3cret"), true).await;
    let right = [("authorization", "Bearer s3cret")];
    let request = http::request_bytes("GET", desk.address, "/openapi.json", &right, b"");
    let answer = http::exchange(desk.address, &request, Duration::from_secs(5));
    let answer = answer.await.unwrap();
    let document: Value = serde_json::from_slice(&answer.body).unwrap();
    let security = |path: &str| document["paths"][path]["get"]["security"].clone();
    assert_eq!(security("/status"), json!([{ "token": [] }]));
    assert_eq!(security("/readyz"), json!([]));
}
