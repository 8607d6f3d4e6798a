use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tracing::dispatcher::{self, Dispatch};
use tracing::{error, info_span};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

use super::*;
use crate::clock;
use crate::drain::Stage;
use crate::shutdown::StagePublisher;
use crate::tasks::TaskGroup;
use crate::telemetry::tests::timed;
use crate::tree::{Context, Failure};

struct Traced {
    kernel: Kernel,
    stages: StagePublisher,
    dispatch: Dispatch,
    child: Child,
}

fn traced(endpoint: &str, ratio: f64) -> Traced {
    let (kernel, stages) = Kernel::new();
    let settings = TraceSettings {
        endpoint: Endpoint::parse(endpoint).unwrap(),
        service: "node".to_owned(),
        ratio,
    };
    let (layer, child) = traces(settings, &kernel);
    Traced {
        dispatch: Dispatch::new(Registry::default().with(vec![layer])),
        kernel,
        stages,
        child,
    }
}

impl Traced {
    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.dispatch, work)
    }

    fn life(&self) -> impl Future<Output = Result<(), Failure>> + use<> {
        self.kernel.readiness.declare(CHILD.name, false, false);
        let context = Context {
            spec: &CHILD,
            ready: self.kernel.readiness.begin(CHILD.name),
            tasks: TaskGroup::new(&self.kernel.registry),
            kernel: self.kernel.clone(),
        };
        (self.child.start)(context)
    }

    /// Tells the exporter to end while it lives.
    async fn live_until(&self, then: impl Future<Output = ()>) {
        let end = async {
            then.await;
            self.stages.publish(Stage::Support);
        };
        let (lived, ()) = tokio::join!(self.life(), end);
        assert!(lived.is_ok());
    }

    /// Spans: made out of the queue's and the collector's doings.
    fn counts(&self) -> Counts {
        let registry = &self.kernel.registry;
        Counts {
            exported: registry.counter(&EXPORTED, &[]).get(),
            lost: registry.counter(&LOST, &[]).get(),
            failures: registry.counter(&FAILURES, &[]).get(),
            dropped: registry.counter(&queue::DROPPED, &[SPANS.name]).get(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    exported: u64,
    lost: u64,
    failures: u64,
    dropped: u64,
}

struct Collector {
    listener: TcpListener,
}

impl Collector {
    async fn open() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        (Self { listener }, endpoint)
    }

    /// Takes one batch, answers `status`, gives back the head and the spans.
    async fn take(&self, status: &str) -> (String, Vec<Value>) {
        let taken = tokio::time::timeout(Duration::from_secs(10), self.wait(status));
        taken.await.expect("no batch came")
    }

    async fn wait(&self, status: &str) -> (String, Vec<Value>) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let (head, body) = loop {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "cut short");
            if let Some(whole) = split(&bytes) {
                break whole;
            }
        };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let scopes = &body["resourceSpans"][0];
        let service = &scopes["resource"]["attributes"][0];
        assert_eq!(service["key"], "service.name");
        assert_eq!(service["value"]["stringValue"], "node");
        let spans = scopes["scopeSpans"][0]["spans"].as_array().unwrap();
        (head, spans.clone())
    }
}

/// Head and parsed body, once all bytes are there.
fn split(bytes: &[u8]) -> Option<(String, Value)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let (_, length) = head.split_once("content-length: ")?;
    let length: usize = length.split("\r\n").next()?.parse().unwrap();
    let body = bytes.get(end..end + length)?;
    Some((head, serde_json::from_slice(body).unwrap()))
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

// req: KN-21
#[tokio::test]
async fn a_batch_arrives_as_a_family() {
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 1.0);
    traced.with(|| {
        let request = info_span!(
            "request",
            route = "/a",
            size = 7,
            late = tracing::field::Empty
        );
        request.record("late", true);
        let _entered = request.enter();
        let upstream = info_span!("upstream", ratio = 0.5);
        upstream.in_scope(|| error!("no answer"));
    });
    let (mut head, mut spans) = Default::default();
    traced
        .live_until(async { (head, spans) = collector.take("200 OK").await })
        .await;

    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("content-type: application/json\r\n"),
        "{head}"
    );
    let [upstream, request] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!(upstream["name"], "upstream");
    assert_eq!(upstream["traceId"], request["traceId"]);
    assert_eq!(upstream["parentSpanId"], request["spanId"]);
    assert_ne!(upstream["spanId"], request["spanId"]);
    assert!(request["parentSpanId"].is_null());
    assert_eq!(request["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(request["spanId"].as_str().unwrap().len(), 16);
    assert_eq!(upstream["status"]["code"], 2);
    assert_eq!(upstream["status"]["message"], "no answer");
    assert!(request["status"].is_null());
    let attributes = serde_json::json!([
        {"key": "route", "value": {"stringValue": "/a"}},
        {"key": "size", "value": {"intValue": "7"}},
        {"key": "late", "value": {"boolValue": true}},
    ]);
    assert_eq!(request["attributes"], attributes);
    assert!(number(&request["startTimeUnixNano"]) <= number(&upstream["startTimeUnixNano"]));
    assert!(number(&upstream["endTimeUnixNano"]) <= number(&request["endTimeUnixNano"]));
    assert_eq!(traced.counts().exported, 2);
}

// req: KN-21
#[tokio::test]
async fn a_peers_trace_goes_on_and_its_choice_to_keep_it_holds() {
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 0.0);
    let header = |flags| format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
    let place = traced.with(|| {
        for unkept in [header("00"), "garbage".to_owned()] {
            let span = info_span!("unkept", traceparent = unkept);
            span.in_scope(|| assert!(!current().unwrap().sampled));
        }
        let kept = header("01");
        info_span!("kept", traceparent = %kept).in_scope(|| current().unwrap())
    });
    let mut spans = Vec::new();
    traced
        .live_until(async { spans = collector.take("200 OK").await.1 })
        .await;

    assert_eq!(spans.len(), 1, "{spans:?}");
    assert_eq!(spans[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(spans[0]["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(spans[0]["kind"], 2);
    assert_eq!(spans[0]["traceId"], place.trace.to_string());
    assert_eq!(spans[0]["spanId"], place.span.to_string());
}

// req: KN-21
#[tokio::test]
async fn a_span_with_many_fields_keeps_the_first_and_counts_the_rest() {
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 1.0);
    traced.with(|| {
        drop(info_span!(
            "wide",
            a0 = 0,
            a1 = 0,
            a2 = 0,
            a3 = 0,
            a4 = 0,
            a5 = 0,
            a6 = 0,
            a7 = 0,
            a8 = 0,
            a9 = 0,
            b0 = 0,
            b1 = 0,
            b2 = 0,
            b3 = 0,
            b4 = 0,
            b5 = 0,
            b6 = 0,
            b7 = 0,
            b8 = 0,
            b9 = 0,
            c0 = 0,
            c1 = 0,
            c2 = 0,
            c3 = 0,
            c4 = 0,
            c5 = 0,
            c6 = 0,
            c7 = 0,
            c8 = 0,
            c9 = 0,
            d0 = f64::NAN,
            d1 = u64::MAX,
            d2 = 0,
            d3 = 0,
        ));
    });
    let mut spans = Vec::new();
    traced
        .live_until(async { spans = collector.take("200 OK").await.1 })
        .await;
    let attributes = spans[0]["attributes"].as_array().unwrap();
    assert_eq!(attributes.len(), 32);
    assert_eq!(attributes[30]["value"]["stringValue"], "NaN");
    assert_eq!(attributes[31]["value"]["stringValue"], u64::MAX.to_string());
    assert_eq!(spans[0]["droppedAttributesCount"], 2);
}

// req: KN-21
#[tokio::test(start_paused = true)]
async fn a_collector_that_refuses_costs_its_batch_and_the_next_one_is_tried() {
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 1.0);
    let span = || traced.with(|| drop(info_span!("work")));
    span();
    let end = async {
        collector.take("503 Service Unavailable").await;
        while traced.counts().failures == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        span();
        collector.take("200 OK").await;
    };
    traced.live_until(end).await;
    let counts = Counts {
        exported: 1,
        lost: 1,
        failures: 1,
        dropped: 0,
    };
    assert_eq!(traced.counts(), counts);
}

// req: KN-21
#[tokio::test(start_paused = true)]
async fn a_collector_that_never_answers_slows_nobody_and_every_span_is_counted() {
    const MADE: u64 = 10_000;
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 1.0);
    let make = async {
        traced.with(|| drop(info_span!("first")));
        let (silent, _) = collector.listener.accept().await.unwrap();
        let work = || (1..MADE).for_each(|number| drop(info_span!("work", number)));
        let (took, ()) = timed(|| traced.with(work));
        assert!(took < Duration::from_secs(1), "{took:?}");
        traced.stages.publish(Stage::Support);
        (clock::now(), silent)
    };
    let (lived, (told, _silent)) = tokio::join!(traced.life(), make);
    assert!(lived.is_ok());
    let took = clock::now() - told;
    assert!(took < crate::limits::SUPPORT_DEADLINE, "{took:?}");
    let counts = traced.counts();
    assert_eq!(counts.dropped, MADE - 1 - SPANS.capacity as u64);
    assert_eq!(counts.lost, 1 + SPANS.capacity as u64);
    assert_eq!(counts.exported + counts.lost + counts.dropped, MADE);
}

// req: KN-21
#[tokio::test(start_paused = true)]
async fn what_is_queued_when_the_node_ends_is_sent_without_waiting_for_more() {
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 1.0);
    traced.with(|| (0..200).for_each(|_| drop(info_span!("work"))));
    traced.stages.publish(Stage::Support);
    let mut sizes = Vec::new();
    let take = async {
        while sizes.iter().sum::<usize>() < 200 {
            sizes.push(collector.take("200 OK").await.1.len());
        }
    };
    traced.live_until(take).await;
    assert_eq!(sizes, [128, 72]);
    assert_eq!(traced.counts().exported, 200);
}

// req: KN-21
#[tokio::test(start_paused = true)]
async fn a_silent_collector_is_given_up_at_the_bound() {
    let (collector, endpoint) = Collector::open().await;
    let traced = traced(&endpoint, 1.0);
    let began = clock::now();
    let silent = async {
        traced.with(|| drop(info_span!("work")));
        let (_silent, _) = collector.listener.accept().await.unwrap();
        while traced.counts().failures == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    traced.live_until(silent).await;
    let took = clock::now() - began;
    assert!((5..8).contains(&took.as_secs()), "{took:?}");
    assert_eq!(traced.counts().lost, 1);
}

// req: KN-21
#[test]
fn an_endpoint_is_a_plain_http_url_without_a_password() {
    let parse = |text| Endpoint::parse(text).map(|endpoint| endpoint.to_string());
    assert_eq!(
        parse("http://c:1/v1/traces").unwrap(),
        "http://c:1/v1/traces"
    );
    assert_eq!(
        Endpoint::parse("http://[::1]/x").unwrap().address(),
        ("::1", 4318)
    );
    assert_eq!(parse("https://c/v1/traces"), Err(EndpointError::Scheme));
    assert_eq!(
        parse("http://u:p@c/v1/traces"),
        Err(EndpointError::UserInfo)
    );
    for malformed in [
        "",
        "c",
        "/v1/traces",
        "c:4318/v1",
        "http://",
        "http://c:99999/",
        "http://c:/",
    ] {
        assert_eq!(
            parse(malformed),
            Err(EndpointError::Malformed),
            "{malformed}"
        );
    }
}
