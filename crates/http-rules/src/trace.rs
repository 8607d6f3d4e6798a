//! W3C trace context: `traceparent`, read strictly, continued or begun.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that says which trace and span a request belongs to.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header of the vendors; worth passing on only beside a `traceparent` that was believed.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

const TEXT_BYTES: usize = 55;
const SAMPLED: u8 = 1;

/// A trace and the span that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Never zero.
    pub trace_id: u128,
    /// The calling span, never zero.
    pub span_id: u64,
    /// Whether the caller records.
    pub sampled: bool,
}

impl TraceContext {
    /// A new trace, from random numbers. Zero means "none" in this format, so it is avoided.
    pub fn begin(random: [u64; 2], span: u64, sampled: bool) -> Self {
        let trace_id = u128::from(random[0]) << 64 | u128::from(random[1]);
        TraceContext {
            trace_id: trace_id.max(1),
            span_id: span.max(1),
            sampled,
        }
    }

    /// The same trace, called from another span.
    pub fn child(self, span: u64) -> Self {
        TraceContext {
            span_id: span.max(1),
            ..self
        }
    }

    /// What the caller sent, if it is one whole and valid `traceparent`.
    pub fn given(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(TRACEPARENT).iter();
        let context = lines.next().and_then(|line| Self::parse(line.as_bytes()));
        context.filter(|_| lines.next().is_none())
    }

    /// Reads `00-<32 hex>-<16 hex>-<2 hex>`; a later version may add fields, which are not passed on.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (known, rest) = text.split_at_checked(TEXT_BYTES)?;
        let dashes = [2, 35, 52].iter().all(|at| known[*at] == b'-');
        let version = hex(&known[..2])?;
        let whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.first().is_none_or(|byte| *byte == b'-'),
        };
        let trace_id = hex(&known[3..35])?;
        let span_id = hex(&known[36..52])? as u64;
        let flags = hex(&known[53..])? as u8;
        (dashes && whole && trace_id != 0 && span_id != 0).then_some(TraceContext {
            trace_id,
            span_id,
            sampled: flags & SAMPLED != 0,
        })
    }

    /// The value of `traceparent`.
    pub fn value(self) -> HeaderValue {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        text[3..35].copy_from_slice(&digits_of(self.trace_id));
        write_hex(self.span_id, &mut text[36..52]);
        text[54] += u8::from(self.sampled);
        HeaderValue::from_bytes(&text).expect("digits and hyphens are visible ASCII")
    }
}

/// A trace as it is written.
pub fn digits_of(trace_id: u128) -> [u8; 32] {
    let mut text = [0; 32];
    write_hex((trace_id >> 64) as u64, &mut text[..16]);
    write_hex(trace_id as u64, &mut text[16..]);
    text
}

/// Sixteen digits.
fn write_hex(number: u64, to: &mut [u8]) {
    to[..8].copy_from_slice(&digits((number >> 32) as u32));
    to[8..].copy_from_slice(&digits(number as u32));
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

/// At most 32 digits; capitals are not allowed here.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests;
