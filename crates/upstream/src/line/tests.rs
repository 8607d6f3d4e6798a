use std::sync::Arc;

use http::{HeaderMap, Method, Uri};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::io::{OpenCount, Wire};

/// A connection and the peer at its other end.
async fn pair() -> (Line, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(kernel::net::TcpStream::connect(addr), listener.accept());
    let open = OpenCount::try_new(&Arc::default(), 1).unwrap();
    let io = Io::new(Wire::Plain(ours.unwrap()), open);
    (Line::new(io, 32 * 1024, 0), theirs.unwrap().0)
}

/// One exchange whose answer has a body of so many bytes.
async fn exchange(line: &mut Line, peer: &mut TcpStream, bytes: usize) {
    let (uri, headers) = (Uri::from_static("/"), HeaderMap::new());
    let ask = Ask {
        method: &Method::GET,
        uri: &uri,
        headers: &headers,
        more: &[],
    };
    let answer = async {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
        peer.write_all(head.as_bytes()).await.unwrap();
        peer.write_all(&vec![b'x'; bytes]).await.unwrap();
    };
    let read = async {
        let response = line.exchange(&ask, || "h".to_owned(), Outgoing::Empty);
        assert_eq!(response.await.unwrap().status(), 200);
        let mut length = 0;
        while let Some(frame) = std::future::poll_fn(|cx| line.poll_frame(cx)).await {
            length += frame.unwrap().into_data().unwrap().len();
        }
        assert_eq!(length, bytes);
        line.end();
    };
    tokio::join!(read, answer);
    assert!(line.is_ready());
}

#[tokio::test]
async fn a_connection_keeps_no_buffer_and_leaves_what_it_had_to_the_next() {
    let (mut line, mut peer) = pair().await;
    exchange(&mut line, &mut peer, 100).await;
    assert_eq!(line.inbox.capacity(), 0);
    let (left, large) = (spare::take_inbox(), spare::take_large());
    let (at, large_at) = (left.as_ptr(), large.as_ptr());
    spare::put_inbox(left);
    spare::put_large(large);
    for bytes in [300_000, 70_000, 100] {
        exchange(&mut line, &mut peer, bytes).await;
        assert_eq!(line.inbox.capacity(), 0, "{bytes}");
        let large = spare::take_large();
        assert_eq!(large.as_ptr(), large_at, "{bytes}");
        spare::put_large(large);
    }
    assert_eq!(spare::take_inbox().as_ptr(), at);
}

// attack: K-17
#[tokio::test]
async fn a_connection_whose_peer_has_gone_or_spoken_is_not_fit() {
    for goes in [true, false] {
        let (mut line, mut peer) = pair().await;
        exchange(&mut line, &mut peer, 100).await;
        assert!(line.is_fit());
        match goes {
            true => drop(peer),
            false => peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap(),
        }
        while line.is_fit() {
            tokio::task::yield_now().await;
        }
    }
}
