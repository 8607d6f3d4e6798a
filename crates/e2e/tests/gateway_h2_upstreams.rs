//! HTTP/2 upstreams that break off, or break the rules: each has its stated answer.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use e2e::gateway::{Gateway, PATIENCE, to};
use testkit::frames::kind::{DATA, GOAWAY, HEADERS, RST_STREAM};
use testkit::frames::{END_HEADERS, END_STREAM, Peer, block, frame};
use testkit::http::{Failure, Response, exchange};
use testkit::upstream::filler;
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
