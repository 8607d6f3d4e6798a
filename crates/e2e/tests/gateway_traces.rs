//! Traces: what a collector is told of requests, and what upstreams are told of their trace.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::Ipv4Addr;
use std::time::Duration;

use e2e::gateway::{Gateway, PATIENCE, TRUSTED, to};
use serde_json::Value;
use testkit::upstream::{Fault, Reply, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-00f067aa0ba902b7-{flags}")
}

/// Takes batches of spans, as a collector does.
struct Collector(TcpListener);

impl Collector {
    async fn open() -> (Self, String) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        (Self(listener), endpoint)
    }

    /// The spans of the gateway, once there are so many.
    async fn spans(&self, wanted: usize) -> Vec<Value> {
        let mut spans = Vec::new();
        while spans.len() < wanted {
            let batch = tokio::time::timeout(PATIENCE, self.batch());
            let batch = batch.await.unwrap_or_else(|_| panic!("only {spans:?}"));
            // The admin server tells of itself too.
            spans.extend(batch.into_iter().filter(|span| span["name"] != "request"));
        }
        spans
    }

    async fn batch(&self) -> Vec<Value> {
        let (mut stream, _) = self.0.accept().await.unwrap();
        let mut bytes = Vec::new();
        let body = loop {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "cut short");
            if let Some(body) = body(&bytes) {
                break body;
            }
        };
        let taken = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(taken).await.unwrap();
        let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array().unwrap().clone()
    }
}

/// The body of a request, once all of it is there.
fn body(bytes: &[u8]) -> Option<Value> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let (_, length) = head.split_once("content-length: ")?;
    let length: usize = length.split("\r\n").next()?.parse().unwrap();
    serde_json::from_slice(bytes.get(end..end + length)?).ok()
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let known = span["attributes"].as_array().unwrap();
    let found = known.iter().find(|one| one["key"] == key)?;
    let value = found["value"].as_object().unwrap().values().next();
    value.and_then(Value::as_str)
}

fn nanos(span: &Value, key: &str) -> u128 {
    span[key].as_str().unwrap().parse().unwrap()
}

/// What the upstream was told, by request.
fn told(upstream: &Upstream) -> Vec<String> {
    let requests = upstream.requests();
    let heads = requests
        .iter()
        .map(|request| request.head.as_ref().unwrap());
    heads
        .map(|head| head.headers.get("traceparent").unwrap().to_owned())
        .collect()
}

async fn traced(upstream: &Upstream, endpoint: &str, ratio: &str) -> Gateway {
    let section = format!(
        "{TRUSTED}{}[traces]\nendpoint = \"{endpoint}\"\nratio = {ratio}\n",
        to(upstream.addr(), "")
    );
    Gateway::start(&section).await
}

// req: GW-14, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_span_and_its_upstreams_part_is_one_below_it() {
    let (collector, endpoint) = Collector::open().await;
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(Duration::from_millis(50)));
    let gateway = traced(&upstream, &endpoint, "0.0").await;
    let kept = parent("01");
    let headers = [("traceparent", kept.as_str()), ("x-tenant", "gold")];
    let answer = gateway.get_with("/a?secret=1", &headers).await;
    assert_eq!(answer.status, 200);
    let spans = collector.spans(2).await;
    let of_kind = |kind: u64| spans.iter().find(|span| span["kind"] == kind).unwrap();
    let (server, client) = (of_kind(2), of_kind(3));
    assert_eq!(
        (&server["name"], &client["name"]),
        (&"all".into(), &"main".into())
    );
    for span in [server, client] {
        assert_eq!(span["traceId"], TRACE);
        assert!(span["status"].is_null(), "{span}");
        assert!(!span.to_string().contains("secret"), "{span}");
        assert_eq!(attribute(span, "http.request.method"), Some("GET"));
        assert_eq!(attribute(span, "http.response.status_code"), Some("200"));
        let took = nanos(span, "endTimeUnixNano") - nanos(span, "startTimeUnixNano");
        assert!(took >= 45_000_000, "{took}: {span}");
    }
    assert!(nanos(server, "startTimeUnixNano") <= nanos(client, "startTimeUnixNano"));
    assert_eq!(server["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(client["parentSpanId"], server["spanId"]);
    assert_eq!(attribute(server, "url.path"), Some("/a"));
    assert_eq!(attribute(server, "macronode.tenant"), Some("gold"));
    let passed_on = format!("00-{TRACE}-{}-01", client["spanId"].as_str().unwrap());
    assert_eq!(told(&upstream), [passed_on]);
    gateway.end().await;
}

// req: GW-14, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_that_is_not_kept_is_passed_on_as_it_came_and_told_to_nobody() {
    let (collector, endpoint) = Collector::open().await;
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/reset", Fault::Reset);
    let gateway = traced(&upstream, &endpoint, "1.0").await;
    let unkept = parent("00");
    gateway.get_with("/", &[("traceparent", &unkept)]).await;
    // This one begins here, and is kept: it is the first that is told.
    assert_eq!(gateway.get("/nowhere%00").await.status, 400);
    let answer = gateway.ask("POST", "/reset", &[], b"x").await.unwrap();
    assert_eq!(answer.status, 502);
    let spans = collector.spans(3).await;
    assert!(
        spans.iter().all(|span| span["traceId"] != TRACE),
        "{spans:?}"
    );
    let reasons: Vec<_> = spans
        .iter()
        .map(|span| attribute(span, "error.type"))
        .collect();
    assert_eq!(
        reasons,
        [None, Some("upstream-reset"), Some("upstream-reset")]
    );
    assert!(
        attribute(&spans[0], "macronode.reason").is_some(),
        "{}",
        spans[0]
    );
    assert!(spans[2]["parentSpanId"].is_null(), "{}", spans[2]);
    assert_eq!(spans[2]["status"]["code"], 2);
    let told = told(&upstream);
    assert_eq!(told[0], unkept);
    assert!(told[1].ends_with("-01"), "{told:?}");
    assert_eq!(told[1][3..35], *spans[2]["traceId"].as_str().unwrap());
    gateway.end().await;
}
