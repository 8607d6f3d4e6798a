//! What a request is called: the caller's names for it, or new ones, which share an allocation with many others.

use std::cell::RefCell;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use http_rules::request_id;
use http_rules::trace::TraceContext;

use crate::heads::Heads;

/// What a request is called.
pub(crate) struct Names {
    pub(crate) id: HeaderValue,
    /// A new trace, unless the caller has one.
    pub(crate) trace: Option<HeaderValue>,
    /// The trace it belongs to, the caller's or the new one.
    pub(crate) trace_id: u128,
}

/// `00-`, the trace, `-`, the span, `-00`: a trace that nobody has asked to be recorded.
const TRACE_BYTES: usize = 55;
const TRACE_AT: usize = 3;
const SPAN_AT: usize = 36;

/// Names are written one after the other into pieces of memory of this size. The last of its names frees a piece.
const INK_BYTES: usize = 32 * TRACE_BYTES;

thread_local! {
    static INK: RefCell<BytesMut> = RefCell::new(BytesMut::with_capacity(INK_BYTES));
}

/// The names of a request with this head.
pub(crate) fn name(headers: &HeaderMap, heads: Heads) -> Names {
    let given = heads
        .has(Heads::REQUEST_ID)
        .then(|| request_id::given(headers));
    let id = given.flatten().cloned();
    let traced = heads
        .has(Heads::TRACE)
        .then(|| TraceContext::given(headers));
    match (id, traced.flatten()) {
        (Some(id), Some(given)) => Names {
            id,
            trace: None,
            trace_id: given.trace_id,
        },
        (id, given) => {
            let random = [fastrand::u64(..), fastrand::u64(..), fastrand::u64(..)];
            let (fresh, trace) = begin(random);
            Names {
                id: id.unwrap_or(fresh),
                trace: given.is_none().then_some(trace),
                trace_id: given.map_or_else(|| id_of(random), |given| given.trace_id),
            }
        }
    }
}

/// The trace that begins with these numbers. Zero means "none" in this format.
fn id_of([high, low, _]: [u64; 3]) -> u128 {
    u128::from(high) << 64 | u128::from(low | 1)
}

/// A trace as it is written.
pub(crate) fn digits_of(trace_id: u128) -> [u8; 32] {
    let mut text = [0; 32];
    hex((trace_id >> 64) as u64, &mut text);
    hex(trace_id as u64, &mut text[16..]);
    text
}

/// A new trace, and its first part as the request's name: whoever has one finds the other.
fn begin([high, low, span]: [u64; 3]) -> (HeaderValue, HeaderValue) {
    let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
    hex(high, &mut text[TRACE_AT..]);
    // Zero means "none" in this format.
    hex(low | 1, &mut text[TRACE_AT + 16..]);
    hex(span | 1, &mut text[SPAN_AT..]);
    let text = INK.with_borrow_mut(|ink| {
        if ink.capacity() < TRACE_BYTES {
            *ink = BytesMut::with_capacity(INK_BYTES);
        }
        ink.extend_from_slice(&text);
        ink.split().freeze()
    });
    let value = |bytes: Bytes| {
        let mut value =
            HeaderValue::from_maybe_shared(bytes).expect("hexadecimal digits are visible ASCII");
        // Said once and never again: HTTP/2 would remember it, look through all it remembers each time, and forget
        // what is worth remembering.
        value.set_sensitive(true);
        value
    };
    (value(text.slice(TRACE_AT..TRACE_AT + 32)), value(text))
}

fn hex(number: u64, to: &mut [u8]) {
    to[..8].copy_from_slice(&digits((number >> 32) as u32));
    to[8..16].copy_from_slice(&digits(number as u32));
}

/// Eight digits at once: each byte of a word holds four bits, and becomes the digit for them.
fn digits(number: u32) -> [u8; 8] {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut word = u64::from(number);
    word = (word << 16 | word) & 0x0000_ffff_0000_ffff;
    word = (word << 8 | word) & 0x00ff_00ff_00ff_00ff;
    word = (word << 4 | word) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = ((word + 6 * ONES) >> 4) & ONES;
    let digit = word + u64::from(b'0') * ONES;
    // A letter lies so much further than the digit after nine would.
    (digit + letters * u64::from(b'a' - b'9' - 1)).to_be_bytes()
}

const _: () = assert!(SPAN_AT + 16 + 3 == TRACE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-14
    #[test]
    fn a_new_trace_is_one_that_others_can_read_and_names_the_request() {
        let (id, trace) = begin([0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 7]);
        assert_eq!(id, "0123456789abcdeffedcba9876543211");
        assert_eq!(
            trace,
            "00-0123456789abcdeffedcba9876543211-0000000000000007-00"
        );
        assert!(TraceContext::parse(trace.as_bytes()).is_some());
        let (_, none) = begin([0, 0, 0]);
        assert!(
            TraceContext::parse(none.as_bytes()).is_some(),
            "never the zero that means none"
        );
    }

    // req: GW-14
    #[test]
    fn a_number_is_written_in_lower_case_digits_of_four_bits_each() {
        for number in [0, 1, 0x0123_4567_89ab_cdef, 0x99aa_00ff_90a9_0f0a, u64::MAX] {
            let mut text = [0; 16];
            hex(number, &mut text);
            assert_eq!(str::from_utf8(&text).unwrap(), format!("{number:016x}"));
        }
    }

    // req: GW-14
    #[test]
    fn what_the_caller_calls_it_is_kept() {
        let mut headers = HeaderMap::new();
        headers.insert("x-request-id", HeaderValue::from_static("mine"));
        let names = name(&headers, Heads::REQUEST_ID);
        assert_eq!(names.id, "mine");
        let (made, trace) = (digits_of(names.trace_id), names.trace.unwrap());
        assert_eq!(made, trace.as_bytes()[TRACE_AT..TRACE_AT + 32]);
        let traceparent = "00-0123456789abcdeffedcba9876543211-0000000000000007-01";
        headers.insert("traceparent", HeaderValue::from_static(traceparent));
        headers.insert("x-request-id", HeaderValue::from_static("no good\tname"));
        let heads = Heads::REQUEST_ID.and(Heads::TRACE);
        let names = name(&headers, heads);
        assert_ne!(names.id, "no good\tname");
        assert!(names.trace.is_none());
        assert_eq!(
            digits_of(names.trace_id),
            *b"0123456789abcdeffedcba9876543211"
        );
    }
}
