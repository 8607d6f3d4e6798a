//! HTTP/2 upstreams that break off, or break the rules: each has its stated answer.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use e2e::gateway::{Gateway, PATIENCE, to};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use testkit::frames::kind::{CONTINUATION, DATA, GOAWAY, HEADERS, PUSH_PROMISE, RST_STREAM};
use testkit::frames::{END_HEADERS, END_STREAM, Peer, block, frame, remembered};
use testkit::http::{Failure, Response, exchange};
use testkit::upstream::filler;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What an origin says on a stream: one part after another, with a pause between them.
type Said = Arc<dyn Fn(u32) -> Vec<Vec<u8>> + Send + Sync>;

/// How long a pause is: enough for what came before it to be passed on.
const PAUSE: Duration = Duration::from_millis(100);

/// An origin that says the same to everybody.
async fn saying(said: impl Fn(u32) -> Vec<Vec<u8>> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let said: Said = Arc::new(said);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, said.clone()));
        }
    });
    address
}

/// Speaks as soon as it has heard a head, whatever else is to come.
async fn serve(stream: TcpStream, said: Said) {
    let mut peer = Peer::serve(stream, &[]).await.unwrap();
    while let Some(came) = peer.listener.next().await {
        if came.kind != HEADERS {
            continue;
        }
        for part in said(came.stream) {
            peer.send(&part).await;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// A gateway before such an origin that tries everything once, and draws no conclusions.
async fn before(origin: SocketAddr) -> Gateway {
    let keys = "protocol = \"http2\"\n[gateway.upstreams.main.breaker]\nsamples = 100000";
    let section = to(origin, keys);
    let section = section.replace("[[gateway.routes]]", "[[gateway.routes]]\nretry.tries = 1");
    Gateway::start(&section).await
}

fn head(stream: u32, flags: u8, fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &block(fields))
}

/// The beginning of an answer.
fn begun(stream: u32) -> Vec<u8> {
    let head = head(stream, 0, &[(b":status", b"200")]);
    [head, frame(DATA, 0, stream, b"[1,2,3")].concat()
}

/// That a stream is given up for no reason.
fn given_up(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &[0; 4])
}

fn is_broken(answer: &Result<Response, Failure>) -> bool {
    answer.as_ref().map_or(true, |answer| answer.status == 502)
}

// RFC 9113, 8.1: an answer is complete when its end was said, and not when the stream is given up without a complaint.
// attack: K-11
// req: GW-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_broken_off_without_a_complaint_is_none() {
    let goodbye = |_| frame(GOAWAY, 0, 0, &[0; 8]);
    let ends: [fn(u32) -> Vec<u8>; 2] = [given_up, goodbye];
    for end in ends {
        let at_once = saying(move |stream| vec![[begun(stream), end(stream)].concat()]).await;
        let later = saying(move |stream| vec![begun(stream), end(stream)]).await;
        for origin in [at_once, later] {
            let gateway = before(origin).await;
            let answer = gateway.ask("GET", "/", &[], b"").await;
            assert!(is_broken(&answer), "{answer:?}");
        }
    }
}

// RFC 9113, 8.1: who has said all it has to say may ask for no more of the request.
// attack: K-11
// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_answer_to_part_of_an_upload_counts_though_the_rest_is_refused() {
    let end = |stream| frame(DATA, END_STREAM, stream, b",4]");
    let at_once =
        saying(move |stream| vec![[begun(stream), end(stream), given_up(stream)].concat()]).await;
    let later = saying(move |stream| vec![begun(stream), end(stream), given_up(stream)]).await;
    let last = move |stream| vec![begun(stream), [end(stream), given_up(stream)].concat()];
    for origin in [at_once, later, saying(last).await] {
        let gateway = before(origin).await;
        let head = b"POST / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 1000000\r\n\r\n";
        let part = [&head[..], &filler(200_000)].concat();
        let answer = exchange(gateway.door, &part, PATIENCE).await;
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "[1,2,3,4]"));
    }
}

// req: GW-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_for_its_requests_body_is_not_called_the_upstreams_fault() {
    let gateway = before(saying(|stream| vec![begun(stream)]).await).await;
    let mut client = TcpStream::connect(gateway.door).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n";
    client.write_all(head).await.unwrap();
    let mut heard = Vec::new();
    let answer = async {
        while !heard.ends_with(b"[1,2,3\r\n") {
            assert!(client.read_buf(&mut heard).await.unwrap() > 0);
        }
        client.write_all(b"no chunk\r\n").await.unwrap();
        while client
            .read_buf(&mut heard)
            .await
            .is_ok_and(|bytes| bytes > 0)
        {}
    };
    tokio::time::timeout(PATIENCE, answer).await.unwrap();
    assert!(!heard.ends_with(b"0\r\n\r\n"), "it looks whole");
    assert_eq!(gateway.rejected("body-broken").await, 1);
    assert_eq!(gateway.rejected("upstream-reset").await, 0);
}

// RFC 9113, 8.1.1: an answer that never has content may have the length of what it stands for.
// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_content_may_say_a_length_and_end_however_it_likes() {
    for status in ["304", "204"] {
        let said = |stream| {
            let status: (&[u8], &[u8]) = (b":status", status.as_bytes());
            head(stream, 0, &[status, (b"content-length", b"1234")])
        };
        let end = |stream| frame(DATA, END_STREAM, stream, b"");
        let at_once = saying(move |stream| vec![[said(stream), end(stream)].concat()]).await;
        let later = saying(move |stream| vec![said(stream), end(stream)]).await;
        for origin in [at_once, later] {
            let gateway = before(origin).await;
            let answer = gateway.get("/").await;
            assert_eq!(answer.status.to_string(), status);
            assert_eq!(gateway.rejected("upstream-garbage").await, 0);
        }
    }
}

// attack: K-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_an_answer_is_passed_on_only_where_it_is_made_of_fields() {
    for (name, good) in [("x-sum", true), ("x\"sum", false)] {
        let origin = saying(move |stream| {
            let trailers = frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                stream,
                &block(&[(name.as_bytes(), b"1")]),
            );
            vec![begun(stream), trailers]
        });
        let gateway = before(origin.await).await;
        let answer = gateway.ask("GET", "/", &[], b"").await;
        assert_eq!(!is_broken(&answer), good, "{answer:?}");
    }
}

/// Fields of this many bytes in all, of which none is long.
fn fields(bytes: usize) -> Vec<u8> {
    let value = vec![b'v'; 1000];
    let fields = (0..bytes / 1000).map(|number| {
        let name = format!("x-{number}");
        block(&[(name.as_bytes(), &value)])
    });
    [
        block(&[(b":status", b"200")]),
        fields.collect::<Vec<_>>().concat(),
    ]
    .concat()
}

/// A head in as many frames as it takes, and a body.
fn in_pieces(stream: u32, block: &[u8]) -> Vec<u8> {
    let mut said = Vec::new();
    let last = block.len().div_ceil(16_000) - 1;
    for (number, piece) in block.chunks(16_000).enumerate() {
        let kind = if number == 0 { HEADERS } else { CONTINUATION };
        let flags = if number == last { END_HEADERS } else { 0 };
        said.extend(frame(kind, flags, stream, piece));
    }
    said.extend(frame(DATA, END_STREAM, stream, b"hello"));
    said
}

/// An answer with this field.
fn with(stream: u32, name: &[u8], value: &[u8]) -> Vec<u8> {
    let head = head(stream, 0, &[(b":status", b"200"), (name, value)]);
    [head, frame(DATA, END_STREAM, stream, b"hello")].concat()
}

/// What an upstream says, and the reason that a client is told.
type Case = (&'static str, &'static str, fn(u32) -> Vec<u8>);

const RULES: [Case; 18] = [
    ("another protocol", "upstream-garbage", |_| {
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec()
    }),
    ("no status", "upstream-garbage", |stream| {
        head(stream, END_STREAM, &[(b"a", b"b")])
    }),
    ("a status that is none", "upstream-garbage", |stream| {
        head(stream, END_STREAM, &[(b":status", b"99")])
    }),
    ("a field of a connection", "upstream-garbage", |stream| {
        with(stream, b"connection", b"close")
    }),
    ("a line end in a field", "upstream-garbage", |stream| {
        with(stream, b"a", b"b\r\nc: d")
    }),
    ("two lengths", "upstream-garbage", |stream| {
        let length: (&[u8], &[u8]) = (b"content-length", b"5");
        let head = head(stream, 0, &[(b":status", b"200"), length, length]);
        [head, frame(DATA, END_STREAM, stream, b"hello")].concat()
    }),
    ("a name that is none", "upstream-garbage", |stream| {
        with(stream, b"x\"y", b"z")
    }),
    ("less than its length", "upstream-garbage", |stream| {
        with(stream, b"content-length", b"6")
    }),
    ("more than its length", "upstream-garbage", |stream| {
        with(stream, b"content-length", b"4")
    }),
    ("a body without a head", "upstream-garbage", |stream| {
        frame(DATA, END_STREAM, stream, b"hello")
    }),
    ("fields that cannot be read", "upstream-garbage", |stream| {
        frame(HEADERS, END_HEADERS, stream, &[0x88, 0x80])
    }),
    ("a push", "upstream-garbage", |stream| {
        frame(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2])
    }),
    ("a head over the bound", "upstream-head", |stream| {
        in_pieces(stream, &fields(33_000))
    }),
    ("a head far over the bound", "upstream-head", |stream| {
        in_pieces(stream, &fields(64_000))
    }),
    ("a head that grows when read", "upstream-head", |stream| {
        let long = remembered(b"x", &[b'v'; 4000]);
        // The field that was remembered last, again and again.
        in_pieces(stream, &[&[0x88], &long[..], &[0xbe; 8000]].concat())
    }),
    ("a head without an end", "upstream-head", |stream| {
        let begun = frame(HEADERS, 0, stream, &[0x88]);
        [begun, frame(CONTINUATION, 0, stream, b"").repeat(1000)].concat()
    }),
    ("a stream that is given up", "upstream-reset", given_up),
    ("a stream that is cancelled", "upstream-reset", |stream| {
        frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())
    }),
];

// req: GW-08
// attack: K-14, K-15, K-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_breaks_the_rules_is_told_from_what_is_too_large_and_from_what_is_given_up() {
    let at = Arc::new(AtomicUsize::new(0));
    let told = at.clone();
    let origin = saying(move |stream| {
        let (_, _, say) = RULES[told.load(Ordering::Relaxed)];
        vec![say(stream)]
    });
    let gateway = before(origin.await).await;
    let mut seen = Vec::new();
    for (number, (what, reason, _)) in RULES.into_iter().enumerate() {
        at.store(number, Ordering::Relaxed);
        let answer = gateway.get("/").await;
        let told = answer.headers.get("x-macronode-reason");
        if (answer.status, told) != (502, Some(reason)) {
            seen.push(format!("{what}: {} {told:?}, not {reason}", answer.status));
        }
    }
    assert!(seen.is_empty(), "{seen:#?}");
}

/// Servers of gRPC write what they are told behind the last word, blanks too.
// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blanks_around_a_value_are_taken_off_it_in_heads_and_trailers() {
    let origin = saying(|stream| {
        let status: (&[u8], &[u8]) = (b":status", b"200");
        let kind: (&[u8], &[u8]) = (b"content-type", b"application/grpc");
        let message: (&[u8], &[u8]) = (b"grpc-message", b" no such user: \t");
        let code: (&[u8], &[u8]) = (b"grpc-status", b"5");
        vec![
            head(
                stream,
                0,
                &[status, kind, (b"x-y", b"\tz "), (b"x-no", b" ")],
            ),
            head(stream, END_STREAM, &[code, message]),
        ]
    });
    let gateway = before(origin.await).await;
    let stream = TcpStream::connect(gateway.door).await.unwrap();
    let client = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut client, connection) = client.await.unwrap();
    tokio::spawn(connection);
    // As many as would open a breaker.
    for _ in 0..12 {
        let call = Request::post("http://gate.test/").header("content-type", "application/grpc");
        let call = call.header("te", "trailers");
        let answer = client.send_request(call.body(Empty::<Bytes>::new()).unwrap());
        let answer = answer.await.unwrap();
        assert_eq!(answer.headers()["x-y"], "z");
        assert_eq!(answer.headers()["x-no"], "");
        let ended = answer.into_body().collect().await.unwrap();
        let trailers = ended.trailers().unwrap();
        assert_eq!(trailers["grpc-status"], "5");
        assert_eq!(trailers["grpc-message"], "no such user:");
    }
}
