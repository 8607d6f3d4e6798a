//! What HTTP can carry: upgrades, event streams, calls with trailers, bodies of any size, old clients.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use base64::Engine as _;
use bytes::Bytes;
use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::wait::eventually;
use http_body_util::{BodyExt, Channel, Empty, Full};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use testkit::http::{Connection, request_bytes};
use testkit::upstream::{Fault, Reply, Upstream, filler};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Answers have to begin within 300 ms, and may then be silent for 200.
fn hurried(upstream: SocketAddr, keys: &str) -> String {
    let timeouts = "[gateway.timeouts]\nrequest_ms = 300\nupstream_ms = 200\nbody_ms = 300\n";
    format!("{timeouts}{}", to(upstream, keys))
}

async fn streams_open(gateway: &Gateway) -> u64 {
    gateway.metrics().await.sum("gateway_streams", &[]) as u64
}

/// What RFC 6455 wants a server to answer to a client's key.
fn accepted(key: &str) -> String {
    let salted = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let algorithm = &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;
    let digest = aws_lc_rs::digest::digest(algorithm, salted.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(digest)
}

/// Reads a head, up to its empty line.
async fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    let mut named = fields.filter(|(given, _)| given.eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value)
}

/// A WebSocket frame: text, or a close; a client's is masked.
fn frame(opcode: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    let mut bytes = vec![0x80 | opcode];
    match payload.len() {
        short @ 0..126 => bytes.push(masked | short as u8),
        medium @ 126..65_536 => {
            bytes.push(masked | 126);
            bytes.extend((medium as u16).to_be_bytes());
        }
        long => {
            bytes.push(masked | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    let mask = mask.inspect(|mask| bytes.extend(mask)).unwrap_or_default();
    let masked = payload.iter().zip(mask.iter().cycle());
    bytes.extend(masked.map(|(byte, mask)| byte ^ mask));
    bytes
}

/// The next frame, unmasked; nothing at the end.
async fn next_frame(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let opcode = stream.read_u8().await.ok()? & 0x0f;
    let length = stream.read_u8().await.ok()?;
    let payload = match length & 0x7f {
        126 => usize::from(stream.read_u16().await.ok()?),
        127 => usize::try_from(stream.read_u64().await.ok()?).ok()?,
        short => usize::from(short),
    };
    let mut mask = [0; 4];
    if length & 0x80 != 0 {
        stream.read_exact(&mut mask).await.ok()?;
    }
    let mut bytes = vec![0; payload];
    stream.read_exact(&mut bytes).await.ok()?;
    let masks = mask.iter().cycle();
    bytes
        .iter_mut()
        .zip(masks)
        .for_each(|(byte, mask)| *byte ^= mask);
    Some((opcode, bytes))
}

/// An origin that echoes WebSocket frames, and answers anything else with `plain`.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let head = head(&mut stream).await;
                let Some(key) = field(&head, "sec-websocket-key") else {
                    let plain =
                        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nplain";
                    return stream.write_all(plain).await.unwrap();
                };
                assert_eq!(field(&head, "upgrade"), Some("websocket"), "{head}");
                let switch = format!(
                    "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
                     sec-websocket-accept: {}\r\n\r\n",
                    accepted(key)
                );
                stream.write_all(switch.as_bytes()).await.unwrap();
                while let Some((opcode, bytes)) = next_frame(&mut stream).await {
                    let answer = frame(opcode, &bytes, None);
                    stream.write_all(&answer).await.unwrap();
                    if opcode == 8 {
                        return;
                    }
                }
            });
        }
    });
    addr
}

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

fn handshake() -> Vec<u8> {
    let headers = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-key", KEY),
        ("sec-websocket-version", "13"),
    ];
    request_bytes("GET", "gate.test", "/chat", &headers, b"")
}

/// A WebSocket through the gateway.
async fn websocket(gateway: &Gateway) -> TcpStream {
    let mut socket = TcpStream::connect(gateway.door).await.unwrap();
    socket.write_all(&handshake()).await.unwrap();
    let head = head(&mut socket).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let accept = field(&head, "sec-websocket-accept");
    assert_eq!(accept, Some(accepted(KEY).as_str()), "{head}");
    socket
}

/// Sends a frame and waits for it to come back.
async fn assert_echoed(socket: &mut TcpStream, size: usize) {
    let sent = filler(size);
    let (there, back) = (frame(1, &sent, Some([7, 1, 9, 3])), frame(1, &sent, None));
    let mut came = vec![0; back.len()];
    // Written and read at once: what comes back may be more than the buffers on the way hold.
    let (mut from, mut into) = socket.split();
    let both = async { tokio::join!(into.write_all(&there), from.read_exact(&mut came)) };
    let both = tokio::time::timeout(PATIENCE, both).await;
    let (written, read) = both.unwrap_or_else(|_| panic!("{size} bytes"));
    written.unwrap();
    read.unwrap();
    assert_eq!(came, back, "{size} bytes");
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_passes_both_ways_for_longer_than_any_deadline_and_holds_no_place() {
    let origin = echo().await;
    for dispatch in ["inline", "pool"] {
        let section = format!(
            "dispatch = \"{dispatch}\"\n{}",
            hurried(origin, "limit = 1")
        );
        let gateway = Gateway::start(&section).await;
        let mut socket = websocket(&gateway).await;
        assert_eq!(streams_open(&gateway).await, 1);
        for _ in 0..2 {
            for size in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
                assert_echoed(&mut socket, size).await;
            }
            assert_eq!(gateway.get("/").await.text(), "plain", "a place is free");
            tokio::time::sleep(ms(400)).await;
        }
        let close = frame(8, b"", Some([1; 4]));
        socket.write_all(&close).await.unwrap();
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut rest)).await;
        ended.unwrap().unwrap();
        assert_eq!(rest, frame(8, b"", None));
        // This end stays open: who has nobody left to talk to is not waited for.
        eventually("the stream is given back", PATIENCE, async || {
            streams_open(&gateway).await == 0
        })
        .await;
        gateway.end().await;
    }
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_the_upstream_does_not_grant_is_an_ordinary_answer() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::status(426));
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let mut client = gateway.connect().await;
    let answer = client.exchange(&handshake(), PATIENCE).await.unwrap();
    assert_eq!(answer.status, 426);
    let next = request_bytes("GET", "gate.test", "/", &[], b"");
    let answer = client.exchange(&next, PATIENCE).await.unwrap();
    assert_eq!(answer.status, 426, "the connection is still HTTP");
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_has_so_many_streams_and_no_more() {
    let origin = echo().await;
    let section = format!(
        "[gateway.limits]\nstreams_per_tenant = 2\n{}",
        to(origin, "")
    );
    let gateway = Gateway::start(&section).await;
    let first = websocket(&gateway).await;
    let _second = websocket(&gateway).await;
    let mut client = gateway.connect().await;
    let answer = client.exchange(&handshake(), PATIENCE).await.unwrap();
    assert_refusal(&answer, 429, "streams-full");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(
        gateway.get("/").await.status,
        200,
        "requests are no streams"
    );
    drop(first);
    eventually("the first is given back", PATIENCE, async || {
        streams_open(&gateway).await == 1
    })
    .await;
    drop(websocket(&gateway).await);
}

fn events(bytes_per_s: u32) -> Reply {
    let body = "data: tick\n\n".repeat(15);
    let reply = Reply::default().header("content-type", "text/event-stream");
    reply
        .body(body)
        .chunked()
        .fault(Fault::Slow { bytes_per_s })
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_stream_outlives_the_deadline_and_holds_no_place() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/events", events(150));
    let silent = events(150).fault(Fault::StallAt(12));
    upstream.set("/silent", silent);
    let gateway = Gateway::start(&hurried(upstream.addr(), "limit = 1")).await;
    let mut client = gateway.connect().await;
    let request = request_bytes("GET", "gate.test", "/events", &[], b"");
    let began = Instant::now();
    let reading = client.exchange(&request, PATIENCE);
    let others = async {
        tokio::time::sleep(ms(200)).await;
        assert_eq!(streams_open(&gateway).await, 1);
        assert_eq!(gateway.get("/other").await.status, 200, "a place is free");
    };
    let (answer, ()) = tokio::join!(reading, others);
    let answer = answer.unwrap();
    assert!(began.elapsed() > ms(900), "{:?}", began.elapsed());
    assert_eq!(answer.text(), "data: tick\n\n".repeat(15));
    assert_eq!(streams_open(&gateway).await, 0);

    let mut client = gateway.connect().await;
    let request = request_bytes("GET", "gate.test", "/silent", &[], b"");
    client.send(&request).await.unwrap();
    let (bytes, closed) = client.read_until_close(ms(900)).await;
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("data: tick"), "{text}");
    assert!(!closed, "silence is no end");
    drop(client);
    eventually("the upstream is let go", PATIENCE, async || {
        upstream.abandoned() == 1 && streams_open(&gateway).await == 0
    })
    .await;
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_made_as_it_goes_may_take_its_time_as_long_as_it_goes_on() {
    let upstream = Upstream::start().await.unwrap();
    let slow = Fault::Slow { bytes_per_s: 20 };
    upstream.set_default(Reply::default().chunked().fault(slow));
    let gateway = Gateway::start(&hurried(upstream.addr(), "")).await;
    let began = Instant::now();
    assert_eq!(gateway.get("/").await.text(), "the origin answers\n");
    assert!(began.elapsed() > ms(800), "{:?}", began.elapsed());
}

/// An HTTP/2 origin with prior knowledge: sends back what comes, piece by piece, then says how it went in trailers.
async fn grpc() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service_fn(call));
            tokio::spawn(served);
        }
    });
    addr
}

async fn call(request: Request<Incoming>) -> Result<Response<Channel<Bytes>>, Infallible> {
    assert_eq!(request.version(), Version::HTTP_2);
    assert_eq!(request.headers()[TE], "trailers");
    assert_eq!(request.headers()[CONTENT_TYPE], "application/grpc");
    let pause = request.uri().path().strip_prefix("/pause/");
    let pause = pause.map(|millis| ms(millis.parse().unwrap()));
    let (mut sender, body) = Channel::new(4);
    let mut incoming = request.into_body();
    tokio::spawn(async move {
        let mut bytes = 0;
        while let Some(Ok(frame)) = incoming.frame().await {
            let Ok(data) = frame.into_data() else { break };
            bytes += data.len();
            tokio::time::sleep(pause.unwrap_or_default()).await;
            if sender.send_data(data).await.is_err() {
                return;
            }
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        trailers.insert("x-bytes", HeaderValue::from(bytes));
        let _left = sender.send(Frame::trailers(trailers)).await;
    });
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

type H2<B> = hyper::client::conn::http2::SendRequest<B>;

/// An HTTP/2 connection to the gateway, with prior knowledge.
async fn h2<B>(gateway: &Gateway) -> H2<B>
where
    B: hyper::body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static,
{
    let stream = TcpStream::connect(gateway.door).await.unwrap();
    let io = TokioIo::new(stream);
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (sender, connection) = shaken.unwrap();
    tokio::spawn(connection);
    sender
}

fn grpc_request<B>(path: &str, body: B) -> Request<B> {
    Request::builder()
        .method(Method::POST)
        .uri(format!("http://gate.test{path}"))
        .header(CONTENT_TYPE, "application/grpc")
        .header(TE, "trailers")
        .body(body)
        .unwrap()
}

fn grpc_section(origin: SocketAddr) -> String {
    hurried(origin, "protocol = \"http2\"\nlimit = 2")
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_over_http2_keeps_its_messages_and_its_trailers() {
    let gateway = Gateway::start(&grpc_section(grpc().await)).await;
    let mut client = h2(&gateway).await;
    for size in [5, 70_000, 500_000] {
        let sent = Bytes::from(filler(size));
        let request = grpc_request("/echo", Full::new(sent.clone()));
        let answer = client.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/grpc");
        let body = answer.into_body().collect().await.unwrap();
        let trailers = body.trailers().unwrap().clone();
        assert_eq!(trailers["grpc-status"], "0");
        assert_eq!(trailers["x-bytes"], size.to_string().as_str());
        assert_eq!(body.to_bytes(), sent);
    }
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_both_directions_may_pause_and_then_holds_no_place() {
    let gateway = Gateway::start(&grpc_section(grpc().await)).await;
    let mut client = h2(&gateway).await;
    let mut calls = Vec::new();
    // As many as there are places: they only fit because who pauses gives its own back.
    for _ in 0..2 {
        let (mut sender, body) = Channel::<Bytes>::new(1);
        sender.send_data(Bytes::from("first")).await.unwrap();
        let answer = client
            .send_request(grpc_request("/echo", body))
            .await
            .unwrap();
        calls.push((sender, answer.into_body()));
    }
    tokio::time::sleep(ms(800)).await;
    assert_eq!(streams_open(&gateway).await, 2);
    let request = grpc_request("/echo", Channel::<Bytes>::new(1).1);
    let answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200, "a place is free");
    for (mut sender, mut answer) in calls {
        let first = answer.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "first");
        sender.send_data(Bytes::from("second")).await.unwrap();
        let second = answer.frame().await.unwrap().unwrap();
        assert_eq!(second.into_data().unwrap(), "second");
        drop(sender);
        let last = answer.frame().await.unwrap().unwrap();
        assert_eq!(last.into_trailers().unwrap()["grpc-status"], "0");
    }
    eventually("the streams are given back", PATIENCE, async || {
        streams_open(&gateway).await == 0
    })
    .await;
}

// req: GW-01, GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_share_an_http2_connection_and_one_that_is_given_up_takes_nobody_along() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/silence", Fault::Silence);
    let gateway = Gateway::start(&to(upstream.addr(), "")).await;
    let client = h2::<Empty<Bytes>>(&gateway).await;
    let get = |path: &str| {
        let mut client = client.clone();
        let uri = format!("http://gate.test{path}");
        let request = Request::builder().uri(uri).body(Empty::new()).unwrap();
        tokio::spawn(async move {
            let answer = client.send_request(request).await.unwrap();
            let status = answer.status();
            (
                status,
                answer.into_body().collect().await.unwrap().to_bytes(),
            )
        })
    };
    let lost = get("/silence");
    eventually("it is under way", PATIENCE, async || {
        upstream.received() == 1
    })
    .await;
    let others: Vec<_> = (0..50).map(|_| get("/?delay_ms=50")).collect();
    lost.abort();
    for other in others {
        let (status, body) = other.await.unwrap();
        assert_eq!(status, 200);
        assert_eq!(body, "the origin answers\n");
    }
    eventually("the upstream is let go", ms(1500), async || {
        upstream.abandoned() == 1
    })
    .await;
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

// attack: A-45
// req: GW-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_expects_a_100_gets_it_when_it_is_admitted_and_not_before() {
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.limits]\nbody_bytes = 1000\n{}",
        to(upstream.addr(), "limit = 1")
    );
    let gateway = Gateway::start(&section).await;
    let busy = tokio::spawn({
        let mut client = gateway.connect().await;
        async move {
            let request = request_bytes("GET", "gate.test", "/?delay_ms=500", &[], b"");
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
    let going_on = tokio::time::timeout(PATIENCE, head(&mut client)).await;
    assert!(going_on.unwrap().starts_with("HTTP/1.1 100 "));
    assert_eq!(busy.await.unwrap().unwrap().status, 200);
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
        let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-checked\r\n\r\n\
                      2\r\nok\r\n0\r\nx-checked: yes\r\ncontent-length: 7\r\n\r\n";
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
