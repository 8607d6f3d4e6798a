//! Frames of OAP/1, taken out of what a socket would have given, beside a codec that only finds where each one ends.

use std::hint::black_box;

use bytes::{BufMut, Bytes, BytesMut};
use oap::{Decoder, Flags, Frame, Header};
use tokio_util::codec::{Decoder as _, LengthDelimitedCodec};

use crate::clock::Clock;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "oap",
    about: "frames of OAP/1: decoded and encoded, small ones and chunks of 64 KiB",
    metrics,
};

/// What a read gives at most.
const READ_BYTES: usize = 64 * 1024;
const SMALL: usize = 64;
const CHUNK: usize = 64 * 1024;
/// A million small frames a second.
const SMALL_NANOS: f64 = 1_000.0;
/// Four gigabytes a second.
const CHUNK_NANOS: f64 = CHUNK as f64 / 4.0;
/// Ours reads and checks the header, too.
const GOAL: f64 = 1.5;

fn metrics(effort: Effort) -> Vec<Metric> {
    let (small, chunks) = (effort.scaled(400_000), effort.scaled(8_000));
    let within = |name, nanos, ours| Metric {
        name,
        unit: "ns/frame",
        ours,
        peer: Peer::Budget(nanos),
        goal_ratio: 1.0,
    };
    let beside = |name, payload, frames| Metric {
        name,
        unit: "ns/frame",
        ours: decoded(payload, frames),
        peer: Peer::Rival {
            name: "LengthDelimitedCodec",
            theirs: delimited(payload, frames),
        },
        goal_ratio: GOAL,
    };
    vec![
        within("decode_64", SMALL_NANOS, decoded(SMALL, small)),
        within("decode_64k", CHUNK_NANOS, decoded(CHUNK, chunks)),
        within("encode_64", SMALL_NANOS, encoded(SMALL, small)),
        beside("delimit_64", SMALL, small),
        beside("delimit_64k", CHUNK, chunks),
    ]
}

fn frame(payload: usize) -> Frame {
    let header = Header {
        flags: Flags::REQ,
        code: 1,
        app_proto: 40,
        tenant: 7,
        corr_id: 9,
    };
    Frame {
        header,
        cap: Bytes::new(),
        payload: Bytes::from(vec![0; payload]),
    }
}

/// As many frames as fill about a megabyte, which stays in the cache as fresh bytes from a socket do.
fn wire(payload: usize) -> (Vec<u8>, usize) {
    let frame = frame(payload);
    let frames = (1 << 20) / frame.wire_len();
    let mut out = BytesMut::new();
    for _ in 0..frames {
        frame.encode(&mut out).expect("it is small enough");
    }
    (out.to_vec(), frames)
}

fn decoded(payload: usize, frames: usize) -> Cost {
    let decoder = Decoder::default();
    taken(payload, frames, move |inbox, stream| {
        decoder.make_room(inbox);
        let room = (inbox.capacity() - inbox.len()).min(READ_BYTES);
        let taken = put(inbox, stream, room);
        let mut seen = 0;
        while let Some(frame) = decoder.decode(inbox).expect("it is lawful") {
            black_box(&frame);
            seen += 1;
        }
        (taken, seen)
    })
}

fn delimited(payload: usize, frames: usize) -> Cost {
    let mut codec = LengthDelimitedCodec::builder()
        .length_field_length(4)
        .length_adjustment(-4)
        .max_frame_length(1 << 20)
        .new_codec();
    taken(payload, frames, move |inbox, stream| {
        inbox.reserve(READ_BYTES);
        let taken = put(inbox, stream, READ_BYTES);
        let mut seen = 0;
        while let Some(frame) = codec.decode(inbox).expect("it is lawful") {
            black_box(&frame.freeze());
            seen += 1;
        }
        (taken, seen)
    })
}

/// Moves as much as one read would; how much it was.
fn put(inbox: &mut BytesMut, stream: &[u8], most: usize) -> usize {
    let bytes = most.min(stream.len());
    inbox.put_slice(&stream[..bytes]);
    bytes
}

/// The cost of a frame when `read` takes some bytes of the stream and says how many, and how many frames were in them.
fn taken(
    payload: usize,
    frames: usize,
    mut read: impl FnMut(&mut BytesMut, &[u8]) -> (usize, usize) + 'static,
) -> Cost {
    let (wire, each) = wire(payload);
    let rounds = frames.div_ceil(each);
    Box::new(move || {
        let mut inbox = BytesMut::new();
        let mut seen = 0;
        let cost = Clock::Cpu.nanos_each(rounds * each, || {
            for _ in 0..rounds {
                let mut stream = &wire[..];
                while !stream.is_empty() {
                    let (bytes, frames) = read(&mut inbox, stream);
                    stream = &stream[bytes..];
                    seen += frames;
                }
            }
        });
        assert_eq!(seen, rounds * each, "every frame was there");
        cost
    })
}

fn encoded(payload: usize, frames: usize) -> Cost {
    let frame = frame(payload);
    Box::new(move || {
        let mut out = BytesMut::with_capacity(READ_BYTES);
        Clock::Cpu.nanos_each(frames, || {
            for _ in 0..frames {
                if out.len() + frame.wire_len() > READ_BYTES {
                    black_box(&out);
                    out.clear();
                }
                frame.encode(&mut out).expect("it is small enough");
            }
        })
    })
}
