//! The head of an answer, and the fields behind it, packed into frames.

use http::header::{
    CONNECTION, CONTENT_LENGTH, DATE, HeaderMap, HeaderName, HeaderValue, TE, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{StatusCode, header};

use crate::frame::{CONTINUATION, END_HEADERS, END_STREAM, Frame, HEADERS, PAYLOAD_MAX};
use crate::hpack;

/// An answer as it is told.
#[derive(Debug)]
pub struct Tell<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its fields. Those that are about an HTTP/1 connection are left out.
    pub headers: &'a HeaderMap,
    /// Said where its fields have none.
    pub date: &'a [u8],
    /// Bytes of its body, said where its fields do not.
    pub length: Option<u64>,
}

/// Writes the head of an answer. `forgets` where the peer may believe that we remember fields.
pub fn write_answer(out: &mut Vec<u8>, stream: u32, tell: &Tell<'_>, ends: bool, forgets: bool) {
    let begins = begin(out);
    if forgets {
        hpack::forget_table(out);
    }
    hpack::status(out, tell.status);
    let named = tell.headers.contains_key(CONNECTION);
    for (name, value) in tell.headers {
        let dropped = is_of_connection(name) || (named && is_named(tell.headers, name));
        if !dropped {
            hpack::field(out, name, value);
        }
    }
    if !tell.headers.contains_key(DATE) && !tell.date.is_empty() {
        hpack::field_bytes(out, &DATE, tell.date);
    }
    if let Some(length) = tell.length
        && !tell.headers.contains_key(CONTENT_LENGTH)
    {
        let mut digits = [0; 20];
        hpack::field_bytes(out, &CONTENT_LENGTH, decimal(length, &mut digits));
    }
    finish(out, begins, stream, ends);
}

/// Says that the body of a request is wanted.
pub fn write_continue(out: &mut Vec<u8>, stream: u32, forgets: bool) {
    let begins = begin(out);
    if forgets {
        hpack::forget_table(out);
    }
    hpack::status(out, StatusCode::CONTINUE);
    finish(out, begins, stream, false);
}

/// Writes the fields behind a body, which end it.
pub fn write_trailers(out: &mut Vec<u8>, stream: u32, trailers: &HeaderMap) {
    let begins = begin(out);
    for (name, value) in trailers {
        if !is_of_connection(name) {
            hpack::field(out, name, value);
        }
    }
    finish(out, begins, stream, true);
}

/// What HTTP/1 says about a connection is nothing to HTTP/2.
pub(crate) fn is_of_connection(name: &HeaderName) -> bool {
    // The two without a constant.
    const KEEP_ALIVE: &str = "keep-alive";
    const PROXY_CONNECTION: &str = "proxy-connection";
    *name == CONNECTION
        || *name == TRANSFER_ENCODING
        || *name == UPGRADE
        || *name == TE
        || *name == KEEP_ALIVE
        || *name == PROXY_CONNECTION
}

/// Whether the answer says that a field is about its connection.
fn is_named(headers: &HeaderMap, name: &HeaderName) -> bool {
    let said = headers.get_all(header::CONNECTION).iter();
    said.filter_map(|value: &HeaderValue| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|named| named.trim().eq_ignore_ascii_case(name.as_str()))
}

/// Leaves room for the head of a frame.
fn begin(out: &mut Vec<u8>) -> usize {
    let begins = out.len();
    out.extend_from_slice(&[0; Frame::HEAD]);
    begins
}

/// Says what was packed since; in several frames where it is too much for one.
fn finish(out: &mut Vec<u8>, begins: usize, stream: u32, ends: bool) {
    let flags = if ends { END_STREAM } else { 0 };
    let packed = out.len() - begins - Frame::HEAD;
    if packed <= PAYLOAD_MAX as usize {
        let flags = flags | END_HEADERS;
        return put(out, begins, HEADERS, flags, stream, packed);
    }
    let block = out.split_off(begins + Frame::HEAD);
    out.truncate(begins);
    let mut pieces = block.chunks(PAYLOAD_MAX as usize).peekable();
    let (mut kind, mut flags) = (HEADERS, flags);
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= END_HEADERS;
        }
        let at = begin(out);
        out.extend_from_slice(piece);
        put(out, at, kind, flags, stream, piece.len());
        (kind, flags) = (CONTINUATION, 0);
    }
}

fn put(out: &mut [u8], at: usize, kind: u8, flags: u8, stream: u32, length: usize) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out[at..at + Frame::HEAD].copy_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// A number as people write it.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests;
