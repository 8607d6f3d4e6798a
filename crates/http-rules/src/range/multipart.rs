//! The frame of a `multipart/byteranges` body (RFC 9110 14.6).

use super::Span;
use bytes::Bytes;
use http::HeaderValue;

/// What stands around the parts. The boundary is made of random bits: it must not occur in the parts.
#[derive(Clone, Debug)]
pub struct Multipart {
    boundary: String,
    content_type: String,
    length: u64,
}

impl Multipart {
    /// For a representation of this type and length.
    pub fn new(random: u64, content_type: &str, length: u64) -> Multipart {
        Multipart {
            boundary: format!("{random:016x}"),
            content_type: content_type.to_owned(),
            length,
        }
    }

    /// The value of `Content-Type`.
    pub fn content_type(&self) -> HeaderValue {
        let text = format!("multipart/byteranges; boundary={}", self.boundary);
        HeaderValue::from_maybe_shared(Bytes::from(text))
            .expect("a boundary is made of hexadecimal digits")
    }

    /// What comes before the bytes of a part.
    pub fn before(&self, span: Span) -> Bytes {
        let Span { first, last } = span;
        let (boundary, kind, length) = (&self.boundary, &self.content_type, self.length);
        Bytes::from(format!(
            "\r\n--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: bytes {first}-{last}/{length}\r\n\r\n"
        ))
    }

    /// What comes after the last part.
    pub fn end(&self) -> Bytes {
        Bytes::from(format!("\r\n--{}--\r\n", self.boundary))
    }

    /// The value of `Content-Length` for these parts.
    pub fn content_length(&self, spans: &[Span]) -> u64 {
        let part = |span: &Span| self.before(*span).len() as u64 + span.length();
        spans.iter().map(part).sum::<u64>() + self.end().len() as u64
    }
}

#[cfg(test)]
mod tests;
