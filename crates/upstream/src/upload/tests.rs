use std::sync::Arc;
use std::task::Waker;

use futures_util::stream;
use http::{Method, Uri};
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::io::{OpenCount, Wire};

async fn pair() -> (Io, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(kernel::net::TcpStream::connect(addr), listener.accept());
    let open = OpenCount::try_new(&Arc::default(), 1).unwrap();
    (Io::new(Wire::Plain(ours.unwrap()), open), theirs.unwrap().0)
}

/// A body that has one piece at each of these turns, and nothing at the others.
fn turns(turns: &'static [Option<&'static str>]) -> Outgoing {
    let mut turns = turns.iter();
    let next = move |_: &mut Context<'_>| match turns.next() {
        Some(Some(piece)) => {
            let data = Frame::data(Bytes::from_static(piece.as_bytes()));
            Poll::Ready(Some(Ok::<_, io::Error>(data)))
        }
        Some(None) => Poll::Pending,
        None => Poll::Ready(None),
    };
    Outgoing::new(StreamBody::new(stream::poll_fn(next)))
}

fn begin(upload: &mut Upload, length: Option<&'static str>, body: Outgoing) {
    let (uri, mut headers) = (Uri::from_static("/"), HeaderMap::new());
    if let Some(length) = length {
        headers.insert("content-length", length.parse().unwrap());
    }
    let ask = Ask {
        method: &Method::POST,
        uri: &uri,
        headers: &headers,
        more: &[],
    };
    upload.begin(&ask, || "h".to_owned(), body);
}

/// Whether all was sent at this turn, and whether anything was by then.
fn turn(upload: &mut Upload, io: &mut Io) -> (bool, bool) {
    let polled = upload.poll(io, &mut Context::from_waker(Waker::noop()));
    let over = matches!(polled, Poll::Ready(Ok(())));
    assert!(over || polled.is_pending(), "{polled:?}");
    (over, upload.wrote)
}

async fn heard(mut peer: TcpStream, io: Io) -> String {
    drop(io);
    let mut heard = String::new();
    peer.read_to_string(&mut heard).await.unwrap();
    heard.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn the_first_of_a_body_waits_one_turn_for_the_rest_and_no_longer() {
    let (mut io, peer) = pair().await;
    tokio::task::yield_now().await;
    let mut upload = Upload::none();
    let body = turns(&[
        Some("on"),
        None,
        Some("e"),
        Some(" tw"),
        None,
        None,
        Some("o"),
    ]);
    begin(&mut upload, Some("7"), body);
    assert_eq!(turn(&mut upload, &mut io), (false, false), "it lingers");
    assert_eq!(turn(&mut upload, &mut io), (false, true), "once");
    assert_eq!(turn(&mut upload, &mut io), (false, true));
    assert_eq!(turn(&mut upload, &mut io), (true, true));
    assert!(upload.is_over());
    assert_eq!(heard(peer, io).await, "one two");
}

#[tokio::test]
async fn a_head_and_what_may_be_a_message_of_its_own_wait_for_nothing() {
    let (mut io, peer) = pair().await;
    let mut upload = Upload::none();
    begin(&mut upload, Some("1"), turns(&[None, Some("x")]));
    assert_eq!(turn(&mut upload, &mut io), (false, true), "the head alone");
    assert_eq!(turn(&mut upload, &mut io), (true, true));
    begin(&mut upload, None, turns(&[Some("m"), None, Some("n")]));
    assert_eq!(turn(&mut upload, &mut io), (false, true), "a chunk");
    assert_eq!(turn(&mut upload, &mut io), (true, true));
    let heard = heard(peer, io).await;
    assert!(heard.starts_with("xPOST / HTTP/1.1\r\n"), "{heard}");
    assert!(
        heard.ends_with("\r\n\r\n1\r\nm\r\n1\r\nn\r\n0\r\n\r\n"),
        "{heard}"
    );
}

#[tokio::test]
async fn many_pieces_leave_in_their_order() {
    let (mut io, peer) = pair().await;
    let mut upload = Upload::none();
    let pieces = &[
        Some("a"),
        Some(""),
        Some("b"),
        Some("c"),
        Some("d"),
        Some("e"),
        Some("f"),
    ];
    begin(&mut upload, Some("6"), turns(pieces));
    assert_eq!(turn(&mut upload, &mut io), (true, true));
    assert_eq!(heard(peer, io).await, "abcdef");
}
