//! Byte ranges (RFC 9110 14): which part of a representation is meant, never more than the whole.

mod multipart;

pub use multipart::Multipart;

use http::header::{self, HeaderMap, HeaderValue};

/// More specifiers than this are an attack, not a wish; the whole is sent instead.
pub const SPECS_MAX: usize = 200;
/// What a part of a multipart body costs beside its bytes, roughly; gaps smaller than that are not worth two parts.
const PART_OVERHEAD_BYTES: u64 = 80;

/// Bytes `first` to `last`, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub first: u64,
    /// The last byte, not before the first.
    pub last: u64,
}

impl Span {
    /// Number of bytes, at least one.
    pub fn length(self) -> u64 {
        self.last - self.first + 1
    }

    /// The value of `Content-Range` for a representation of `length` bytes.
    pub fn content_range(self, length: u64) -> HeaderValue {
        let Span { first, last } = self;
        crate::text::Text::<72>::of(format_args!("bytes {first}-{last}/{length}")).value()
    }
}

/// The value of `Content-Range` in a 416.
pub fn unsatisfied(length: u64) -> HeaderValue {
    crate::text::Text::<32>::of(format_args!("bytes */{length}")).value()
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// 200: no range, or none that is to be honoured.
    Whole,
    /// 206 with `Content-Range`.
    One(Span),
    /// 206 with parts: disjoint, in the order asked for, together smaller than the whole.
    Many(Vec<Span>),
    /// 416.
    Unsatisfiable,
}

/// Reads `Range` for a representation of `length` bytes. The caller has seen to it that the method is GET and that
/// `If-Range` holds (see [`conditional`](crate::conditional)).
///
/// Another unit, two lines, a wrong syntax, an end before its start and too many specifiers make the header void: the
/// whole is sent. No specifier at all, `-0` and starts past the end select nothing: 416.
pub fn select(headers: &HeaderMap, length: u64) -> Selection {
    let mut lines = headers.get_all(header::RANGE).iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => parse(line.as_bytes(), length),
        _ => Selection::Whole,
    }
}

/// Reads the value of one `Range` line.
pub fn parse(value: &[u8], length: u64) -> Selection {
    let Some(set) = set_of_bytes(value) else {
        return Selection::Whole;
    };
    let specs = set
        .split(|byte| *byte == b',')
        .map(trim)
        .filter(|spec| !spec.is_empty());
    if specs.clone().nth(SPECS_MAX).is_some() {
        return Selection::Whole;
    }
    let mut spans = Vec::new();
    for spec in specs {
        match Spec::parse(spec) {
            None => return Selection::Whole,
            Some(Spec::Suffix(1..)) if length == 0 => return Selection::Whole,
            Some(spec) => spans.extend(spec.within(length)),
        }
    }
    coalesce(&mut spans);
    chosen(spans, length)
}

fn chosen(spans: Vec<Span>, length: u64) -> Selection {
    match spans[..] {
        [] => Selection::Unsatisfiable,
        [one] => Selection::One(one),
        _ => {
            let bytes: u64 = spans.iter().map(|span| span.length()).sum();
            let overhead = spans.len() as u64 * PART_OVERHEAD_BYTES;
            match bytes.saturating_add(overhead) < length {
                true => Selection::Many(spans),
                false => Selection::Whole,
            }
        }
    }
}

fn set_of_bytes(value: &[u8]) -> Option<&[u8]> {
    let (unit, set) = value.split_at_checked(6)?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(set)
}

fn trim(part: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = part
        .iter()
        .position(|byte| !blank(byte))
        .unwrap_or(part.len());
    let end = part
        .iter()
        .rposition(|byte| !blank(byte))
        .map_or(start, |last| last + 1);
    &part[start..end]
}

/// One specifier as written. Numbers too large for the machine are its largest.
#[derive(Clone, Copy)]
enum Spec {
    From(u64),
    FromTo(u64, u64),
    Suffix(u64),
}

impl Spec {
    fn parse(spec: &[u8]) -> Option<Spec> {
        let dash = spec.iter().position(|byte| *byte == b'-')?;
        let (first, last) = (&spec[..dash], &spec[dash + 1..]);
        match (first.is_empty(), last.is_empty()) {
            (true, _) => number(last).map(Spec::Suffix),
            (false, true) => number(first).map(Spec::From),
            (false, false) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Spec::FromTo(first, last))
            }
        }
    }

    fn within(self, length: u64) -> Option<Span> {
        let end = length.checked_sub(1)?;
        let (first, last) = match self {
            Spec::From(first) => (first, end),
            Spec::FromTo(first, last) => (first, last.min(end)),
            // The last zero bytes begin past the end.
            Spec::Suffix(count) => (length.saturating_sub(count), end),
        };
        (first <= end).then_some(Span { first, last })
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| {
        digits.iter().fold(0_u64, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
    })
}

/// Joins spans that overlap or nearly touch. What is left stands in the order in which it was first asked for.
fn coalesce(spans: &mut Vec<Span>) {
    if spans.len() < 2 {
        return;
    }
    let mut asked: Vec<(usize, Span)> = spans.drain(..).enumerate().collect();
    asked.sort_unstable_by_key(|(_, span)| span.first);
    asked.dedup_by(|(later_at, later), (at, span)| {
        let touches = later.first <= span.last.saturating_add(PART_OVERHEAD_BYTES);
        if touches {
            span.last = span.last.max(later.last);
            *at = (*at).min(*later_at);
        }
        touches
    });
    asked.sort_unstable_by_key(|(at, _)| *at);
    spans.extend(asked.into_iter().map(|(_, span)| span));
}

#[cfg(test)]
mod tests;
