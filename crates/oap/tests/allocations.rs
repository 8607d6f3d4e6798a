//! Reading a frame costs no more than one allocation, whatever its size and whoever keeps it: counted, not believed.

use bytes::{BufMut, Bytes, BytesMut};
use model_kit::allocations::{Counting, during};
use oap::{Decoder, Flags, Frame, Header};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn stream(payload_bytes: usize, frames: usize) -> Vec<u8> {
    let header = Header {
        flags: Flags::REQ,
        code: 1,
        app_proto: 40,
        tenant: 0,
        corr_id: 1,
    };
    let frame = Frame {
        header,
        cap: Bytes::from_static(b"\x02\0\x04\0\0\0\x01"),
        payload: Bytes::from(vec![0; payload_bytes]),
    };
    let mut out = BytesMut::new();
    for _ in 0..frames {
        frame.encode(&mut out).expect("it is small enough");
    }
    out.to_vec()
}

/// Takes the stream as a socket would give it, at most `read_bytes` at a time.
fn decode(mut stream: &[u8], read_bytes: usize, mut take: impl FnMut(Frame)) {
    let (decoder, mut inbox) = (Decoder::default(), BytesMut::new());
    while !stream.is_empty() {
        decoder.make_room(&mut inbox);
        let room = inbox.capacity() - inbox.len();
        let (now, later) = stream.split_at(room.min(read_bytes).min(stream.len()));
        inbox.put_slice(now);
        stream = later;
        while let Some(frame) = decoder.decode(&mut inbox).expect("it is lawful") {
            take(frame);
        }
    }
}

// req: TR-02
#[test]
fn a_frame_costs_at_most_one_allocation() {
    for (payload_bytes, frames) in [
        (16, 10_000),
        (1_000, 2_000),
        (64 * 1024, 200),
        (1_000_000, 20),
    ] {
        let stream = stream(payload_bytes, frames);
        for read_bytes in [1_400, 64 * 1024, usize::MAX] {
            let mut kept = Vec::with_capacity(frames);
            let keeping = during(|| decode(&stream, read_bytes, |frame| kept.push(frame)));
            assert_eq!(kept.len(), frames);
            let passing = during(|| decode(&stream, read_bytes, drop));
            assert!(passing <= frames, "{payload_bytes} {read_bytes}: {passing}");
            // One of a megabyte grows as it comes, since its length alone is no reason to believe in it.
            let most = if payload_bytes > 64 * 1024 {
                5 * frames
            } else {
                frames
            };
            assert!(keeping <= most, "{payload_bytes} {read_bytes}: {keeping}");
        }
    }
}
