//! Upstreams that have to wait for slow clients: whatever they make of that, it says nothing about them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use testkit::http;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// More than is gathered before an upstream is asked.
const BODY_BYTES: usize = 70_000;
const PIECES: usize = 10;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What an upstream does with a connection, once it has read the head of a request.
#[derive(Clone, Copy)]
enum Way {
    /// Begins its answer, and ends it once the body is there and this has passed.
    Early(Duration),
    /// Closes when more of the body has not come for so long.
    Leaves(Duration),
    /// Resets the connection when its answer has not been taken for so long.
    Resets(Duration),
}

async fn upstream(way: Way) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, way));
        }
    });
    addr
}

async fn serve(mut stream: TcpStream, way: Way) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    match way {
        Way::Early(pause) => {
            let begin = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(begin).await?;
            stream.read_exact(&mut vec![0; BODY_BYTES]).await?;
            tokio::time::sleep(pause).await;
            stream.write_all(b"3\r\nall\r\n0\r\n\r\n").await
        }
        Way::Leaves(patience) => {
            let mut room = [0; 4096];
            while let Ok(Ok(1..)) = timeout(patience, stream.read(&mut room)).await {}
            Ok(())
        }
        Way::Resets(patience) => {
            let begin = b"HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n";
            stream.write_all(begin).await?;
            let piece = vec![b'x'; 100_000];
            while let Ok(Ok(())) = timeout(patience, stream.write_all(&piece)).await {}
            stream.set_zero_linger()
        }
    }
}

async fn gateway(way: Way) -> Gateway {
    let keys = "[gateway.upstreams.main.breaker]\nsamples = 100000";
    let timeouts = "[gateway.timeouts]\nrequest_ms = 9000\nupstream_ms = 400\n";
    let section = format!("{timeouts}{}", to(upstream(way).await, keys));
    Gateway::start(&section).await
}

async fn failures(gateway: &Gateway) -> u64 {
    let page = http::get(gateway.admin, "/gateway").await.unwrap();
    let page: Value = serde_json::from_slice(&page.body).unwrap();
    let failures = page["upstreams"][0]["endpoints"][0]["failures"].as_u64();
    failures.unwrap_or_else(|| panic!("{page}"))
}

/// Sends a body in pieces, all of it in one second.
async fn upload(gateway: &Gateway) -> (Vec<u8>, bool) {
    let mut client = gateway.connect().await;
    let head =
        format!("POST / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: {BODY_BYTES}\r\n\r\n");
    client.send(head.as_bytes()).await.unwrap();
    for _ in 0..PIECES {
        tokio::time::sleep(ms(100)).await;
        client.send(&[b'x'; BODY_BYTES / PIECES]).await.unwrap();
    }
    client.read_until_close(ms(1500)).await
}

// req: GT-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_begun_to_answer_need_not_go_on_before_all_of_the_request_is_there() {
    let gateway = gateway(Way::Early(ms(200))).await;
    let (answer, _) = upload(&gateway).await;
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.ends_with("3\r\nall\r\n0\r\n\r\n"), "{answer}");
    assert_eq!(failures(&gateway).await, 0);
}

// req: GT-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_nothing_when_all_of_the_request_is_there_has_failed() {
    let gateway = gateway(Way::Early(ms(2000))).await;
    let (answer, closed) = upload(&gateway).await;
    let answer = String::from_utf8(answer).unwrap();
    assert!(closed && !answer.contains("all"), "{answer}");
    assert_eq!(failures(&gateway).await, 1);
}

// req: GT-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_after_a_long_wait_for_the_request_has_not_failed_and_who_leaves_at_once_has() {
    for (patience, status, reason, failed) in [
        (ms(700), 408, "body-timeout", 0),
        (ms(50), 502, "upstream-reset", 1),
    ] {
        let gateway = gateway(Way::Leaves(patience)).await;
        let mut client = gateway.connect().await;
        let head = b"POST / HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n";
        client.send(head).await.unwrap();
        client.send(b"3\r\nabc\r\n").await.unwrap();
        let answer = client.response(PATIENCE).await.unwrap();
        assert_refusal(&answer, status, reason);
        assert_eq!(failures(&gateway).await, failed);
    }
}

// req: GT-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_because_its_answer_is_not_taken_has_not_failed() {
    let gateway = gateway(Way::Resets(ms(2500))).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8192).unwrap();
    let mut client = socket.connect(gateway.door).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: gate.test\r\n\r\n";
    client.write_all(request).await.unwrap();
    tokio::time::sleep(ms(3500)).await;
    let mut taken = Vec::new();
    let ended = timeout(PATIENCE, client.read_to_end(&mut taken)).await;
    assert!(ended.is_ok() && taken.len() < 90_000_000, "it broke off");
    assert_eq!(failures(&gateway).await, 0);
}
