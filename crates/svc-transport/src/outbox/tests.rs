use bytes::{Bytes, BytesMut};
use oap::{Decoder, Flags, Header};
use tokio::io::AsyncReadExt as _;

use super::*;

fn frame(corr_id: u64, payload: usize) -> Frame {
    let header = Header {
        flags: Flags::RESP,
        code: 200,
        app_proto: 2,
        tenant: 0,
        corr_id,
    };
    Frame {
        header,
        cap: Bytes::new(),
        payload: Bytes::from(vec![corr_id as u8; payload]),
    }
}

// req: TR-06
#[tokio::test]
async fn frames_leave_whole_and_in_order_through_a_narrow_pipe() {
    let (mut near, mut far) = tokio::io::duplex(1_000);
    let mut outbox = Outbox::default();
    let sizes = [0, 10, COPIED_BYTES, COPIED_BYTES + 1, 100_000, 3, 0];
    let sent: Vec<Frame> = (1..).zip(sizes).map(|(id, size)| frame(id, size)).collect();
    for frame in &sent {
        outbox.push(frame.clone());
    }
    let write = async {
        while !outbox.is_empty() {
            std::future::poll_fn(|cx| outbox.poll_write(&mut near, cx))
                .await
                .unwrap();
        }
    };
    let read = async {
        let (mut inbox, mut heard) = (BytesMut::new(), Vec::new());
        while heard.len() < sent.len() {
            match Decoder::default().decode(&mut inbox).unwrap() {
                Some(frame) => heard.push(frame),
                None => assert!(far.read_buf(&mut inbox).await.unwrap() > 0),
            }
        }
        heard
    };
    let ((), heard) = tokio::join!(write, read);
    assert_eq!(heard, sent);
}

// req: TR-06
#[test]
fn there_is_room_until_enough_waits() {
    let mut outbox = Outbox::default();
    while outbox.has_room() {
        outbox.push(frame(1, 60_000));
    }
    assert!(outbox.bytes < ENOUGH_BYTES + 70_000);
    outbox.took(outbox.bytes);
    assert!(outbox.has_room());
    assert!(!outbox.is_empty(), "it is not flushed yet");
}
