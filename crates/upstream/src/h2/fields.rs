//! What the codec leaves to be checked of the fields of an answer, and of what follows its body.

use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};

/// What is wrong with them, if anything is (RFC 9113, 8.2.1; RFC 9110, 8.6). Blanks around a value are not: they may
/// not be there, but servers of gRPC write them behind messages, and every reader of HTTP/1 takes them off.
pub(super) fn fault(fields: &mut HeaderMap) -> Option<&'static str> {
    let mut lengths = 0;
    for (name, value) in fields {
        lengths += usize::from(*name == CONTENT_LENGTH);
        if lengths > 1 {
            return Some("more than one content-length");
        }
        if !is_token(name) {
            return Some("a field name");
        }
        if has_blanks_around(value) {
            *value = HeaderValue::from_bytes(value.as_bytes().trim_ascii()).ok()?;
        }
    }
    None
}

/// Of what is no token the codec lets nothing through but quotes.
fn is_token(name: &HeaderName) -> bool {
    !name.as_str().as_bytes().contains(&b'"')
}

fn has_blanks_around(value: &HeaderValue) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let value = value.as_bytes();
    blank(value.first()) || blank(value.last())
}
