//! The steps that every request, tile or frame goes through, each by itself.

use std::hint::black_box;
use std::time::Duration;

use bounded_ring::RejectNew;
use bytes::{Bytes, BytesMut};
use concurrency_gate::{Gate, GateConfig, Limit};
use fair_queue::{Class, Queue, Settings, Work};
use http::HeaderMap;
use http1_wire::{Asked, HeadReader, RequestReader};
use oap::{Decoder, Flags, Frame, Header};
use rate_quota::{Quota, Rate};
use tile_pack::{Coding, Description, Limits, Pack, PackWriter, TileAddress, TileFormat, Wait};

/// A step and how to take it so many times.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) run: fn(u64),
}

pub(crate) const ALL: &[Path] = &[
    path("answer-head", answer_head),
    path("fair-queue-order", fair_queue_order),
    path("frame-decode", frame_decode),
    path("gate-enter", gate_enter),
    path("h2-answer-head", h2_answer_head),
    path("h2-request-head", h2_request_head),
    path("quota-check", quota_check),
    path("range-parse", range_parse),
    path("request-head", request_head),
    path("ring-push-pop", ring_push_pop),
    path("tile-read", tile_read),
];

const fn path(name: &'static str, run: fn(u64)) -> Path {
    Path { name, run }
}

const NOW: Duration = Duration::from_secs(1);
const TENANTS: u64 = 100;

fn ring_push_pop(times: u64) {
    let ring = RejectNew::new(512);
    for number in 0..times {
        ring.try_push(black_box(number)).expect("one item fits");
        black_box(ring.try_pop());
    }
}

fn gate_enter(times: u64) {
    let gate: Gate<u64> =
        Gate::new(GateConfig::new(Limit::fixed(8))).expect("the limit makes sense");
    let door = gate.handle(&0, NOW);
    for _ in 0..times {
        black_box(&door.try_enter(black_box(NOW)));
    }
}

fn fair_queue_order(times: u64) {
    let mut queue = Queue::new(Settings::default()).expect("good settings");
    let push = |queue: &mut Queue<u64>, tenant: u64| {
        let work = Work::of(Class((tenant % 3) as u16), tenant);
        let pushed = queue.push(black_box(work), tenant, NOW, |_, _| ());
        black_box(pushed).expect("there is room");
    };
    (0..TENANTS).for_each(|tenant| push(&mut queue, tenant));
    for number in 0..times {
        push(&mut queue, number % TENANTS);
        black_box(queue.pop(NOW, |_, _| ()));
    }
}

fn quota_check(times: u64) {
    let rate = Rate::new(1_000_000, Duration::from_secs(1)).expect("a good rate");
    let quota = Quota::new(rate, 1_000);
    for number in 0..times {
        let _ = black_box(quota.check(number % TENANTS, 1, black_box(NOW)));
    }
}

const REQUEST: &[u8] = b"GET /api/v1/items/42?page=3 HTTP/1.1\r\nHost: api.example.com\r\n\
    User-Agent: client/1.0\r\nAccept: */*\r\nAccept-Encoding: gzip, br\r\nX-Tenant: bench\r\n\r\n";
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1024\r\n\
    Date: Sat, 31 Jan 2026 12:00:00 GMT\r\nCache-Control: no-store\r\nServer: origin\r\n\r\n";
const HEAD_MAX: usize = 64 * 1024;

fn request_head(times: u64) {
    let (mut inbox, mut spare) = (BytesMut::with_capacity(4_096), HeaderMap::new());
    for _ in 0..times {
        inbox.extend_from_slice(black_box(REQUEST));
        let read = RequestReader::new(HEAD_MAX).read(&mut inbox, &mut spare);
        black_box(read.ok().flatten()).expect("the head is whole and good");
    }
}

fn answer_head(times: u64) {
    let mut inbox = BytesMut::with_capacity(4_096);
    for _ in 0..times {
        inbox.extend_from_slice(black_box(ANSWER));
        let read = HeadReader::new(HEAD_MAX).read(&mut inbox, Asked::default());
        black_box(read.ok().flatten()).expect("the head is whole and good");
    }
}

/// A head as clients say it again and again: all of it was said before.
const PACKED: &[u8] = &[0x82, 0x86, 0x84, 0xc0, 0xbf, 0xbe];
/// How it was said for the first time.
const UNPACKED: &[u8] = b"\x82\x86\x84\x41\x0fapi.example.com\x7a\x0bbench/1.0.0\x53\x03*/*";

fn h2_request_head(times: u64) {
    let mut reader = http2_wire::HeadReader::new(HEAD_MAX);
    let first = reader.request(UNPACKED, HeaderMap::new());
    let mut spare = first.map(|head| head.expect("it is good").headers);
    for _ in 0..times {
        let mut headers = spare.expect("it can be read");
        headers.clear();
        let read = reader.request(black_box(PACKED), headers);
        spare = read.map(|head| black_box(head).expect("it is good").headers);
    }
}

fn h2_answer_head(times: u64) {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("content-length", "1024"),
        ("x-request-id", "01J9Z3N5T7Q8R9S0"),
    ] {
        headers.insert(name, http::HeaderValue::from_static(value));
    }
    let mut out = Vec::with_capacity(4_096);
    for number in 0..times {
        out.clear();
        let tell = http2_wire::Tell {
            status: http::StatusCode::OK,
            headers: black_box(&headers),
            date: b"Mon, 16 Nov 2026 12:00:00 GMT",
            length: None,
        };
        http2_wire::write_answer(&mut out, number as u32 | 1, &tell, false, false);
        black_box(&out);
    }
}

fn range_parse(times: u64) {
    for _ in 0..times {
        black_box(http_rules::range::parse(
            black_box(b"bytes=1000-1999, 5000-"),
            10_000,
        ));
    }
}

fn frame_decode(times: u64) {
    let header = Header {
        flags: Flags::REQ,
        code: 1,
        app_proto: 2,
        tenant: 7,
        corr_id: 9,
    };
    let frame = Frame {
        header,
        cap: Bytes::new(),
        payload: Bytes::from_static(&[b'x'; 64]),
    };
    let mut wire = BytesMut::new();
    frame
        .encode(&mut wire)
        .expect("a small frame is within the limits");
    let (mut inbox, decoder) = (BytesMut::with_capacity(4_096), Decoder::default());
    for _ in 0..times {
        inbox.extend_from_slice(black_box(&wire));
        let frame = decoder.decode(&mut inbox);
        black_box(frame.ok().flatten()).expect("the frame is whole and good");
    }
}

fn tile_read(times: u64) {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let file = home.path().join("one.pmtiles");
    let description = Description::new(TileFormat::Mvt, Coding::None);
    let mut writer = PackWriter::create(&file, description).expect("the file can be made");
    for number in 0..64_u32 {
        let at = TileAddress::new(3, number % 8, number / 8).expect("it lies in the world");
        let tile = format!("tile {number}").repeat(50);
        writer
            .add(at, &tile.into_bytes().into())
            .expect("it can be written");
    }
    writer.finish().expect("it can be written");
    let pack = Pack::open(&file, &Limits::default()).expect("it was just written");
    for number in 0..times {
        let number = (number % 64) as u32;
        let at = TileAddress::new(3, number % 8, number / 8).expect("it lies in the world");
        let tile = pack.tile(black_box(at), Wait::Allowed);
        black_box(tile.ok().flatten()).expect("the tile is there");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_be_gone_and_has_a_name_of_its_own() {
        for path in ALL {
            (path.run)(200);
        }
        let names = ALL.iter().map(|path| path.name);
        assert!(names.is_sorted_by(|a, b| a < b));
    }
}
