//! Connections that stop being HTTP.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// Switches protocols on the first request, greets, and echoes until the peer is done.
async fn echo(listener: TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let answer =
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello";
    stream.write_all(answer.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    tokio::io::copy(&mut reading, &mut writing).await.unwrap();
}

// req: GW-01
#[tokio::test]
async fn an_upgraded_connection_is_handed_over_and_counts_until_it_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = EndpointSpec::parse(&url).unwrap();
    let mut server = tokio::task::JoinSet::new();
    server.spawn(echo(listener));
    let pool = pool(PoolSpec::new("test", vec![endpoint]));
    let request = Request::get("/chat")
        .header("host", "test.example")
        .header("connection", "upgrade")
        .header("upgrade", "echo");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let until = clock::now() + PATIENCE;
    let mut response = pick(&pool).send(request, until).await.unwrap();
    assert_eq!(response.status(), 101);
    assert_eq!((only(&pool).in_flight, only(&pool).busy), (0, 1));

    let mut stream = response.body_mut().take_switched().unwrap();
    let mut heard = [0; 9];
    stream.read_exact(&mut heard[..5]).await.unwrap();
    stream.write_all(b"ping").await.unwrap();
    stream.read_exact(&mut heard[5..]).await.unwrap();
    assert_eq!(&heard, b"helloping");
    drop(stream);
    assert_eq!((only(&pool).busy, only(&pool).idle), (0, 0));
    assert_eq!(only(&pool).failures, 0);
}
