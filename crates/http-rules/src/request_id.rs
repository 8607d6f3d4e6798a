//! The name by which a request is found again in logs: passed on when harmless, made otherwise.

use crate::text::Text;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The header it travels in.
pub const NAME: HeaderName = HeaderName::from_static("x-request-id");

/// Longest name that is passed on.
pub const BYTES_MAX: usize = 128;

/// What the caller calls the request, if that is one short text of visible ASCII.
pub fn given(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut lines = headers.get_all(NAME).iter();
    let id = lines.next().filter(|id| is_harmless(id.as_bytes()));
    id.filter(|_| lines.next().is_none())
}

/// A new name from 128 random bits: 32 hexadecimal digits.
pub fn make(random: [u64; 2]) -> HeaderValue {
    Text::<32>::of(format_args!("{:016x}{:016x}", random[0], random[1])).value()
}

fn is_harmless(id: &[u8]) -> bool {
    (1..=BYTES_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests;
