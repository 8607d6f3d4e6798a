//! HTTP/2 frames that break the protocol, or bodies that are not what their heads say.

use std::time::Duration;

use Came::{Answer, Bare, End, Reset};
use e2e::site::Site;
use e2e::streams::{Came, Case, WHOLE, asking, came, data, fields, get, no, post, refused};
use testkit::frames::kind::{CONTINUATION, DATA, HEADERS, PUSH_PROMISE, SETTINGS, WINDOW_UPDATE};
use testkit::frames::{END_HEADERS, END_STREAM, PADDED, frame, remembered};
use testkit::strict;

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

const BROKEN: &[Came] = &[
    Reset(PROTOCOL_ERROR),
    End(PROTOCOL_ERROR),
    End(COMPRESSION_ERROR),
];
const SIZE: &[Came] = &[
    Reset(FRAME_SIZE_ERROR),
    End(FRAME_SIZE_ERROR),
    End(PROTOCOL_ERROR),
];
const WINDOW: &[Came] = &[
    Reset(PROTOCOL_ERROR),
    End(PROTOCOL_ERROR),
    Reset(FLOW_CONTROL_ERROR),
    End(FLOW_CONTROL_ERROR),
];

/// A whole head of these bytes.
fn whole(block: &[u8]) -> Vec<u8> {
    frame(HEADERS, WHOLE, 1, block)
}

/// A field of a hundred bytes that is remembered, and said again so many times.
fn repeated(times: usize) -> Vec<u8> {
    let mut block = [asking("GET", &[]), remembered(b"cookie", &[b'x'; 100])].concat();
    block.resize(block.len() + times, 0xbe);
    whole(&block)
}

/// A change of the table before the head.
fn resized(size: &[u8]) -> Vec<u8> {
    whole(&[size, &asking("GET", &[])].concat())
}

// req: GW-15
// attack: B-07, B-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_of_fields_has_bounds_and_a_grammar() {
    let site = Site::start("", "").await;
    let calm = [
        Bare,
        End(ENHANCE_YOUR_CALM),
        End(PROTOCOL_ERROR),
        no(431, "head-too-large"),
    ];
    let huge = [0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    let huffman = [0x40, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00];
    let cases: [Case<'_>; 9] = [
        ("a list too long", repeated(130), &calm),
        ("a bomb of fields", repeated(4000), &calm),
        (
            "a table too large",
            resized(&[0x3f, 0xff, 0xff, 0x7f]),
            BROKEN,
        ),
        ("a table of any size", resized(&huge), BROKEN),
        ("an index of nothing", whole(&[0xff, 0x80, 0x01]), BROKEN),
        ("index zero", whole(&[0x80]), BROKEN),
        ("a string cut short", whole(&[0x40, 0x0a, b'x']), BROKEN),
        ("an endless number", whole(&[0xff; 30]), BROKEN),
        ("bad Huffman", whole(&huffman), BROKEN),
    ];
    refused(&site, &cases).await;
}

// req: GW-15
// attack: B-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_out_of_place_or_size_end_their_stream_or_the_connection() {
    let site = Site::start("", "").await;
    let block = asking("GET", &[]);
    let open = frame(HEADERS, END_STREAM, 1, &block);
    let interrupted = [open, frame(SETTINGS, 0, 0, &[])].concat();
    let most = [0x7f, 0xff, 0xff, 0xff];
    let cases: [Case<'_>; 16] = [
        ("an even stream", frame(HEADERS, WHOLE, 2, &block), BROKEN),
        ("stream zero", frame(HEADERS, WHOLE, 0, &block), BROKEN),
        ("data without a head", data(END_STREAM, b"x"), BROKEN),
        ("data of stream zero", frame(DATA, 0, 0, b"x"), BROKEN),
        (
            "a continuation of nothing",
            frame(CONTINUATION, END_HEADERS, 1, &block),
            BROKEN,
        ),
        ("an interrupted head", interrupted, BROKEN),
        (
            "padding beyond the frame",
            frame(HEADERS, WHOLE | PADDED, 1, &[200, 0x82]),
            BROKEN,
        ),
        (
            "a promise",
            frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2]),
            BROKEN,
        ),
        ("settings of a stream", frame(SETTINGS, 0, 1, &[]), BROKEN),
        (
            "settings that push",
            frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 2]),
            BROKEN,
        ),
        ("a frame too large", data(0, &[0; 16_385]), SIZE),
        (
            "settings of a wrong size",
            frame(SETTINGS, 0, 0, &[0; 5]),
            SIZE,
        ),
        (
            "an update of a wrong size",
            frame(WINDOW_UPDATE, 0, 0, &[0; 3]),
            SIZE,
        ),
        (
            "a window too large",
            frame(SETTINGS, 0, 0, &[0, 4, 255, 255, 255, 255]),
            WINDOW,
        ),
        (
            "an update of nothing",
            frame(WINDOW_UPDATE, 0, 0, &[0; 4]),
            WINDOW,
        ),
        (
            "an update beyond the window",
            frame(WINDOW_UPDATE, 0, 0, &most),
            WINDOW,
        ),
    ];
    refused(&site, &cases).await;
}

// req: GW-05
// attack: B-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_not_what_its_head_says_never_becomes_a_request() {
    let site = Site::start("", "").await;
    let four = [data(END_STREAM, b"four")];
    let behind =
        |flags: u8, line: &str| [data(0, b"four"), frame(HEADERS, flags, 1, &fields(&[line]))];
    let cases = [
        ("too short", post(&["content-length=9"], &four)),
        ("too long", post(&["content-length=3"], &four)),
        (
            "none where there is some",
            post(&["content-length=0"], &four),
        ),
        ("some where there is none", get(&["content-length=4"])),
        (
            "two lengths",
            post(&["content-length=4", "content-length=5"], &four),
        ),
        ("a list", post(&["content-length=4, 4"], &four)),
        ("plus", post(&["content-length=+4"], &four)),
        ("zeros", post(&["content-length=04"], &four)),
        ("a blank", post(&["content-length= 4"], &four)),
        (
            "a line end behind",
            post(&[], &behind(WHOLE, "x=a\r\nb: c")),
        ),
        (
            "pseudo fields behind",
            post(&[], &behind(WHOLE, ":path=/evil")),
        ),
        (
            "trailers that do not end",
            post(&[], &behind(END_HEADERS, "x=y")),
        ),
    ];
    for (name, frames) in cases {
        let _ = site.origin.take();
        let (came, _) = came(&site, &frames).await;
        assert_ne!(came, Answer, "{name}");
        tokio::time::sleep(Duration::from_millis(30)).await;
        for tape in site.origin.take() {
            // What follows on the connection is a GET; what was broken off has no end.
            let whole = strict::requests(&tape).unwrap_or_default();
            let taken = whole.iter().find(|request| request.method != "GET");
            assert_eq!(taken, None, "{name}");
        }
    }
}
