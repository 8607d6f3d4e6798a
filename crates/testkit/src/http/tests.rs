use super::*;
use tokio::net::TcpListener;

const SOON: Duration = Duration::from_secs(2);

/// A peer that reads `takes` bytes, sends exactly these and closes.
async fn peer(takes: usize, sends: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut vec![0; takes]).await.unwrap();
        stream.write_all(sends).await.unwrap();
    });
    addr
}

#[tokio::test]
async fn exactly_the_given_bytes_are_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let mut client = Connection::open(addr, SOON).await.unwrap();
    client.send(b"GET /\x00 \r bad").await.unwrap();
    client.half_close().await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut seen = Vec::new();
    stream.read_to_end(&mut seen).await.unwrap();
    assert_eq!(seen, b"GET /\x00 \r bad");
}

#[tokio::test]
async fn interim_responses_are_kept_apart_from_the_final_one() {
    let sends = b"HTTP/1.1 103 x\r\nlink: y\r\n\r\nHTTP/1.1 201 Made\r\nX-A: 1\r\ncontent-length: 2\r\n\r\nok";
    let addr = peer(4, sends).await;
    let response = exchange(addr, b"GET ", SOON).await.unwrap();
    assert_eq!((response.status, response.text().as_str()), (201, "ok"));
    assert_eq!(
        (response.header("x-a"), response.interim.as_slice()),
        (Some("1"), &[103][..])
    );
    assert!(response.keeps_alive);
}

#[tokio::test]
async fn responses_on_one_connection_follow_each_other() {
    let sends = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nHTTP/1.1 204 No\r\n\r\n";
    let addr = peer(0, sends).await;
    let mut client = Connection::open(addr, SOON).await.unwrap();
    assert_eq!(client.response(SOON).await.unwrap().body, b"hi");
    assert_eq!(client.response(SOON).await.unwrap().status, 204);
    assert_eq!(
        client.response(SOON).await.unwrap_err(),
        Failure::ClosedBeforeByte
    );
}

#[tokio::test]
async fn an_answer_before_the_request_is_all_sent_is_taken() {
    let addr = peer(
        1,
        b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    )
    .await;
    let mut client = Connection::open(addr, SOON).await.unwrap();
    // More than the socket buffers of both ends hold, so that the sending cannot end.
    let request = vec![b'x'; 32 << 20];
    let response = client.exchange(&request, SOON).await.unwrap();
    assert_eq!((response.status, response.keeps_alive), (413, false));
    assert!(client.written_at().is_none());
}

#[tokio::test]
async fn the_timeout_holds_for_a_silent_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let begun = Instant::now();
    let result = exchange(
        listener.local_addr().unwrap(),
        b"x",
        Duration::from_millis(80),
    )
    .await;
    assert_eq!(result.unwrap_err(), Failure::Timeout);
    assert!(
        (80..1000).contains(&begun.elapsed().as_millis()),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_port_without_listener_refuses() {
    let port = crate::process::Port::reserve().unwrap();
    assert_eq!(
        get(port.addr(), "/").await.unwrap_err(),
        Failure::ConnectRefused
    );
}

#[tokio::test]
async fn post_sends_headers_length_and_body() {
    let upstream = crate::upstream::Upstream::start().await.unwrap();
    let response = post(upstream.addr(), "/p", &[("x-tenant", "t")], b"body")
        .await
        .unwrap();
    assert_eq!(response.status, 200);
    let seen = upstream.requests().remove(0);
    let head = seen.head.unwrap();
    assert_eq!((head.method.as_str(), head.target.as_str()), ("POST", "/p"));
    assert_eq!(
        (
            head.headers.get("x-tenant"),
            head.headers.get("content-length")
        ),
        (Some("t"), Some("4"))
    );
    assert_eq!(seen.body, b"body");
}

#[tokio::test]
async fn a_reset_is_seen_as_one_by_the_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Connection::open(listener.local_addr().unwrap(), SOON)
        .await
        .unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    client.reset().unwrap();
    let error = stream.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}
