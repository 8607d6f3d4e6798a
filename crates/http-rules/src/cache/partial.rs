//! Parts of a representation: what a 206 carries (RFC 9110 14.4).

use crate::range::Span;

/// A `Content-Range` of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Which bytes.
    pub span: Span,
    /// Of how many, where that is known.
    pub complete: Option<u64>,
}

impl ContentRange {
    /// Reads `bytes 0-4/10` or `bytes 0-4/*`; nothing where the numbers contradict each other.
    pub fn parse(value: &[u8]) -> Option<ContentRange> {
        let text = std::str::from_utf8(value).ok()?;
        let (unit, rest) = text.split_once(' ')?;
        let (span, complete) = rest.split_once('/')?;
        let (first, last) = span.split_once('-')?;
        let complete = match complete {
            "*" => None,
            digits => Some(number(digits)?),
        };
        let span = Span {
            first: number(first)?,
            last: number(last)?,
        };
        let sound = span.first <= span.last && complete.is_none_or(|complete| span.last < complete);
        (unit.eq_ignore_ascii_case("bytes") && sound).then_some(ContentRange { span, complete })
    }
}

/// Digits only, and no more than fit.
fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}
