//! Headers that end at this hop (RFC 9110 7.6.1).

use super::remove_where;
use crate::text::list;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Removes what is about this connection only, and what `Connection` names as such. `TE: trailers` is kept: it tells an
/// upstream that trailers reach the client. A transfer coding ends here, and the length it overrides goes with it.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        remove_named(headers);
    }
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    let trailers = headers.get_all(header::TE).iter().any(names_trailers);
    remove_where(headers, is_hop_by_hop);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Whether a header of this name never leaves the connection it came on.
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    match *name {
        header::CONNECTION
        | header::TE
        // Met here, by whoever reads the body; the next server has nothing to promise.
        | header::EXPECT
        | header::TRANSFER_ENCODING
        | header::UPGRADE
        | header::PROXY_AUTHENTICATE
        | header::PROXY_AUTHORIZATION => true,
        _ => matches!(
            name.as_str(),
            "keep-alive" | "proxy-connection" | "proxy-authentication-info" | "http2-settings"
        ),
    }
}

fn names_trailers(value: &HeaderValue) -> bool {
    list(value).any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
}

fn remove_named(headers: &mut HeaderMap) {
    // Cloned because the removals need the map; a value is shared, not copied.
    let lines: Vec<HeaderValue> = match headers.get_all(header::CONNECTION).iter().count() {
        1 if headers.get(header::CONNECTION).is_some_and(is_usual) => return,
        _ => headers
            .get_all(header::CONNECTION)
            .iter()
            .cloned()
            .collect(),
    };
    for option in lines.iter().flat_map(list) {
        if let Ok(name) = HeaderName::from_bytes(option)
            && !is_essential(&name)
        {
            headers.remove(name);
        }
    }
}

/// What nearly every client sends: it names nothing that is not removed anyway.
fn is_usual(value: &HeaderValue) -> bool {
    let usual: [&[u8]; 3] = [b"keep-alive", b"close", b"upgrade"];
    let value = value.as_bytes();
    usual
        .iter()
        .any(|option| value.eq_ignore_ascii_case(option))
}

/// Headers that a client cannot make us drop by calling them hop-by-hop: losing one would change who asks, for what, or
/// under which condition, behind the back of whoever decided by it.
fn is_essential(name: &HeaderName) -> bool {
    const NAMES: &[&str] = &[
        "authorization",
        "cache-control",
        "cdn-loop",
        "cookie",
        "date",
        "expect",
        "forwarded",
        "grpc-timeout",
        "host",
        "idempotency-key",
        "max-forwards",
        "origin",
        "pragma",
        "range",
        "request-timeout",
        "set-cookie",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "vary",
        "via",
        "www-authenticate",
        "x-real-ip",
        "x-request-deadline",
        "x-request-id",
        "x-tenant",
    ];
    const PREFIXES: &[&str] = &["access-control-", "content-", "if-", "sec-", "x-forwarded-"];
    let name = name.as_str();
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests;
