//! Calls over HTTP/2 on both sides: messages both ways, pauses, trailers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use bytes::Bytes;
use e2e::gateway::{Gateway, PATIENCE, to};
use e2e::wait::eventually;
use http_body_util::{BodyExt, Channel, Empty, Full};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use testkit::frames::kind::{DATA, HEADERS, PING, WINDOW_UPDATE};
use testkit::frames::{END_HEADERS, Peer, block, frame};
use testkit::upstream::{Fault, Upstream, filler};
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

// req: GW-01, FQ-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_pauses_holds_no_place_either() {
    let gateway = Gateway::start(&grpc_section(grpc().await)).await;
    let mut client = h2(&gateway).await;
    let mut calls = Vec::new();
    for _ in 0..2 {
        let (mut sender, body) = Channel::<Bytes>::new(1);
        sender.send_data(Bytes::from("tick")).await.unwrap();
        let request = grpc_request("/echo", body);
        let answer = client.send_request(request).await.unwrap();
        calls.push((sender, answer.into_body()));
    }
    for _ in 0..10 {
        tokio::time::sleep(ms(60)).await;
        for (sender, answer) in &mut calls {
            let tick = answer.frame().await.unwrap().unwrap();
            assert_eq!(tick.into_data().unwrap(), "tick");
            sender.send_data(Bytes::from("tick")).await.unwrap();
        }
    }
    assert_eq!(streams_open(&gateway).await, 2);
    let request = grpc_request("/echo", Channel::<Bytes>::new(1).1);
    let answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200, "a place is free");
}

// req: GW-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_messages_are_too_much_once_it_is_answered_is_told_so_at_its_end() {
    let section = grpc_section(grpc().await);
    let section = format!("[gateway.limits]\nbody_bytes = 1000\n{section}");
    let gateway = Gateway::start(&section).await;
    let mut client = h2(&gateway).await;
    let (mut sender, body) = Channel::<Bytes>::new(1);
    sender.send_data(Bytes::from(filler(600))).await.unwrap();
    let request = grpc_request("/echo", body);
    let mut answer = client.send_request(request).await.unwrap().into_body();
    let echoed = answer.frame().await.unwrap().unwrap();
    assert_eq!(echoed.into_data().unwrap().len(), 600);
    sender.send_data(Bytes::from(filler(600))).await.unwrap();
    let trailers = answer.frame().await.unwrap().unwrap().into_trailers();
    assert_eq!(trailers.unwrap()["grpc-status"], "8");
    assert_eq!(gateway.rejected("body-too-large").await, 1);
    assert_eq!(gateway.rejected("upstream-reset").await, 0);
}

/// Who did not say that it reads trailers gets none, and an answer that has an end would look whole.
// req: GW-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_over_http1_whose_messages_are_too_much_has_no_end() {
    let section = grpc_section(grpc().await);
    let section = format!("[gateway.limits]\nbody_bytes = 1000\n{section}");
    let gateway = Gateway::start(&section).await;
    let mut client = gateway.connect().await;
    let chunk = [b"258\r\n", &filler(600)[..], b"\r\n"].concat();
    let head = "POST /echo HTTP/1.1\r\nhost: gate.test\r\ncontent-type: application/grpc\r\n\
                te: trailers\r\nconnection: te\r\ntransfer-encoding: chunked\r\n\r\n";
    let first = [head.as_bytes(), &chunk].concat();
    client.send(&first).await.unwrap();
    eventually("it is answered", PATIENCE, async || {
        gateway
            .metrics()
            .await
            .sum("downstream_latency_seconds_count", &[])
            == 1.0
    })
    .await;
    client.send(&chunk).await.unwrap();
    let (heard, closed) = client.read_until_close(PATIENCE).await;
    assert!(closed && heard.starts_with(b"HTTP/1.1 200"));
    assert!(!heard.ends_with(b"\r\n0\r\n\r\n"), "it looks whole");
    assert_eq!(gateway.rejected("body-too-large").await, 1);
}

/// Many tenants watch what seldom changes: that one more may not is no failure of who is watched.
// req: GW-08, GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_quiet_and_may_not_go_on_is_told_why_and_blames_no_upstream() {
    let section = grpc_section(grpc().await);
    let none = "[gateway.limits]\nstreams_per_tenant = 0\n";
    let gateway = Gateway::start(&format!("{none}{section}")).await;
    let mut client = h2(&gateway).await;
    // As many as would open a breaker.
    for call in 1..=12 {
        let request = grpc_request("/pause/5000", Full::new(Bytes::from("watch")));
        let answer = client.send_request(request).await.unwrap();
        let ended = answer.into_body().collect().await.unwrap();
        assert_eq!(ended.trailers().unwrap()["grpc-status"], "14");
        assert_eq!(gateway.rejected("streams-full").await, call);
    }
    let request = grpc_request("/echo", Full::new(Bytes::from("hello")));
    let answer = client.send_request(request).await.unwrap();
    let ended = answer.into_body().collect().await.unwrap();
    assert_eq!(ended.trailers().unwrap()["grpc-status"], "0");
}

// There are clients that do so, and ask how far it is besides.
// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_may_make_room_for_each_small_message_anew() {
    const MESSAGES: usize = 3_000;
    let gateway = Gateway::start(&grpc_section(grpc().await)).await;
    let mut peer = Peer::open(gateway.door, &[]).await.unwrap();
    let fields = block(&[
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/echo"),
        (b":authority", b"gate.test"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ]);
    peer.send(&frame(HEADERS, END_HEADERS, 1, &fields)).await;
    let talk = async {
        for message in 0..MESSAGES {
            peer.send(&frame(DATA, 0, 1, b"small")).await;
            loop {
                let heard = peer.listener.next().await;
                let heard = heard.unwrap_or_else(|| panic!("cut off after {message} messages"));
                if heard.kind == DATA && !heard.payload.is_empty() {
                    break;
                }
            }
            let room = 5_u32.to_be_bytes();
            let of_stream = frame(WINDOW_UPDATE, 0, 1, &room);
            let of_all = frame(WINDOW_UPDATE, 0, 0, &room);
            let ping = frame(PING, 0, 0, b"how far?");
            peer.send(&[of_stream, of_all, ping].concat()).await;
        }
    };
    let talked = tokio::time::timeout(PATIENCE * 6, talk).await;
    talked.expect("the messages stand still");
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
