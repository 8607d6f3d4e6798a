//! Clients that others have written: tonic for gRPC, tungstenite for WebSocket.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use e2e::gateway::{Gateway, PATIENCE, to};
use e2e::wait::eventually;
use futures_util::{SinkExt, StreamExt, stream};
use http_body_util::{BodyExt, Channel};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel as Line, Endpoint};
use tonic::{Code, Status, Streaming};

/// Messages are bytes.
#[derive(Clone, Copy, Default)]
struct Plain;

impl Codec for Plain {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// What is said at the end of a call.
fn ended(code: &'static str, message: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(code));
    trailers.insert("grpc-message", HeaderValue::from_static(message));
    trailers
}

/// A server of calls: sends messages back as they come, the first one for ever below `/endless`; ends badly below
/// `/fails`, is silent below `/silent`. Counts its calls.
async fn server() -> (SocketAddr, Arc<Calls>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (addr, calls) = (listener.local_addr().unwrap(), Arc::default());
    let counted: Arc<Calls> = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let calls = counted.clone();
            let service = service_fn(move |request| answer(request, calls.clone()));
            let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(served);
        }
    });
    (addr, calls)
}

#[derive(Default)]
struct Calls {
    begun: AtomicUsize,
    /// Those whose client has left before their end.
    left: AtomicUsize,
}

impl Calls {
    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }
}

/// Counts a call that does not come to its end.
struct Open(Option<Arc<Calls>>);

impl Open {
    fn begin(calls: Arc<Calls>) -> Self {
        calls.begun.fetch_add(1, Ordering::Relaxed);
        Self(Some(calls))
    }

    /// It came to its end after all.
    fn end(&mut self) {
        self.0 = None;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(calls) = &self.0 {
            calls.left.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    calls: Arc<Calls>,
) -> Result<Response<Channel<Bytes>>, Infallible> {
    let (path, mut open) = (request.uri().path().to_owned(), Open::begin(calls));
    if path == "/silent/Call" {
        std::future::pending::<()>().await;
    }
    let (mut sender, body) = Channel::new(4);
    let mut incoming = request.into_body();
    tokio::spawn(async move {
        while let Some(came) = incoming.frame().await {
            let Some(data) = came.ok().and_then(|frame| frame.into_data().ok()) else {
                return;
            };
            // Again and again, or once.
            while sender.send_data(data.clone()).await.is_ok() && path == "/endless/Call" {}
        }
        let trailers = match path.as_str() {
            "/endless/Call" => return,
            "/fails/Call" => ended("5", "not%20here"),
            _ => ended("0", ""),
        };
        if sender.send(Frame::trailers(trailers)).await.is_ok() {
            open.end();
        }
    });
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

async fn client(gateway: &Gateway) -> Grpc<Line> {
    let endpoint = Endpoint::from_shared(format!("http://{}", gateway.door)).unwrap();
    let mut client = Grpc::new(endpoint.connect().await.unwrap());
    client.ready().await.unwrap();
    client
}

async fn unary(client: &mut Grpc<Line>, path: &'static str) -> Result<Bytes, Status> {
    client.ready().await.unwrap();
    let request = tonic::Request::new(Bytes::from_static(b"hello"));
    let path = path.parse().unwrap();
    let answered = client.unary(request, path, Plain).await;
    answered.map(tonic::Response::into_inner)
}

fn section(origin: SocketAddr, more: &str) -> String {
    format!("{more}{}", to(origin, "protocol = \"http2\""))
}

/// What a refusal says in its head.
fn said<'a>(status: &'a Status, name: &str) -> &'a str {
    let value = status.metadata().get(name);
    value.map_or("", |value| value.to_str().unwrap())
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_tonic_and_the_status_of_its_server_pass() {
    let gateway = Gateway::start(&section(server().await.0, "")).await;
    let mut client = client(&gateway).await;
    assert_eq!(unary(&mut client, "/echo/Call").await.unwrap(), "hello");
    let failed = unary(&mut client, "/fails/Call").await.unwrap_err();
    assert_eq!(
        (failed.code(), failed.message()),
        (Code::NotFound, "not here")
    );
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_tonic_pass_in_both_directions_as_their_messages_are_said() {
    let gateway = Gateway::start(&section(server().await.0, "")).await;
    let mut client = client(&gateway).await;
    let (say, messages) = tokio::sync::mpsc::channel::<Bytes>(1);
    let messages = stream::unfold(messages, async |mut messages| {
        messages.recv().await.map(|message| (message, messages))
    });
    say.send(Bytes::from_static(b"first")).await.unwrap();
    let request = tonic::Request::new(messages);
    let path = "/echo/Call".parse().unwrap();
    let called = client.streaming(request, path, Plain).await.unwrap();
    let mut answers: Streaming<Bytes> = called.into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap(), "first");
    for size in [1, 20_000, 300_000] {
        let message = Bytes::from(vec![b'x'; size]);
        say.send(message.clone()).await.unwrap();
        assert_eq!(answers.message().await.unwrap().unwrap(), message);
    }
    drop(say);
    assert_eq!(answers.message().await.unwrap(), None);
    let trailers = answers.trailers().await.unwrap();
    assert!(trailers.is_some());
}

// req: GW-01, GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_tonic_gives_up_ends_at_its_server() {
    let (origin, calls) = server().await;
    let gateway = Gateway::start(&section(origin, "")).await;
    let mut client = client(&gateway).await;
    let one = stream::once(async { Bytes::from_static(b"again") });
    let path = "/endless/Call".parse().unwrap();
    let called = client.streaming(tonic::Request::new(one), path, Plain);
    let mut answers: Streaming<Bytes> = called.await.unwrap().into_inner();
    // More of them than are let through unread, by a server that is faster than anyone on the way.
    for _ in 0..20_000 {
        assert_eq!(answers.message().await.unwrap().unwrap(), "again");
    }
    assert_eq!((calls.begun(), calls.left()), (1, 0));
    drop(answers);
    eventually("the server hears of it", PATIENCE, async || {
        calls.left() == 1
    })
    .await;
    let unanswered = tokio::spawn(async move { unary(&mut client, "/silent/Call").await });
    eventually("another call", PATIENCE, async || calls.begun() == 2).await;
    unanswered.abort();
    eventually("of this one too", PATIENCE, async || calls.left() == 2).await;
}

// req: GW-08, GW-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_call_has_a_status_that_tonic_knows() {
    let timeouts = "[gateway.timeouts]\nrequest_ms = 300\n";
    let quota = "[gateway.quota]\nper_ip = { per_second = 1, burst = 1 }\n";
    let gateway = Gateway::start(&section(server().await.0, &format!("{timeouts}{quota}"))).await;
    let mut client = client(&gateway).await;
    let late = unary(&mut client, "/silent/Call").await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded, "{late:?}");
    assert_eq!(said(&late, "x-macronode-reason"), "deadline");
    assert!(!said(&late, "x-request-id").is_empty());
    // However slow the machine is, it is not so slow a hundred times in a row.
    let mut refused = None;
    for _ in 0..100 {
        refused = unary(&mut client, "/echo/Call").await.err();
        if refused.is_some() {
            break;
        }
    }
    let over = refused.unwrap();
    assert_eq!(over.code(), Code::Unavailable, "{over:?}");
    assert_eq!(said(&over, "x-macronode-reason"), "rate-ip");
    let pushback: u64 = said(&over, "grpc-retry-pushback-ms").parse().unwrap();
    assert!((1..=1_000).contains(&pushback), "{pushback}");
    assert!(over.message().contains("come again later"), "{over:?}");
    // What is told to the caller in its own way is counted as what it is.
    let refused = gateway.metrics().await;
    let count = |reason| refused.sum("rejected_total", &[("reason", reason)]);
    assert_eq!((count("rate-ip"), count("deadline")), (1.0, 1.0));
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_of_tungstenite_is_opened_used_and_closed() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let origin = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() || message.is_binary() {
                socket.send(message).await.unwrap();
            }
        }
    });
    let gateway = Gateway::start(&to(origin, "")).await;
    let stream = TcpStream::connect(gateway.door).await.unwrap();
    let url = format!("ws://{}/socket", gateway.door);
    let (mut socket, answer) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    assert_eq!(answer.status(), 101);
    let large = Message::binary(vec![7_u8; 200_000]);
    for message in [Message::text("hello"), large, Message::text("")] {
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    let ping = Bytes::from_static(b"there?");
    socket.send(Message::Ping(ping.clone())).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong(ping));
    socket.close(None).await.unwrap();
    let closed = tokio::time::timeout(PATIENCE, socket.next()).await;
    assert!(matches!(
        closed.unwrap(),
        None | Some(Ok(Message::Close(_)))
    ));
    tokio::time::timeout(PATIENCE + Duration::from_secs(1), served)
        .await
        .unwrap()
        .unwrap();
}
