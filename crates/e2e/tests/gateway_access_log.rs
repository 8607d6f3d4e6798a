//! The access log: who asked, where the time went, what it cost, and in which trace; also of what was refused early.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use e2e::gateway::{Gateway, PATIENCE, to};
use e2e::log;
use e2e::wait::eventually;
use serde_json::Value;
use testkit::http::request_bytes;
use testkit::upstream::{Reply, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const ALL: &str = "[gateway.access_log]\nlevel = \"all\"\n";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The lines of the access log, once the node has ended.
async fn lines(gateway: &Gateway) -> Vec<Value> {
    gateway.end().await;
    let events = log::events(&gateway.process).into_iter();
    events.filter(|event| event["target"] == "access").collect()
}

/// The one line for this reason.
fn because<'a>(lines: &'a [Value], reason: &str) -> &'a Value {
    let mut found = lines.iter().filter(|line| line["reason"] == reason);
    let line = found
        .next()
        .unwrap_or_else(|| panic!("{reason}: {lines:?}"));
    assert!(found.next().is_none(), "{reason}: more than once");
    line
}

fn number(line: &Value, name: &str) -> f64 {
    line[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name}: {line}"))
}

// req: GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_body_of_a_refusal_is_counted_like_any_other() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().body("answer"));
    let section = format!(
        "[[gateway.routes]]\npath = \"/here\"\nupstream = \"main\"\n\
         [gateway.upstreams.main]\nendpoints = [\"http://{}\"]\n{ALL}",
        upstream.addr()
    );
    let gateway = Gateway::start(&section).await;
    gateway.get("/here").await;
    let refused = gateway.get("/elsewhere").await;
    assert!(!refused.body.is_empty());
    let head = request_bytes("HEAD", "gate.test", "/nowhere", &[], b"");
    let mut client = gateway.connect().await;
    client.send(&head).await.unwrap();
    client.read_until_close(ms(200)).await;
    drop(client);
    let lines = lines(&gateway).await;
    let bytes = |path: &str| {
        let line = lines.iter().find(|line| line["path"] == path);
        number(line.unwrap_or_else(|| panic!("{path}: {lines:?}")), "bytes")
    };
    assert_eq!(bytes("/here"), 6.0);
    assert_eq!(bytes("/elsewhere"), refused.body.len() as f64);
    assert_eq!(bytes("/nowhere"), 0.0);
}

/// Reads a head, up to its empty line.
async fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

// req: GW-08, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_before_it_is_known_is_logged_with_its_address() {
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "trusted_hops = [\"127.0.0.0/8\"]\n[gateway.identity]\nrequired = true\n\
         tenant_header = \"x-tenant\"\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let client = [("x-forwarded-for", "192.0.2.7")];
    assert_eq!(gateway.get_with("/", &client).await.status, 401);
    assert_eq!(gateway.get_with("/a%00b", &client).await.status, 400);
    assert_eq!(gateway.get("/a%00c").await.status, 400);
    let lines = lines(&gateway).await;
    let from: Vec<_> = lines.iter().map(|line| &line["client"]).collect();
    assert_eq!(from, ["192.0.2.7", "192.0.2.7", "127.0.0.1"], "{lines:?}");
}

// req: GW-08, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_became_a_request_is_logged_like_every_refusal() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let long = "x".repeat(70_000);
    for (sent, status, reason) in [
        (
            "GET / HTTP/1.1\r\nno field\r\n\r\n".to_owned(),
            400,
            "malformed",
        ),
        (
            format!("GET / HTTP/1.1\r\na: {long}\r\n\r\n"),
            431,
            "head-too-large",
        ),
        (
            format!("GET /{long} HTTP/1.1\r\n\r\n"),
            414,
            "target-too-long",
        ),
    ] {
        let mut client = gateway.connect().await;
        let answer = client.exchange(sent.as_bytes(), PATIENCE).await.unwrap();
        let said = answer.header("x-macronode-reason").map(str::to_owned);
        assert_eq!((answer.status, said.as_deref()), (status, Some(reason)));
    }
    let lines = lines(&gateway).await;
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (reason, status) in [
        ("malformed", 400),
        ("head-too-large", 431),
        ("target-too-long", 414),
    ] {
        let line = because(&lines, reason);
        assert_eq!(
            (&line["status"], &line["client"]),
            (&status.into(), &"127.0.0.1".into())
        );
        assert!(line["id"].is_string(), "{line}");
    }
}

// req: GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_fails_says_where_its_time_went() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(ms(1_500)));
    let section = format!(
        "[gateway.timeouts]\nrequest_ms = 800\n[gateway.queue]\nwait_ms = 200\n{}",
        to(upstream.addr(), "limit = 1\n")
    );
    let gateway = Gateway::start(&section).await;
    let mut first = gateway.connect().await;
    let request = request_bytes("GET", "gate.test", "/", &[], b"");
    first.send(&request).await.unwrap();
    eventually("it is under way", PATIENCE, async || {
        upstream.received() == 1
    })
    .await;
    // One waits for its place in vain, the other for its answer.
    assert_eq!(gateway.get("/").await.status, 429);
    assert_eq!(first.response(PATIENCE).await.unwrap().status, 504);
    // And one does not wait for it.
    eventually("the place is free", PATIENCE, async || {
        gateway.metrics().await.sum("fq_inflight", &[]) as u64 == 0
    })
    .await;
    let mut leaves = gateway.connect().await;
    leaves.send(&request).await.unwrap();
    eventually("it is under way", PATIENCE, async || {
        upstream.received() == 2
    })
    .await;
    tokio::time::sleep(ms(150)).await;
    drop(leaves);
    eventually("it is gone", PATIENCE, async || {
        gateway.rejected("client-gone").await == 1
    })
    .await;
    let lines = lines(&gateway).await;
    for (reason, part, least) in [
        ("deadline", "upstream_ms", 750.0),
        ("queue-wait", "queue_ms", 150.0),
        ("client-gone", "upstream_ms", 140.0),
    ] {
        let line = because(&lines, reason);
        let (took, total) = (number(line, part), number(line, "total_ms"));
        assert!(took >= least && took <= total, "{line}");
        assert!(total - took < 100.0, "the rest is little: {line}");
    }
}

// req: GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_that_went_into_a_connection_is_said() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let addr = listener.local_addr().unwrap();
    // Its queue is full: nobody hears back.
    let mut fillers = Vec::new();
    while let Ok(filler) = tokio::time::timeout(ms(200), TcpStream::connect(addr)).await {
        fillers.push(filler.unwrap());
    }
    let section = format!(
        "[gateway.timeouts]\nrequest_ms = 3000\n{}",
        to(addr, "connect_ms = 300\n")
    );
    let gateway = Gateway::start(&section).await;
    assert!(gateway.get("/").await.status >= 500);
    let lines = lines(&gateway).await;
    let line = &lines[0];
    let took = number(line, "connect_ms");
    assert!(
        (290.0..=number(line, "upstream_ms")).contains(&took),
        "{line}"
    );
}

// req: GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tunnel_lasted_as_long_as_it_was_open() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr: SocketAddr = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        let agreed =
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
        stream.write_all(agreed).await.unwrap();
        let _end = stream.read_u8().await;
    });
    let gateway = Gateway::start(&format!("{ALL}{}", to(addr, ""))).await;
    let mut client = TcpStream::connect(gateway.door).await.unwrap();
    let wish = [("connection", "upgrade"), ("upgrade", "echo")];
    let request = request_bytes("GET", "gate.test", "/", &wish, b"");
    client.write_all(&request).await.unwrap();
    assert!(head(&mut client).await.contains("101"));
    tokio::time::sleep(ms(700)).await;
    client.shutdown().await.unwrap();
    served.await.unwrap();
    let ended = client.read_u8().await;
    assert!(ended.is_err(), "{ended:?}");
    let metric = "gateway_request_seconds_sum";
    let seconds = gateway.metrics().await.sum(metric, &[]);
    let lines = lines(&gateway).await;
    assert!(number(&lines[0], "total_ms") >= 700.0, "{lines:?}");
    assert!(number(&lines[0], "cost") > 0.0, "it had a place: {lines:?}");
    assert!(seconds >= 0.7, "{seconds}");
}

// req: GW-14, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_names_the_trace_and_what_was_charged() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/slow", Reply::default().delay(ms(300)));
    let gateway = Gateway::start(&format!("{ALL}{}", to(upstream.addr(), ""))).await;
    let parent = "00-0123456789abcdeffedcba9876543211-0000000000000007-01";
    let given = [("traceparent", parent), ("x-request-id", "mine")];
    for _ in 0..20 {
        gateway.get("/").await;
    }
    gateway.get_with("/slow", &given).await;
    let made = upstream.requests()[0]
        .head
        .as_ref()
        .unwrap()
        .headers
        .get("traceparent")
        .unwrap()
        .to_owned();
    let lines = lines(&gateway).await;
    assert_eq!(lines[0]["trace"], made[3..35], "{}", lines[0]);
    let slow = &lines[20];
    assert_eq!(slow["trace"], parent[3..35], "{slow}");
    assert!(
        number(slow, "cost") > 1.5,
        "it held its place for long: {slow}"
    );
}

// req: GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_had_no_place_was_charged_nothing() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/slow", Reply::default().delay(ms(1_500)));
    let route = |path: &str, keys: &str| format!("[[gateway.routes]]\npath = \"{path}\"\n{keys}\n");
    let dear = "upstream = \"main\"\ncost = 3";
    let section = [
        "trusted_hops = [\"127.0.0.0/8\"]\nidentity.tenant_header = \"x-tenant\"\n",
        &route("/moved", "redirect = \"/there\""),
        &route("/rated", "upstream = \"main\"\nrate = { per_second = 1 }"),
        &route("/small", &format!("{dear}\nbody_bytes = 1")),
        &route("/slow", &format!("{dear}\ndeadline_ms = 400")),
        &format!(
            "[gateway.upstreams.main]\nendpoints = [\"http://{}\"]\n{ALL}",
            upstream.addr()
        ),
    ];
    let gateway = Gateway::start(&section.concat()).await;
    assert_eq!(gateway.get("/moved").await.status, 308);
    assert_eq!(gateway.get("/rated").await.status, 200);
    assert_eq!(gateway.get("/rated").await.status, 429);
    let large = gateway.ask("POST", "/small", &[], b"large").await;
    assert_eq!(large.unwrap().status, 413);
    let malformed = [("x-tenant", "a b")];
    assert_eq!(gateway.get_with("/small", &malformed).await.status, 400);
    assert_eq!(gateway.get("/slow").await.status, 504);
    let lines = lines(&gateway).await;
    for reason in ["rate-route", "body-too-large", "tenant-malformed"] {
        let line = because(&lines, reason);
        assert_eq!(number(line, "cost"), 0.0, "{line}");
    }
    assert_eq!(number(&lines[0], "cost"), 0.0, "{}", lines[0]);
    assert!(number(&lines[1], "cost") > 0.0, "{}", lines[1]);
    let given_up = because(&lines, "deadline");
    assert!(number(given_up, "cost") > 1.0, "{given_up}");
}
