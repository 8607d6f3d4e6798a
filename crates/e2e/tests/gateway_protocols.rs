//! What HTTP can carry: answers without a body, bodies of any size, trailers, expectations, old clients.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use bytes::Bytes;
use e2e::gateway::{Gateway, PATIENCE, ROOMY, assert_refusal, to};
use e2e::log;
use e2e::wait::eventually;
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use testkit::http::{Connection, request_bytes};
use testkit::upstream::{Fault, Reply, Upstream, filler};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Reads a head, up to its empty line.
async fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_without_a_body_leave_the_connection_as_it_was() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/none", Reply::status(204));
    upstream.set("/same", Reply::status(304).header("etag", "\"a\""));
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let mut client = gateway.connect().await;
    let expected = [
        ("HEAD", "/", 200, Some("19")),
        ("GET", "/none", 204, None),
        ("GET", "/same", 304, None),
        ("HEAD", "/none", 204, None),
        ("OPTIONS", "/", 200, Some("19")),
        ("DELETE", "/", 200, Some("19")),
        ("GET", "/", 200, Some("19")),
    ];
    for (method, path, status, length) in expected {
        let request = request_bytes(method, "gate.test", path, &[], b"");
        let answer = client.exchange(&request, PATIENCE).await.unwrap();
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("content-length"), length, "{method} {path}");
        let with_body = length.is_some() && method != "HEAD";
        assert_eq!(answer.body.is_empty(), !with_body, "{method} {path}");
        assert!(answer.keeps_alive, "{method} {path}");
    }
    assert_eq!(upstream.connections(), 1, "kept and used again");
    assert_eq!(upstream.received(), 7);
}

// RFC 9110, 9.3.7: about the server as a whole, which is this one.
// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_about_the_whole_server_is_answered_here() {
    let upstream = Upstream::start().await.unwrap();
    let all = "[gateway.access_log]\nlevel = \"all\"\n";
    let gateway = Gateway::start(&format!("{all}{}", to(upstream.addr(), ""))).await;
    let mut client = gateway.connect().await;
    for (method, path, status, passed) in [
        ("OPTIONS", "*", 204, 0),
        ("OPTIONS", "http://gate.test", 204, 0),
        ("GET", "*", 400, 0),
        ("OPTIONS", "/", 200, 1),
        ("OPTIONS", "http://gate.test/", 200, 2),
    ] {
        let request = request_bytes(method, "gate.test", path, &[], b"");
        let answer = client.exchange(&request, PATIENCE).await.unwrap();
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(upstream.received(), passed, "{method} {path}");
        if !answer.keeps_alive {
            client = gateway.connect().await;
        }
    }
    gateway.end().await;
    let events = log::events(&gateway.process);
    let line = events.iter().find(|event| event["path"] == "*");
    let line = line.expect("a line in the access log");
    let seen = (&line["status"], &line["upstream"], &line["upstream_ms"]);
    assert_eq!(seen, (&204.into(), &"".into(), &0.0.into()), "{line}");
}

// There is nothing to have a length; some clients of HTTP/2 take one for a broken answer.
// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_says_there_is_nothing_says_no_length_over_http2() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        let answer = b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\nx-kept: yes\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        stream
    });
    let gateway = Gateway::start(&to(addr, "")).await;
    let io = TokioIo::new(TcpStream::connect(gateway.door).await.unwrap());
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (mut client, connection) = shaken.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get("http://gate.test/");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let answer = client.send_request(request).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-kept"]),
        (204, &"yes".parse().unwrap())
    );
    assert_eq!(answer.headers().get("content-length"), None);
    drop(served.await.unwrap());
}

// attack: A-45
// req: GW-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_expects_a_100_gets_it_when_it_is_admitted_and_not_before() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/silence", Fault::Silence);
    let section = format!(
        "{ROOMY}[gateway.limits]\nbody_bytes = 1000\n{}",
        to(upstream.addr(), "limit = 1")
    );
    let gateway = Gateway::start(&section).await;
    let busy = tokio::spawn({
        let mut client = gateway.connect().await;
        async move {
            let request = request_bytes("GET", "gate.test", "/silence", &[], b"");
            client.exchange(&request, PATIENCE).await
        }
    });
    eventually("the place is taken", PATIENCE, async || {
        upstream.received() == 1
    })
    .await;
    let mut client = TcpStream::connect(gateway.door).await.unwrap();
    let expecting = |length: usize| {
        format!(
            "POST / HTTP/1.1\r\nhost: gate.test\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    client.write_all(expecting(4).as_bytes()).await.unwrap();
    let early = tokio::time::timeout(ms(250), head(&mut client)).await;
    assert!(early.is_err(), "before it was admitted: {early:?}");
    // Its client leaves, and so does it.
    busy.abort();
    let going_on = tokio::time::timeout(PATIENCE, head(&mut client)).await;
    assert!(going_on.unwrap().starts_with("HTTP/1.1 100 "));
    client.write_all(b"body").await.unwrap();
    let answer = tokio::time::timeout(PATIENCE, head(&mut client)).await;
    assert!(answer.unwrap().starts_with("HTTP/1.1 200 "));
    let seen = upstream.requests().pop().unwrap();
    assert_eq!(seen.body, b"body");

    let mut client = gateway.connect().await;
    let refused = client.exchange(expecting(1001).as_bytes(), PATIENCE).await;
    let refused = refused.unwrap();
    assert_refusal(&refused, 413, "body-too-large");
    assert!(
        refused.interim.is_empty(),
        "asked for what it does not want"
    );
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_upstream_says_before_its_answer_ends_at_the_gateway() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/hints", Fault::InterimFlood { count: 3 });
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let mut client = gateway.connect().await;
    for _ in 0..2 {
        let request = request_bytes("GET", "gate.test", "/hints", &[], b"");
        let answer = client.exchange(&request, PATIENCE).await.unwrap();
        assert_eq!((answer.status, answer.interim.len()), (200, 0));
        assert_eq!(answer.header("link"), None);
    }
    assert_eq!(
        upstream.connections(),
        1,
        "nothing is left on the connection"
    );
}

// req: GW-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_pass_both_ways_without_being_kept() {
    const SIZE: usize = 24 << 20;
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.limits]\nbody_bytes = 1000000000\n[gateway.timeouts]\nrequest_ms = 20000\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    assert_eq!(gateway.get("/?bytes=1000000").await.status, 200);
    let before = gateway.process.resident_bytes().unwrap();
    let answer = gateway.get(&format!("/?bytes={SIZE}")).await;
    assert_eq!(answer.body.len(), SIZE);
    assert!(answer.body == filler(SIZE), "every byte in its place");
    let body = filler(SIZE);
    let answer = gateway.ask("POST", "/up", &[], &body).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let size = format!("{SIZE:x}\r\n");
    let chunked = [
        b"POST /chunked HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n"
            .as_slice(),
        size.as_bytes(),
        &body,
        b"\r\n0\r\n\r\n",
    ];
    let mut client = gateway.connect().await;
    let answer = client.exchange(&chunked.concat(), PATIENCE).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let grown = gateway
        .process
        .resident_bytes()
        .unwrap()
        .saturating_sub(before);
    println!("grown by {grown} bytes after {SIZE} three times");
    assert!(grown < 16 << 20, "{grown} bytes");
    // The journal keeps the first of them only.
    let ups = upstream.requests();
    let bodies = ups.iter().filter(|request| !request.body.is_empty());
    assert_eq!(bodies.clone().count(), 2);
    assert!(
        bodies
            .clone()
            .all(|request| request.body == filler(1 << 20))
    );
}

// req: GW-01
// attack: A-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_pass_on_http1_except_those_that_could_mislead() {
    let (addr, seen) = with_trailers().await;
    let gateway = Gateway::start(&to(addr, "")).await;
    let mut client = TcpStream::connect(gateway.door).await.unwrap();
    let request = "POST / HTTP/1.1\r\nhost: gate.test\r\nte: trailers\r\ntrailer: x-sum\r\nconnection: te, close\r\n\
                   transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-sum: 1\r\ncontent-length: 5\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, client.read_to_end(&mut answer)).await;
    read.unwrap().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (_, trailers) = answer.rsplit_once("0\r\n").unwrap();
    assert!(trailers.contains("x-checked: yes"), "{answer}");
    assert!(!trailers.contains("content-length"), "{answer}");
    let seen = seen.await.unwrap();
    let (_, trailers) = seen.rsplit_once("\r\n0\r\n").unwrap();
    assert_eq!(trailers, "x-sum: 1\r\n\r\n", "{seen}");
}

// req: GW-01, GW-12
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_do_not_say_what_a_route_sets_or_keeps_back() {
    let (addr, seen) = with_trailers().await;
    let section = format!(
        "trusted_hops = [\"10.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"acme-tenant\"\n\
         [[gateway.routes]]\nupstream = \"main\"\n\
         set_request = {{ \"acme-role\" = \"guest\" }}\nremove_request = [\"X-Internal\"]\n\
         set_response = {{ \"x-version\" = \"1\" }}\nremove_response = [\"x-debug\"]\n\
         [gateway.upstreams.main]\nendpoints = [\"http://{addr}\"]\n"
    );
    let gateway = Gateway::start(&section).await;
    let mut client = TcpStream::connect(gateway.door).await.unwrap();
    let request = "POST / HTTP/1.1\r\nhost: gate.test\r\nte: trailers\r\nconnection: te, close\r\n\
                   transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nacme-role: root\r\nacme.role: root\r\n\
                   acme-tenant: gold\r\nacme.tenant: gold\r\nx-internal: 1\r\nx-api-key: k\r\nacme.sum: 1\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, client.read_to_end(&mut answer)).await;
    read.unwrap().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, trailers) = answer.rsplit_once("0\r\n").unwrap();
    assert_eq!(trailers, "x-checked: yes\r\n\r\n", "{answer}");
    assert!(head.contains("x-version: 1\r\n"), "{answer}");
    let seen = seen.await.unwrap();
    let (_, trailers) = seen.rsplit_once("\r\n0\r\n").unwrap();
    assert_eq!(trailers, "acme.sum: 1\r\n\r\n", "{seen}");
}

/// An origin that answers one request with trailers, and tells what came.
async fn with_trailers() -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = head(&mut stream).await;
        while !seen.contains("\r\n0\r\n") || !seen.ends_with("\r\n\r\n") {
            seen.push(char::from(stream.read_u8().await.unwrap()));
        }
        let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\
                      trailer: x-checked, x-version, x-debug, x-macronode-reason\r\n\r\n\
                      2\r\nok\r\n0\r\nx-checked: yes\r\ncontent-length: 7\r\nx-version: 2\r\nx-debug: 1\r\n\
                      x-macronode-reason: none\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        seen
    });
    (addr, served)
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_client_gets_what_it_can_read() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/chunked", Reply::default().chunked());
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    for path in ["/plain", "/chunked"] {
        let mut client = gateway.connect().await;
        let request = format!("GET {path} HTTP/1.0\r\nhost: gate.test\r\n\r\n");
        client.send(request.as_bytes()).await.unwrap();
        let (bytes, closed) = client.read_until_close(ms(2000)).await;
        let text = String::from_utf8(bytes).unwrap();
        assert!(closed, "{path}: {text}");
        assert!(text.starts_with("HTTP/1.0 200 "), "{path}: {text}");
        assert!(
            text.ends_with("\r\n\r\nthe origin answers\n"),
            "{path}: {text}"
        );
        assert!(!text.contains("chunked"), "{path}: {text}");
    }
    let mut client = gateway.connect().await;
    let kept = b"GET /plain HTTP/1.0\r\nhost: gate.test\r\nconnection: keep-alive\r\n\r\n";
    for _ in 0..3 {
        let answer = client.exchange(kept, PATIENCE).await.unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.headers.lists("connection", "keep-alive"));
    }
    let versions = upstream.requests().into_iter();
    let mut versions = versions.map(|request| request.head.unwrap().version);
    assert!(versions.all(|version| version == "HTTP/1.1"));
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_kept_on_both_sides() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let mut client: Connection = gateway.connect().await;
    for turn in 0..50 {
        let body = filler(turn * 100);
        let request = request_bytes("POST", "gate.test", "/", &[], &body);
        let answer = client.exchange(&request, PATIENCE).await.unwrap();
        assert_eq!(answer.status, 200, "{turn}");
    }
    assert_eq!(upstream.connections(), 1);
    let pipelined: Vec<u8> = (0..20)
        .flat_map(|turn| request_bytes("GET", "gate.test", &format!("/?bytes={turn}"), &[], b""))
        .collect();
    client.send(&pipelined).await.unwrap();
    for turn in 0..20 {
        let answer = client.response(PATIENCE).await.unwrap();
        assert_eq!(answer.body.len(), turn, "in their order");
    }
    assert_eq!(upstream.connections(), 1);
}
