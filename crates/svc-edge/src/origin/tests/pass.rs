use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Answers the first request of each connection, and closes it when a second one comes.
async fn forgetful() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    #[expect(clippy::disallowed_methods, reason = "ends with the test")]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            #[expect(clippy::disallowed_methods, reason = "ends with the test")]
            tokio::spawn(answer_once(stream));
        }
    });
    address
}

async fn answer_once(mut stream: TcpStream) {
    let mut request = Vec::new();
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    // A body of four bytes, where there is one.
    while request.starts_with(b"P") && !request.ends_with(b"sent") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    stream.write_all(answer).await.unwrap();
    stream.read_buf(&mut request).await.ok();
}

// req: ED-05
// attack: K-17
#[tokio::test]
async fn a_connection_that_went_stale_costs_what_may_be_repeated_nothing() {
    let address = forgetful().await;
    let site = Site::with(|text| text.to = Some(format!("http://{address}"))).await;
    for turn in 0..4 {
        let answer = site.ask("PUT", "/o/a", &[]).await;
        assert_eq!((answer.status, answer.text()), (200, "ok"), "{turn}");
    }
    assert_eq!(site.ask("POST", "/o/a", &[]).await.reason, "origin-broken");
}
