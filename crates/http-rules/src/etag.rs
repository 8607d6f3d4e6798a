//! Entity tags (RFC 9110 8.8.3): read strictly, compared strongly or weakly, made from a hash.

use http::HeaderValue;

/// A tag as it stands in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ETag<'a> {
    /// Marked `W/`: the same to a reader, perhaps not byte for byte.
    pub weak: bool,
    /// What stands between the quotes.
    pub opaque: &'a [u8],
}

impl<'a> ETag<'a> {
    /// Reads one whole tag.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let (tag, rest) = Self::parse_first(text)?;
        rest.is_empty().then_some(tag)
    }

    /// Byte for byte the same: neither is weak.
    pub fn strongly_is(&self, other: &ETag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// The same to a reader.
    pub fn weakly_is(&self, other: &ETag<'_>) -> bool {
        self.opaque == other.opaque
    }

    fn parse_first(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (weak, rest) = match text.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let rest = rest.strip_prefix(b"\"")?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        let opaque = &rest[..end];
        let plain = opaque
            .iter()
            .all(|byte| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..));
        plain.then_some((ETag { weak, opaque }, &rest[end + 1..]))
    }
}

/// A strong tag for the representation with this hash. Each coding of it is a representation of its own: name it in
/// `variant`, a token.
pub fn strong(hash: &[u8], variant: Option<&str>) -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(hash.len() * 2 + 12);
    text.push(b'"');
    for byte in hash {
        text.extend([
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]);
    }
    let variant = variant.filter(|variant| crate::text::is_token(variant.as_bytes()));
    if let Some(variant) = variant {
        text.push(b'-');
        text.extend_from_slice(variant.as_bytes());
    }
    text.push(b'"');
    HeaderValue::from_maybe_shared(bytes::Bytes::from(text))
        .expect("digits and a token between quotes")
}

/// Reads the tags of one list line: `None` where something in it is no tag. A tag may hold a comma, so the line is not
/// split at them.
pub(crate) fn list(line: &[u8]) -> impl Iterator<Item = Option<ETag<'_>>> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = skip_separators(rest?);
        if text.is_empty() {
            return None;
        }
        let Some((tag, after)) = ETag::parse_first(text) else {
            rest = None;
            return Some(None);
        };
        let after = after.trim_ascii_start();
        let ended = after.is_empty() || after[0] == b',';
        rest = ended.then_some(after);
        Some(ended.then_some(tag))
    })
}

fn skip_separators(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|byte| !matches!(byte, b',' | b' ' | b'\t'));
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests;
