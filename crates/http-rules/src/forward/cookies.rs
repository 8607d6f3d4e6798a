//! Cookies that came in pieces, as one line (RFC 9113 8.2.3).

use http::header::{COOKIE, HeaderMap, HeaderValue};

/// Joins the lines of `Cookie` into one. HTTP/2 clients send a line for each cookie, which compresses better; whoever
/// reads HTTP/1 expects a single one, and some read no more than that.
pub fn join_cookies(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(COOKIE).iter();
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else {
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for line in std::iter::once(second).chain(lines) {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(line.as_bytes());
    }
    // Values and what joins them are free of control characters, so this cannot fail; the lines would stay as they are.
    if let Ok(joined) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(COOKIE, joined);
    }
}

#[cfg(test)]
mod tests;
