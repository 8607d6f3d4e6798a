//! What the next server is told about where a request came from: `X-Forwarded-*` and `Forwarded`.

use super::remove_where;
use crate::text::{Text, unquoted_split};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::borrow::Cow;
use std::net::IpAddr;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Whether what the previous hop says about the client is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A listed proxy: its trail is continued.
    Trusted,
    /// Anybody: every claim it made is replaced by what we know.
    Untrusted,
}

/// Which headers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// `X-Forwarded-For`, `-Proto` and `-Host`.
    pub x_forwarded: bool,
    /// `Forwarded` (RFC 7239).
    pub forwarded: bool,
}

/// What is known of a connection for as long as it lasts; its values are made once and shared by all its requests.
#[derive(Clone, Debug)]
pub struct Forwarding {
    peer: HeaderValue,
    /// `for=...;proto=...`, to which the host is added.
    forwarded: HeaderValue,
    proto: &'static str,
}

impl Forwarding {
    /// For a connection from `peer`, over TLS or not.
    pub fn new(peer: IpAddr, tls: bool) -> Self {
        let peer = peer.to_canonical();
        let proto = if tls { "https" } else { "http" };
        let node = match peer {
            IpAddr::V4(address) => Text::<80>::of(format_args!("for={address};proto={proto}")),
            IpAddr::V6(address) => Text::of(format_args!("for=\"[{address}]\";proto={proto}")),
        };
        Forwarding {
            peer: Text::<48>::of(format_args!("{peer}")).value(),
            forwarded: node.value(),
            proto,
        }
    }

    /// Writes the headers of a request for `authority` (the text of a checked one).
    pub fn apply(&self, headers: &mut HeaderMap, authority: &str, hop: Hop, fields: Fields) {
        if hop == Hop::Untrusted {
            remove_where(headers, is_claim);
        }
        if fields.x_forwarded {
            let host = host_value(headers, authority);
            extend(headers, FOR, &self.peer);
            keep_one_or(headers, PROTO, || {
                Some(HeaderValue::from_static(self.proto))
            });
            keep_one_or(headers, HOST, || host);
        }
        if fields.forwarded {
            let element = self.element(authority);
            extend(headers, header::FORWARDED, &element);
        }
    }

    /// The headers of a request that makes no claim of its own: what [`Forwarding::apply`] would write, without a map
    /// to write it into. `host` is the text of a checked authority.
    pub fn plain(&self, host: HeaderValue) -> [(HeaderName, Cow<'_, HeaderValue>); 3] {
        [
            (FOR, Cow::Borrowed(&self.peer)),
            (PROTO, Cow::Owned(HeaderValue::from_static(self.proto))),
            (HOST, Cow::Owned(host)),
        ]
    }

    fn element(&self, authority: &str) -> HeaderValue {
        let mut element = self.forwarded.as_bytes().to_vec();
        if !authority.is_empty() {
            element.extend_from_slice(b";host=\"");
            element.extend_from_slice(authority.as_bytes());
            element.push(b'"');
        }
        // A checked authority cannot fail here; another text is left out rather than trusted.
        HeaderValue::from_maybe_shared(bytes::Bytes::from(element))
            .unwrap_or_else(|_| self.forwarded.clone())
    }
}

/// Headers beside `X-Forwarded-*` by which others are told who asks, for which host or for which path; in order.
const CLAIMS: &[&str] = &[
    "cf-connecting-ip",
    "client-ip",
    "fastly-client-ip",
    "forwarded",
    "front-end-https",
    "proxy",
    "proxy-client-ip",
    "true-client-ip",
    "wl-proxy-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-host",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-uri",
    "x-original-url",
    "x-originating-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-rewrite-url",
    "x-url-scheme",
];

/// Whether a header of this name says who asks, for which host or for which path.
pub fn is_claim(name: &HeaderName) -> bool {
    let name = name.as_str();
    // Most names are out by a letter or two.
    let may_be = match name.as_bytes() {
        [b'x', b'-', third, ..] => b"cefhoru".contains(third),
        [first, ..] => b"cfptw".contains(first),
        [] => false,
    };
    may_be && (name.starts_with("x-forwarded") || CLAIMS.binary_search(&name).is_ok())
}

/// Shares the value of `Host` where it says the same.
fn host_value(headers: &HeaderMap, authority: &str) -> Option<HeaderValue> {
    match headers.get(header::HOST) {
        Some(host) if host == authority => Some(host.clone()),
        _ if authority.is_empty() => None,
        _ => HeaderValue::from_str(authority).ok(),
    }
}

/// Adds `last` at the end of a list, which becomes one line: many servers read only the first.
fn extend(headers: &mut HeaderMap, name: HeaderName, last: &HeaderValue) {
    let value = joined(headers, &name, last).unwrap_or_else(|| last.clone());
    headers.insert(name, value);
}

fn joined(headers: &HeaderMap, name: &HeaderName, last: &HeaderValue) -> Option<HeaderValue> {
    let mut text = Vec::new();
    for line in headers.get_all(name) {
        // An open quote would swallow what is added.
        unquoted_split(line.as_bytes(), b',')?;
        text.extend_from_slice(line.as_bytes());
        text.extend_from_slice(b", ");
    }
    if text.is_empty() {
        return None;
    }
    text.extend_from_slice(last.as_bytes());
    HeaderValue::from_maybe_shared(bytes::Bytes::from(text)).ok()
}

/// Keeps what a trusted hop said if it said it once and plainly, else writes what we know.
fn keep_one_or(
    headers: &mut HeaderMap,
    name: HeaderName,
    ours: impl FnOnce() -> Option<HeaderValue>,
) {
    let mut lines = headers.get_all(&name).iter();
    let plain = |value: &HeaderValue| !value.is_empty() && !value.as_bytes().contains(&b',');
    if lines.next().is_some_and(plain) && lines.next().is_none() {
        return;
    }
    match ours() {
        Some(value) => headers.insert(name, value),
        None => headers.remove(name),
    };
}

#[cfg(test)]
mod tests;
