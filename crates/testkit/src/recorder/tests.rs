use super::*;
use crate::http;
use std::time::Duration;

#[tokio::test]
async fn every_byte_is_kept_and_taken_once() {
    let recorder = Recorder::start().await.unwrap();
    let request = http::request_bytes("POST", "h", "/a", &[], b"body");
    let answer = http::exchange(recorder.addr(), &request, Duration::from_secs(5)).await;
    assert_eq!(answer.unwrap().text(), ANSWER);
    assert_eq!(recorder.take(), [request]);
    assert!(recorder.take().is_empty());
}

#[tokio::test]
async fn what_leaves_a_doubt_is_kept_and_not_answered() {
    let recorder = Recorder::start().await.unwrap();
    let doubtful = b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n";
    let answer = http::exchange(recorder.addr(), doubtful, Duration::from_secs(5)).await;
    assert_eq!(answer.unwrap_err(), http::Failure::ClosedBeforeByte);
    assert_eq!(recorder.take(), [doubtful]);
}
