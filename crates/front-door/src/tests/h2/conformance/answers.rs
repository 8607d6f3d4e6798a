//! What answers are made of.

use super::*;

#[tokio::test]
async fn answers_have_the_body_their_request_and_status_allow() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    let mut wrong = Vec::new();
    for (number, (method, path, status, body)) in [
        ("GET", "/", 200, &b"hello"[..]),
        ("GET", "/empty", 200, b""),
        ("GET", "/bytes/0", 200, b""),
        ("GET", "/bytes/3", 200, &pattern(3)),
        ("GET", "/pieces/2500", 200, &pattern(2500)),
        ("GET", "/trailers", 200, b"hello"),
        ("GET", "/only-trailers", 200, b""),
        ("GET", "/hop", 200, b"hello"),
        ("HEAD", "/", 200, b""),
        ("HEAD", "/bytes/100", 200, b""),
        ("HEAD", "/pieces/100", 200, b""),
        ("HEAD", "/trailers", 200, b""),
        ("HEAD", "/empty", 200, b""),
        ("GET", "/204", 204, b""),
        ("GET", "/304", 304, b""),
        ("HEAD", "/204", 204, b""),
        ("HEAD", "/304", 304, b""),
        ("POST", "/204", 204, b""),
    ]
    .into_iter()
    .enumerate()
    {
        let stream = number as u32 * 2 + 1;
        peer.case = format!("{method} {path}");
        peer.send(&whole(stream, &asking(method, path))).await;
        let seen = peer.answer(stream).await;
        let came = (seen.status, &seen.body[..], seen.reset);
        let trailers = method == "GET" && path.ends_with("trailers");
        let length: Option<usize> = seen
            .field("content-length")
            .map(|length| length.parse().unwrap());
        let unsaid = seen.status == 204 && length.is_some();
        let long =
            method == "GET" && status == 200 && length.is_some_and(|length| length != body.len());
        if came != (status, body, None) || seen.trailers.is_some() != trailers || unsaid || long {
            let (code, bytes) = (seen.status, seen.body.len());
            let came = format!("{code}, {bytes} bytes where {length:?} are said");
            wrong.push(format!("{}: {came}, {:?}", peer.case, seen.trailers));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_answer_to_head_has_the_fields_of_the_answer_to_get() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    for (stream, method) in [(1, "GET"), (3, "HEAD")] {
        peer.send(&whole(stream, &asking(method, "/bytes/100")))
            .await;
        assert_eq!(
            peer.answer(stream).await.field("content-length"),
            Some("100"),
            "{method}"
        );
    }
}

#[tokio::test]
async fn fields_are_compressed_by_the_table_their_client_allows() {
    let ground = Ground::open(lenient()).await;
    for size in [0, 50, 100, 4096, u32::MAX] {
        let mut peer = Peer::open(&ground, &[(TABLE_SIZE, size)]).await;
        peer.case = format!("a table of {size}");
        peer.until("an acknowledgement", |peer| peer.acks == 1)
            .await;
        for stream in [1, 3, 5] {
            peer.send(&whole(stream, &ask("/trailers"))).await;
            let seen = peer.answer(stream).await;
            let expected = vec![("grpc-status".to_owned(), "0".to_owned())];
            assert_eq!(
                (seen.text().as_str(), seen.trailers),
                ("hello", Some(expected)),
                "{size}"
            );
        }
    }
    // Smaller and larger in the course of a connection.
    let mut peer = Peer::open(&ground, &[]).await;
    for (number, size) in [4096, 0, 4096, 60, 0, 200].into_iter().enumerate() {
        peer.set(&[(TABLE_SIZE, size)]).await;
        peer.until("an acknowledgement", |peer| peer.acks == number + 2)
            .await;
        for more in 0..2 {
            peer.is_well((number as u32 * 2 + more) * 2 + 1).await;
        }
    }
}

#[tokio::test]
async fn many_streams_at_once_get_each_its_own_answer() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[(INITIAL_WINDOW, 1 << 20)]).await;
    peer.grant(0, 1 << 24).await;
    let streams: Vec<u32> = (0..50).map(|number| number * 2 + 1).collect();
    for stream in &streams {
        peer.send(&begun(*stream, &asking("POST", "/echo"))).await;
    }
    // Their bodies come in turn.
    for part in 0..3_u8 {
        for stream in &streams {
            let flags = if part == 2 { END_STREAM } else { 0 };
            let text = vec![b'a' + part; *stream as usize * 10];
            peer.upload(*stream, flags, &text).await;
        }
    }
    for stream in streams {
        let text: Vec<u8> = b"abc"
            .iter()
            .flat_map(|part| vec![*part; stream as usize * 10])
            .collect();
        let seen = peer.answer(stream).await;
        assert!(
            seen.status == 200 && seen.body == text,
            "{stream}: {}",
            peer.summary()
        );
    }
}
