//! Upgraded connections and event streams: they last as long as they like, and hold no place.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use base64::Engine as _;
use e2e::gateway::{Gateway, PATIENCE, TRUSTED, assert_refusal, to};
use e2e::wait::eventually;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use testkit::http::request_bytes;
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

// req: GW-01, GW-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_head_of_an_upgrade_is_edited_and_cleared_like_any_other() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let origin = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        let switch = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                      x-internal: 10.0.0.7\r\nx-kind: theirs\r\nx-kept: yes\r\nx-request-id: theirs\r\n\
                      x-macronode-reason: theirs\r\nratelimit: theirs\r\nratelimit-policy: theirs\r\n\r\n";
        stream.write_all(switch.as_bytes()).await.unwrap();
        stream
    });
    let route = "[[gateway.routes]]\nupstream = \"main\"\nremove_response = [\"x-internal\"]\n\
                 set_response = { x-kind = \"ours\" }\nrate = { per_second = 5, burst = 9 }\n";
    let upstream = format!("[gateway.upstreams.main]\nendpoints = [\"http://{origin}\"]\n");
    let gateway = Gateway::start(&format!("{route}{upstream}")).await;
    let mut socket = TcpStream::connect(gateway.door).await.unwrap();
    socket.write_all(&handshake()).await.unwrap();
    let head = head(&mut socket).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let told = ["x-internal", "x-kind", "x-kept", "x-macronode-reason"];
    let told = told.map(|name| field(&head, name));
    assert_eq!(told, [None, Some("ours"), Some("yes"), None], "{head}");
    let left = field(&head, "ratelimit").unwrap();
    assert!(left.starts_with("\"route\";r=8"), "{head}");
    assert_eq!(head.matches("theirs").count(), 0, "{head}");
    for name in ["x-request-id", "ratelimit", "ratelimit-policy"] {
        assert_eq!(head.matches(&format!("\n{name}: ")).count(), 1, "{head}");
    }
    drop(served.await.unwrap());
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

// req: GW-01, GW-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_take_no_room_in_the_node_from_requests() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/events", events(20));
    let limits = "[gateway.limits]\ninflight = 2\n";
    let gateway = Gateway::start(&format!("{limits}{}", to(upstream.addr(), ""))).await;
    let mut open = Vec::new();
    for number in 1..=3 {
        let mut client = gateway.connect().await;
        let request = request_bytes("GET", "gate.test", "/events", &[], b"");
        client.send(&request).await.unwrap();
        eventually("it is a stream", PATIENCE, async || {
            streams_open(&gateway).await == number
        })
        .await;
        open.push(client);
    }
    assert_eq!(gateway.get("/other").await.status, 200, "there is room");
    drop(open);
    eventually("all are gone", PATIENCE, async || {
        streams_open(&gateway).await == 0
    })
    .await;
    assert_eq!(gateway.get("/other").await.status, 200);
}

// req: GW-01, GW-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_have_no_more_streams_is_told_before_the_upstream_begins_one() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/events", events(20));
    let limits = "[gateway.limits]\nstreams_per_tenant = 1\n";
    let gateway = Gateway::start(&format!("{limits}{}", to(upstream.addr(), ""))).await;
    let wish = [("accept", "text/event-stream")];
    let mut first = gateway.connect().await;
    let request = request_bytes("GET", "gate.test", "/events", &wish, b"");
    first.send(&request).await.unwrap();
    eventually("the first is a stream", PATIENCE, async || {
        streams_open(&gateway).await == 1
    })
    .await;
    let mut second = gateway.connect().await;
    let request = request_bytes("POST", "gate.test", "/events", &wish, b"buy");
    let answer = second.exchange(&request, PATIENCE).await.unwrap();
    assert_refusal(&answer, 429, "streams-full");
    assert_eq!(upstream.received(), 1, "it was not asked to");
}

// req: GW-01, GW-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_has_no_more_streams_than_it_may_whoever_has_them() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set("/events", events(20));
    let limits = "[gateway.limits]\nstreams_in_all = 2\n";
    let section = format!("{TRUSTED}{limits}{}", to(upstream.addr(), ""));
    let gateway = Gateway::start(&section).await;
    let asks = |tenant: &'static str| {
        let headers = [("x-tenant", tenant)];
        request_bytes("GET", "gate.test", "/events", &headers, b"")
    };
    let mut open = Vec::new();
    for tenant in ["a", "b"] {
        let mut client = gateway.connect().await;
        client.send(&asks(tenant)).await.unwrap();
        open.push(client);
    }
    eventually("both are streams", PATIENCE, async || {
        streams_open(&gateway).await == 2
    })
    .await;
    let mut third = gateway.connect().await;
    let answer = third.exchange(&asks("c"), PATIENCE).await.unwrap();
    assert_refusal(&answer, 503, "node-busy");
    drop(open.pop());
    eventually("one is gone", PATIENCE, async || {
        streams_open(&gateway).await == 1
    })
    .await;
    let mut third = gateway.connect().await;
    third.send(&asks("c")).await.unwrap();
    eventually("there is room again", PATIENCE, async || {
        streams_open(&gateway).await == 2
    })
    .await;
}
