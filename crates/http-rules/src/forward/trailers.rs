//! Which fields may come after a body: none that frames, routes, authenticates or decides (RFC 9110 6.5.1).

use super::hop_by_hop::is_hop_by_hop;
use super::origin::is_claim;
use super::remove_where;
use crate::alias::{Alias, alias};
use http::header::{self, HeaderMap, HeaderName};

/// Drops trailer fields that would change how a message already acted upon is understood.
pub fn strip_trailers(trailers: &mut HeaderMap) {
    remove_where(trailers, is_forbidden);
}

/// The same for the answer of a call of gRPC, whose trailers are its own and mean nothing to HTTP: only what frames
/// messages is dropped.
pub fn strip_call_trailers(trailers: &mut HeaderMap) {
    remove_where(trailers, |name| {
        is_hop_by_hop(name) || matches!(*name, header::CONTENT_LENGTH | header::HOST)
    });
}

fn is_forbidden(name: &HeaderName) -> bool {
    means_something(name) || alias(name).is_some_and(|alias| alias != Alias::Dot)
}

/// Whether a field of this name frames, routes, authenticates or decides.
pub(crate) fn means_something(name: &HeaderName) -> bool {
    const NAMES: &[&str] = &[
        "accept",
        "age",
        "authorization",
        "cache-control",
        "cdn-loop",
        "cookie",
        "date",
        "etag",
        "expect",
        "expires",
        "grpc-timeout",
        "host",
        "idempotency-key",
        "last-modified",
        "location",
        "max-forwards",
        "origin",
        "pragma",
        "range",
        "request-timeout",
        "retry-after",
        "set-cookie",
        "strict-transport-security",
        "traceparent",
        "tracestate",
        "trailer",
        "vary",
        "via",
        "warning",
        "www-authenticate",
        "x-request-deadline",
        "x-request-id",
        "x-tenant",
    ];
    const PREFIXES: &[&str] = &["access-control-", "content-", "if-", "sec-"];
    let text = name.as_str();
    is_hop_by_hop(name)
        || is_claim(name)
        || NAMES.contains(&text)
        || PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

#[cfg(test)]
mod tests;
