//! What RFC 9113 and RFC 7541 ask of a server, whoever wrote it: where they leave a choice, each choice is right.

use super::*;

mod answers;
mod blocks;
mod bodies;
mod cases;
mod fields;
mod ground;
mod hpack;
mod leaving;
mod opening;
mod others;
mod peer;
mod reader;
mod rooms;
mod sizes;
mod states;
mod windows;

use cases::*;
use ground::*;
use peer::*;

const PUSH_PROMISE: u8 = 5;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 0x20;

const NO_ERROR: u32 = 0;
const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE: u32 = 6;
const REFUSED: u32 = 7;
const CANCEL: u32 = 8;
const COMPRESSION: u32 = 9;

const TABLE_SIZE: u16 = 1;
const STREAMS: u16 = 3;
const INITIAL_WINDOW: u16 = 4;
const FRAME_MAX: u16 = 5;

/// A whole request in one frame.
fn whole(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, block)
}

/// A request whose body follows.
fn begun(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, block)
}

fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, bytes)
}

fn last(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, bytes)
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

fn update(stream: u32, by: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let entry = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<u8> = values.iter().flat_map(entry).collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// A string of HPACK as it is.
fn text(bytes: &[u8]) -> Vec<u8> {
    let mut coded = integer(7, 0, bytes.len());
    coded.extend_from_slice(bytes);
    coded
}

/// An integer of HPACK behind the bits of its first byte.
fn integer(prefix: u32, first: u8, mut value: usize) -> Vec<u8> {
    let most = (1 << prefix) - 1;
    if value < most {
        return vec![first | value as u8];
    }
    let mut coded = vec![first | most as u8];
    value -= most;
    while value >= 128 {
        coded.push(value as u8 | 128);
        value >>= 7;
    }
    coded.push(value as u8);
    coded
}

/// A field that is not kept.
fn field(name: &str, value: impl AsRef<[u8]>) -> Vec<u8> {
    [vec![0], text(name.as_bytes()), text(value.as_ref())].concat()
}

/// A field that is kept in the table.
fn kept(name: &str, value: &str) -> Vec<u8> {
    [vec![0x40], text(name.as_bytes()), text(value.as_bytes())].concat()
}

/// Fields one behind another, those of a request among them.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let coded = fields.iter().flat_map(|(name, value)| field(name, value));
    coded.collect()
}

/// A request without a body.
fn ask(path: &str) -> Vec<u8> {
    asking("GET", path)
}

fn asking(method: &str, path: &str) -> Vec<u8> {
    block(&[
        (":method", method),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", path),
    ])
}

/// A request that is told back, with more fields.
fn telling(fields: &[(&str, &str)]) -> Vec<u8> {
    [asking("POST", "/tell"), block(fields)].concat()
}
