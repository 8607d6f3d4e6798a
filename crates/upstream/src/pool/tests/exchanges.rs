//! What is said on an HTTP/1 connection, byte for byte, and what is made of what comes back.

use futures_util::{StreamExt, stream};
use http::HeaderMap;
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

/// A pool whose only endpoint is played by whoever has the listener.
async fn stage() -> (Arc<Pool>, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = EndpointSpec::parse(&url).unwrap();
    (pool(PoolSpec::new("test", vec![endpoint])), listener)
}

/// Plays an origin that hears one request up to `until` and answers with these bytes, then closes.
#[expect(
    clippy::disallowed_methods,
    reason = "a peer of the test, ended with it"
)]
fn play(listener: TcpListener, until: &'static str, answer: Vec<u8>) -> JoinHandle<String> {
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let heard = hear(&mut stream, until).await;
        stream.write_all(&answer).await.unwrap();
        heard
    })
}

async fn hear(stream: &mut TcpStream, until: &str) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(until.as_bytes()) {
        let read = stream.read_buf(&mut heard).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
    }
    String::from_utf8(heard).unwrap()
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A body whose length nobody knows beforehand.
fn unknown(
    frames: Vec<Frame<Bytes>>,
) -> impl hyper::body::Body<Data = Bytes, Error = std::io::Error> + Send + 'static {
    StreamBody::new(stream::iter(frames.into_iter().map(Ok)))
}

// req: GW-01
#[tokio::test]
async fn a_body_of_unknown_length_goes_in_chunks_with_its_trailers_and_what_is_here_in_one() {
    let (pool, listener) = stage().await;
    let origin = play(listener, "x-sum: 7\r\n\r\n", OK.to_vec());
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", "7".parse().unwrap());
    trailers.insert("content-length", "9".parse().unwrap());
    let frames = vec![
        Frame::data(Bytes::from_static(b"hello")),
        Frame::data(Bytes::new()),
        Frame::data(Bytes::from_static(b"0123456789abcdef")),
        Frame::trailers(trailers),
    ];
    let request = Request::put("/up")
        .header("host", "h")
        .body(unknown(frames));
    let until = clock::now() + PATIENCE;
    let response = pick(&pool).send(request.unwrap(), until).await.unwrap();
    assert_eq!(response.status(), 200);
    let heard = origin.await.unwrap();
    let head = "PUT /up HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n";
    let body = "15\r\nhello0123456789abcdef\r\n0\r\nx-sum: 7\r\n\r\n";
    assert_eq!(heard, format!("{head}{body}"));
}

// attack: D-04
#[tokio::test]
async fn a_body_that_is_not_as_long_as_it_said_ends_the_request_and_blames_nobody() {
    for declared in ["4", "6"] {
        let (pool, listener) = stage().await;
        let origin = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).await.unwrap();
            heard
        };
        let frames = vec![Frame::data(Bytes::from_static(b"hello"))];
        let request = Request::post("/").header("host", "h");
        let request = request.header("content-length", declared);
        let request = request.body(unknown(frames)).unwrap();
        let asked = async {
            let until = clock::now() + PATIENCE;
            pick(&pool)
                .send(request, until)
                .await
                .map(drop)
                .unwrap_err()
        };
        let (error, heard) = tokio::join!(asked, origin);
        assert_eq!(error.cause(), Cause::RequestBody, "{error}");
        assert!(heard.len() < 80, "nothing was added to it: {heard:?}");
        assert_eq!((only(&pool).failures, only(&pool).busy), (0, 0));
    }
}

// attack, K-14, K-16
#[tokio::test]
async fn an_answer_that_can_be_read_in_two_ways_is_refused_and_its_connection_closed() {
    let ambiguous = [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "content-length: 5\r\ncontent-length: 2\r\n\r\nhello",
        "content-length: 2\r\ncontent-length: 2\r\n\r\nok",
        "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "x: a\r\n b\r\ncontent-length: 2\r\n\r\nok",
        "x: a\ncontent-length: 2\r\n\r\nok",
        "transfer-encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n",
        "content-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore",
    ];
    for rest in ambiguous {
        let (pool, listener) = stage().await;
        let answer = format!("HTTP/1.1 200 OK\r\n{rest}").into_bytes();
        let origin = play(listener, "\r\n\r\n", answer);
        let error = fetch(&pool, "/").await.unwrap_err();
        assert_eq!(error.cause(), Cause::Garbage, "{rest:?}: {error}");
        assert!(error.may_have_reached());
        let view = only(&pool);
        assert_eq!((view.idle, view.busy, view.failures), (0, 0, 1), "{rest:?}");
        origin.await.unwrap();
    }
}

// attack: K-16
#[tokio::test]
async fn what_follows_an_answer_that_has_no_body_is_nobodys_and_its_connection_is_closed() {
    let cases = [
        ("HEAD", 200, "content-length: 5\r\n\r\nhello"),
        ("HEAD", 200, "content-length: 5\r\n\r\nh"),
        ("HEAD", 200, "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("HEAD", 404, "\r\nnot here"),
        (
            "HEAD",
            200,
            "\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        ),
        ("GET", 204, "\r\nhello"),
        ("DELETE", 204, "content-length: 2\r\n\r\n{}"),
        ("GET", 304, "content-length: 5\r\n\r\nhello"),
    ];
    for (method, status, rest) in cases {
        let (pool, listener) = stage().await;
        let answer = format!("HTTP/1.1 {status} Fine\r\n{rest}").into_bytes();
        let origin = play(listener, "\r\n\r\n", answer);
        let request = Request::builder().method(method).header("host", "h");
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let until = clock::now() + PATIENCE;
        let answer = pick(&pool).send(request, until).await;
        let answer = answer.unwrap_or_else(|error| panic!("{method} {rest:?}: {error}"));
        assert_eq!(answer.status(), status);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(body.is_empty(), "{method} {rest:?}: {body:?}");
        let view = only(&pool);
        assert_eq!((view.idle, view.busy, view.failures), (0, 0, 0), "{rest:?}");
        origin.await.unwrap();
    }
    let (pool, listener) = stage().await;
    let empty = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nmore".to_vec();
    let origin = play(listener, "\r\n\r\n", empty);
    let error = fetch(&pool, "/").await.unwrap_err();
    assert_eq!(
        error.cause(),
        Cause::Garbage,
        "one that is empty has an end"
    );
    origin.await.unwrap();
}

// req: GW-01
#[tokio::test]
async fn an_answer_without_a_length_ends_with_its_connection() {
    let (pool, listener) = stage().await;
    let origin = play(
        listener,
        "\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nall of it".to_vec(),
    );
    assert_eq!(fetch(&pool, "/").await.unwrap().1, "all of it");
    assert_eq!((only(&pool).idle, only(&pool).failures), (0, 0));
    origin.await.unwrap();
}

// attack: A-47
#[tokio::test]
async fn another_protocol_that_nobody_asked_for_is_refused() {
    let (pool, listener) = stage().await;
    let switch = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\n\r\nhello";
    let origin = play(listener, "\r\n\r\n", switch.to_vec());
    let error = fetch(&pool, "/").await.unwrap_err();
    assert_eq!(error.cause(), Cause::Garbage, "{error}");
    origin.await.unwrap();
}

// req: GW-01
#[tokio::test]
async fn a_body_goes_up_while_the_answer_comes_down() {
    let (pool, listener) = stage().await;
    let origin = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        hear(&mut stream, "\r\n\r\n").await;
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n";
        stream.write_all(head).await.unwrap();
        hear(&mut stream, "4\r\nping\r\n0\r\n\r\n").await;
        stream.write_all(b"4\r\npong\r\n0\r\n\r\n").await.unwrap();
        stream
    };
    // The request goes on only when the answer has begun.
    let (begun, wait) = futures_util::future::AbortHandle::new_pair();
    let late = async move {
        let _begun = futures_util::future::Abortable::new(std::future::pending::<()>(), wait).await;
        Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"ping")))
    };
    let body = StreamBody::new(stream::once(Box::pin(late)));
    let request = Request::post("/").header("host", "h").body(body).unwrap();
    let asked = async {
        let until = clock::now() + PATIENCE;
        let response = pick(&pool).send(request, until).await.unwrap();
        let mut body = response.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        begun.abort();
        let rest = body.collect().await.unwrap().to_bytes();
        [first, rest].concat()
    };
    let (heard, _stream) = tokio::join!(asked, origin);
    assert_eq!(heard, b"apong");
    assert_eq!((only(&pool).idle, only(&pool).failures), (1, 0));
}

#[tokio::test]
async fn a_body_is_let_go_of_with_its_exchange_and_not_by_who_looks_after_the_connection() {
    let (pool, listener) = stage().await;
    let origin = play(listener, "4\r\nping\r\n0\r\n\r\n", OK.to_vec());
    let held = Arc::new(());
    let holder = held.clone();
    let ping = Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"ping")));
    let pieces = stream::iter([ping]).inspect(move |_| {
        let _held = &holder;
    });
    let body = StreamBody::new(pieces);
    let request = Request::post("/").header("host", "h").body(body).unwrap();
    let asked = async {
        let until = clock::now() + PATIENCE;
        let response = pick(&pool).send(request, until).await.unwrap();
        response.into_body().collect().await.unwrap()
    };
    let (_answer, _stream) = tokio::join!(asked, origin);
    assert_eq!(only(&pool).idle, 1);
    assert_eq!(Arc::strong_count(&held), 1, "the connection rests alone");
}

#[tokio::test]
async fn what_a_request_says_of_its_connection_is_kept_to() {
    let (pool, listener) = stage().await;
    let origin = play(listener, "\r\n\r\n", OK.to_vec());
    let request = Request::get("/").header("connection", "x, Close");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let until = clock::now() + PATIENCE;
    let response = pick(&pool).send(request, until).await.unwrap();
    response.into_body().collect().await.unwrap();
    assert_eq!((only(&pool).idle, only(&pool).busy), (0, 0));
    let heard = origin.await.unwrap();
    assert!(heard.contains("\r\nhost: 127.0.0.1:"), "{heard}");
}

// attack: K-17
#[tokio::test]
async fn an_endpoint_that_speaks_while_its_connection_rests_is_not_believed() {
    let (pool, listener) = stage().await;
    let origin = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        hear(&mut stream, "\r\n\r\n").await;
        stream.write_all(OK).await.unwrap();
        stream
    };
    let (first, mut stream) = tokio::join!(fetch(&pool, "/"), origin);
    assert_eq!((first.unwrap().1, only(&pool).idle), ("ok".into(), 1));
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        .await
        .unwrap();
    let endpoint = pool.fleet().endpoints[0].clone();
    while only(&pool).idle > 0 {
        endpoint.idle.sweep_all(clock::now(), PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let again = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        hear(&mut stream, "\r\n\r\n").await;
        stream.write_all(OK).await.unwrap();
    };
    let (second, ()) = tokio::join!(fetch(&pool, "/"), again);
    assert_eq!(second.unwrap().1, "ok");
}
