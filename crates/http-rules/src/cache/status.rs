//! What a cache says it did (RFC 9211).

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use std::fmt::Write;

/// Why a request went on to the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarded {
    /// It is not for a cache.
    Bypass,
    /// Its method says so.
    Method,
    /// Nothing is kept for what it asks.
    UriMiss,
    /// What is kept is for other requests.
    VaryMiss,
    /// What is kept is past its time.
    Stale,
    /// Only a part is kept.
    Partial,
    /// The client wants it so.
    Request,
}

impl Forwarded {
    /// The word in the header.
    pub fn word(self) -> &'static str {
        match self {
            Forwarded::Bypass => "bypass",
            Forwarded::Method => "method",
            Forwarded::UriMiss => "uri-miss",
            Forwarded::VaryMiss => "vary-miss",
            Forwarded::Stale => "stale",
            Forwarded::Partial => "partial",
            Forwarded::Request => "request",
        }
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Why it went on; it was a hit if it did not.
    pub forwarded: Option<Forwarded>,
    /// What the origin said.
    pub origin_status: Option<StatusCode>,
    /// Seconds for which the answer stays fresh.
    pub ttl_s: Option<i64>,
    /// The answer was kept.
    pub stored: bool,
    /// The answer was fetched for several at once.
    pub collapsed: bool,
    /// A word about what else there is to know: a token.
    pub detail: Option<&'static str>,
}

impl Outcome {
    /// The value of `Cache-Status` for a cache of this name, which is a token.
    pub fn value(&self, cache: &str) -> HeaderValue {
        let mut text = String::with_capacity(64);
        text.push_str(cache);
        match self.forwarded {
            None => text.push_str("; hit"),
            Some(why) => {
                let _ = write!(text, "; fwd={}", why.word());
            }
        }
        if let Some(status) = self.origin_status {
            let _ = write!(text, "; fwd-status={}", status.as_u16());
        }
        if let Some(ttl) = self.ttl_s {
            let _ = write!(text, "; ttl={ttl}");
        }
        for (said, word) in [(self.stored, "; stored"), (self.collapsed, "; collapsed")] {
            if said {
                text.push_str(word);
            }
        }
        if let Some(detail) = self.detail {
            let _ = write!(text, "; detail={detail}");
        }
        HeaderValue::from_maybe_shared(Bytes::from(text))
            .unwrap_or_else(|_| HeaderValue::from_static("cache; fwd=bypass"))
    }
}
