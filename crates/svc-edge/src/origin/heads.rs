//! Which headers go to an origin, and which come back from it.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_rules::{date, forward};

/// Which headers of clients an origin is sent.
#[derive(Clone, Debug)]
pub(crate) enum Forward {
    /// All that are not about the connection, the conditions or the part that is wanted.
    All,
    /// These.
    Named(Vec<HeaderName>),
}

impl Forward {
    /// What the origin gets of a client's headers when something is fetched that may be kept for all.
    pub(crate) fn of(&self, client: &HeaderMap) -> HeaderMap {
        match self {
            Forward::Named(names) => {
                let mut sent = HeaderMap::with_capacity(names.len() + 4);
                for name in names {
                    for value in client.get_all(name) {
                        sent.append(name, value.clone());
                    }
                }
                sent
            }
            Forward::All => {
                let mut sent = client.clone();
                forward::strip_hop_by_hop(&mut sent);
                let gone: Vec<HeaderName> =
                    sent.keys().filter(|name| is_ours(name)).cloned().collect();
                for name in gone {
                    sent.remove(name);
                }
                sent
            }
        }
    }
}

/// Headers that are answered here, or that would let a client say who it is.
fn is_ours(name: &HeaderName) -> bool {
    match *name {
        header::HOST
        | header::RANGE
        | header::IF_RANGE
        | header::IF_MATCH
        | header::IF_NONE_MATCH
        | header::IF_MODIFIED_SINCE
        | header::IF_UNMODIFIED_SINCE
        | header::CONTENT_LENGTH
        | header::FORWARDED => true,
        _ => name.as_str().starts_with("x-forwarded") || name.as_str() == "x-real-ip",
    }
}

/// What is kept and given out of an origin's headers.
pub(crate) fn received(mut headers: HeaderMap, came_at_ms: u64) -> HeaderMap {
    forward::strip_hop_by_hop(&mut headers);
    headers.remove(header::TE);
    headers.remove(header::TRAILER);
    if !headers.contains_key(header::DATE) {
        headers.insert(header::DATE, date::value(came_at_ms / 1000));
    }
    headers
}

/// How long the body is to be, where that is said; an error where it is said in two ways.
pub(crate) fn announced(headers: &HeaderMap) -> Result<Option<u64>, ()> {
    let mut lines = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(first) = lines.next() else {
        return Ok(None);
    };
    if lines.any(|other| other != first) {
        return Err(());
    }
    let digits = first.to_str().ok().and_then(|text| text.parse().ok());
    digits.map(Some).ok_or(())
}

/// The header by which those on the way know their own.
pub(crate) const CDN_LOOP: HeaderName = HeaderName::from_static("cdn-loop");

/// The name of the header that says what the cache did.
pub(crate) const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// What the cache calls itself there.
pub(crate) const CACHE_NAME: &str = "macronode";

/// Adds what this cache did to what others on the way did.
pub(crate) fn say(headers: &mut HeaderMap, value: HeaderValue) {
    headers.append(CACHE_STATUS, value);
}
