//! Packs fields of an answer, without a table of what was said before.

use http::StatusCode;
use http::header::{HeaderName, HeaderValue};

use super::statics;

/// A literal nobody is asked to remember, and one that nobody may.
const FORGET: u8 = 0x00;
const HIDE: u8 = 0x10;

/// Packs the status, which comes before all other fields.
pub fn status(out: &mut Vec<u8>, status: StatusCode) {
    let index = match status.as_u16() {
        200 => 8,
        204 => 9,
        206 => 10,
        304 => 11,
        400 => 12,
        404 => 13,
        500 => 14,
        _ => {
            out.push(FORGET | statics::STATUS);
            return string(out, status.as_str().as_bytes());
        }
    };
    out.push(0x80 | index);
}

/// Packs a field. A sensitive value is one that nobody on the way may remember.
pub fn field(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    let kind = if value.is_sensitive() { HIDE } else { FORGET };
    literal(out, kind, name, value.as_bytes());
}

/// Packs a field whose value the caller knows to be one.
pub fn field_bytes(out: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    literal(out, FORGET, name, value);
}

/// Says that nothing will refer to the peer's table, which need not keep one; at the beginning of a block.
pub fn forget_table(out: &mut Vec<u8>) {
    out.push(0x20);
}

fn literal(out: &mut Vec<u8>, kind: u8, name: &HeaderName, value: &[u8]) {
    match statics::index(name) {
        Some(index) => integer(out, kind, 4, index.into()),
        None => {
            out.push(kind);
            string(out, name.as_str().as_bytes());
        }
    }
    string(out, value);
}

fn string(out: &mut Vec<u8>, text: &[u8]) {
    integer(out, 0, 7, text.len());
    out.extend_from_slice(text);
}

/// An integer that begins in the last `bits` of an octet that begins with `kind` (§5.1).
#[inline]
fn integer(out: &mut Vec<u8>, kind: u8, bits: u32, value: usize) {
    let full = (1u8 << bits) - 1;
    match u8::try_from(value) {
        Ok(value) if value < full => out.push(kind | value),
        _ => {
            out.push(kind | full);
            let mut left = value - usize::from(full);
            while left >= 0x80 {
                out.push(left as u8 | 0x80);
                left >>= 7;
            }
            out.push(left as u8);
        }
    }
}

#[cfg(test)]
mod tests;
