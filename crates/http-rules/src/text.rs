//! Short texts written on the stack, so that a header value costs one allocation and none in between.

use http::HeaderValue;
use std::fmt::{self, Write};

/// At most `N` bytes of ASCII.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    pub(crate) fn new() -> Self {
        Text {
            bytes: [0; N],
            length: 0,
        }
    }

    /// The text of `args`. `N` is chosen for the longest that can come, so that nothing is cut.
    pub(crate) fn of(args: fmt::Arguments<'_>) -> Self {
        let mut text = Text::new();
        text.write_fmt(args)
            .expect("N covers the longest text that can be written");
        text
    }

    /// Adds ASCII, as far as `N` reaches.
    pub(crate) fn push(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        self.bytes[self.length..end].copy_from_slice(part);
        self.length = end;
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(crate) fn value(&self) -> HeaderValue {
        HeaderValue::from_bytes(self.as_bytes()).expect("written from visible ASCII")
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.length + part.len();
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The digits of a number. The formatting of the standard library costs several times as much, and some headers are
/// written for every answer.
pub(crate) struct Decimal {
    digits: [u8; 20],
    from: usize,
}

impl Decimal {
    pub(crate) fn of(mut number: u64) -> Self {
        let (mut digits, mut from) = ([b'0'; 20], 20);
        loop {
            from -= 1;
            digits[from] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Self { digits, from };
            }
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.from..]
    }
}

/// The trimmed parts of a comma-separated value that are not empty.
pub(crate) fn list(value: &HeaderValue) -> impl DoubleEndedIterator<Item = &[u8]> {
    let parts = value.as_bytes().split(|byte| *byte == b',');
    parts
        .map(<[u8]>::trim_ascii)
        .filter(|part| !part.is_empty())
}

/// The trimmed parts between separators that stand outside quotes, or nothing when a quote is left open.
pub(crate) fn unquoted_split(text: &[u8], separator: u8) -> Option<Vec<&[u8]>> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            _ if *byte == separator && !quoted => {
                parts.push(text[start..at].trim_ascii());
                start = at + 1;
            }
            _ => (),
        }
    }
    parts.push(text[start..].trim_ascii());
    (!quoted).then_some(parts)
}

/// Characters of a token (RFC 9110 5.6.2).
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    let tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(tchar)
}
