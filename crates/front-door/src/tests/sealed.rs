//! Answers that the system sends from where they lie.

use super::host::{sealed_text, well_text};
use super::*;

const GET: &[u8] = b"GET /sealed HTTP/1.1\r\nhost: a\r\n\r\n";

/// The body of one answer, read in small steps with pauses, so that what is sent has to wait often.
async fn read_slowly(stream: &mut (impl tokio::io::AsyncRead + Unpin), length: usize) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(
        head.contains(&format!("content-length: {length}\r\n")),
        "{head}"
    );
    let mut body = vec![0; length];
    for step in body.chunks_mut(300_000) {
        stream.read_exact(step).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    body
}

fn assert_same(body: &[u8], text: &[u8]) {
    let differs = body.iter().zip(text).position(|(one, other)| one != other);
    assert_eq!(differs, None, "the first byte that differs");
    assert_eq!(body.len(), text.len());
}

// req: ED-10
#[tokio::test]
async fn a_sealed_part_arrives_as_it_is_and_the_next_answer_behind_it() {
    let house = House::open(patient()).await;
    let text = sealed_text();
    let part = &text[3..text.len() - 3];
    let mut stream = house.connect().await;
    for _ in 0..2 {
        // Asked for together, the small one is written behind the large one.
        stream.write_all(GET).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        assert_same(&read_slowly(&mut stream, part.len()).await, part);
        assert_eq!(read_slowly(&mut stream, 5).await, b"hello");
    }
    stream
        .write_all(b"HEAD /sealed HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let (_, answer) = until_closed(&mut stream).await;
    assert!(answer.ends_with("\r\n\r\n"), "a head and nothing else");
}

// req: ED-10
#[tokio::test]
async fn what_fits_into_a_pipe_arrives_as_it_is_however_often_it_has_to_wait() {
    const TIMES: usize = 200;
    let house = House::open(patient()).await;
    let text = well_text();
    let part = &text[3..text.len() - 3];
    let asks = ["well", "well-part"].map(|path| format!("GET /{path} HTTP/1.1\r\nhost: a\r\n\r\n"));
    let mut stream = house.connect().await;
    // Answered with far more than fits between the two ends, so that some of it is taken in parts only.
    let asks = asks.concat().repeat(TIMES);
    stream.write_all(asks.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    for _ in 0..TIMES {
        assert_same(&read_slowly(&mut stream, text.len()).await, &text);
        assert_same(&read_slowly(&mut stream, part.len()).await, part);
    }
}

// req: ED-10
#[tokio::test]
async fn who_takes_none_of_a_sealed_part_is_let_go_in_time() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    stream.write_all(GET).await.unwrap();
    until("nobody is waited for", || house.timeouts("write") == 1).await;
    assert!(read_to_the_end(&mut stream).await < sealed_text().len());
}

async fn read_to_the_end(stream: &mut TcpStream) -> usize {
    let mut all = Vec::new();
    let _reset_is_an_end_too = stream.read_to_end(&mut all).await;
    all.len()
}
