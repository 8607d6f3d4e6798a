use super::*;

#[test]
fn a_request_head_gives_its_parts() {
    let head =
        RequestHead::parse(b"GET /a/b?x=1&y=2 HTTP/1.1\r\nHost: h\r\nX-T: a, b\r\n\r\n").unwrap();
    assert_eq!((head.method.as_str(), head.path()), ("GET", "/a/b"));
    assert_eq!((head.query("y"), head.query("z")), (Some("2"), None));
    assert_eq!(head.headers.get("host"), Some("h"));
    assert!(head.headers.lists("x-t", "B") && !head.headers.lists("x-t", "c"));
    assert_eq!(head.framing(), Ok(Framing::Empty));
}

#[test]
fn broken_heads_are_refused() {
    let refused: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\n",
        b"GET /\r\n\r\n",
        b"GET / x HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nname : v\r\n\r\n",
        b"GET / HTTP/1.1\r\n: v\r\n\r\n",
        b"GET / SSH-2\r\n\r\n",
    ];
    for head in refused {
        assert!(RequestHead::parse(head).is_err(), "{}", text(head));
    }
    assert!(ResponseHead::parse(b"HTTP/1.1 20 OK\r\n\r\n").is_err());
    assert!(ResponseHead::parse(b"HTTP/2 200 OK\r\n\r\n").is_err());
}

#[test]
fn the_framing_follows_headers_status_and_method() {
    let framing = |head: &[u8], to_head| ResponseHead::parse(head).unwrap().framing(to_head);
    let long = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
    assert_eq!(framing(long, false), Ok(Framing::Length(5)));
    assert_eq!(framing(long, true), Ok(Framing::Empty));
    assert_eq!(
        framing(b"HTTP/1.1 304 x\r\ncontent-length: 5\r\n\r\n", false),
        Ok(Framing::Empty)
    );
    assert_eq!(
        framing(b"HTTP/1.1 200 OK\r\n\r\n", false),
        Ok(Framing::UntilClose)
    );
    assert_eq!(
        framing(
            b"HTTP/1.1 200\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            false
        ),
        Ok(Framing::Chunked)
    );
    assert!(framing(b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n", false).is_err());
}

mod inbox_laws {
    use super::super::Framing;
    use super::super::inbox::Inbox;
    use crate::http::Failure;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncRead, ReadBuf};

    /// Gives its bytes a few at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl AsyncRead for Drip<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let count = self.0.len().min(self.1);
            let (now, later) = self.0.split_at(count);
            buf.put_slice(now);
            self.0 = later;
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn the_same_messages_come_out_however_the_bytes_are_split() {
        let bytes = b"HEAD ONE\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\nHEAD TWO\r\n\r\nxyz";
        for step in 1..bytes.len() {
            let (mut inbox, mut drip) = (Inbox::default(), Drip(bytes, step));
            assert_eq!(inbox.head(&mut drip).await.unwrap(), b"HEAD ONE\r\n\r\n");
            assert_eq!(
                inbox.body(&mut drip, Framing::Chunked).await.unwrap(),
                b"abcde"
            );
            assert!(inbox.take_message().ends_with(b"Trailer: t\r\n\r\n"));
            assert_eq!(inbox.head(&mut drip).await.unwrap(), b"HEAD TWO\r\n\r\n");
            assert_eq!(
                inbox.body(&mut drip, Framing::Length(3)).await.unwrap(),
                b"xyz"
            );
            assert_eq!(inbox.take_message(), b"HEAD TWO\r\n\r\nxyz");
            assert_eq!(inbox.head(&mut drip).await, Err(Failure::ClosedBeforeByte));
        }
    }

    #[tokio::test]
    async fn bad_chunks_and_short_bodies_are_told_apart() {
        for bad in [&b"0x3\r\nabc\r\n"[..], b"\r\n", b"3\r\nabcd\r\n"] {
            let body = Inbox::default()
                .body(&mut Drip(bad, 99), Framing::Chunked)
                .await;
            assert!(matches!(body, Err(Failure::Malformed(_))), "{body:?}");
        }
        let short = Inbox::default()
            .body(&mut Drip(b"ab", 9), Framing::Length(3))
            .await;
        assert_eq!(short, Err(Failure::Truncated));
        let huge = Inbox::default()
            .body(&mut Drip(b"ab", 9), Framing::Length(u64::MAX))
            .await;
        assert_eq!(huge, Err(Failure::TooLarge));
    }
}
