//! Parts of a representation: what a 206 carries, and when two parts are one (RFC 9111 3.3, 3.4; RFC 9110 14.4).

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

/// The part that is kept of a representation whose length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which bytes.
    pub span: Span,
    /// Of how many.
    pub complete: u64,
}

impl Held {
    /// Whether it is the whole.
    pub fn is_whole(self) -> bool {
        self.span.length() == self.complete
    }

    /// Whether these bytes are among those that are kept.
    pub fn covers(self, span: Span) -> bool {
        self.span.first <= span.first && span.last <= self.span.last
    }

    /// Both as one, where they overlap or touch and are parts of something of the same length.
    #[must_use]
    pub fn joined(self, other: Held) -> Option<Held> {
        let (one, two) = (self.span, other.span);
        let apart =
            one.last.saturating_add(1) < two.first || two.last.saturating_add(1) < one.first;
        (self.complete == other.complete && !apart).then(|| Held {
            span: Span {
                first: one.first.min(two.first),
                last: one.last.max(two.last),
            },
            complete: self.complete,
        })
    }

    /// The bytes to ask for so that one more part makes it the whole; nothing where two would be needed.
    pub fn missing(self) -> Option<Span> {
        match (self.span.first, self.complete - self.span.last - 1) {
            (0, 0) => None,
            (0, _) => Some(Span {
                first: self.span.last + 1,
                last: self.complete - 1,
            }),
            (first, 0) => Some(Span {
                first: 0,
                last: first - 1,
            }),
            _ => None,
        }
    }
}

/// Digits only, and no more than fit.
fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}
