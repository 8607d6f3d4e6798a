//! What a client is told about its quota: `RateLimit`, `RateLimit-Policy` (httpapi draft 08 and later), `Retry-After`.

use crate::text::Decimal;
use http::{HeaderName, HeaderValue};
use std::time::Duration;

/// The header of what is left.
pub const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The header of what holds in general.
pub const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The largest integer of a structured field.
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// A quota as promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    /// Which quota, by its name in the configuration.
    pub name: &'a str,
    /// Requests per window.
    pub quota: u64,
    /// The window; whole seconds are sent, rounded up.
    pub window: Duration,
}

/// What is left of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left<'a> {
    /// The name of its policy.
    pub name: &'a str,
    /// Requests that would pass now.
    pub remaining: u64,
    /// When there will be more; whole seconds are sent, rounded up.
    pub reset: Duration,
}

/// The value of `RateLimit-Policy`; nothing without policies. It holds until the configuration changes: make it once.
pub fn policies(policies: &[Policy<'_>]) -> Option<HeaderValue> {
    list(policies, |policy| Item {
        name: policy.name,
        first: (b";q=", Decimal::of(integer(policy.quota))),
        second: (b";w=", Decimal::of(seconds(policy.window))),
    })
}

/// The value of `RateLimit`; nothing without quotas.
pub fn left(quotas: &[Left<'_>]) -> Option<HeaderValue> {
    list(quotas, |left| Item {
        name: left.name,
        first: (b";r=", Decimal::of(integer(left.remaining))),
        second: (b";t=", Decimal::of(seconds(left.reset))),
    })
}

/// The value of `Retry-After`: whole seconds, rounded up, at least one.
pub fn retry_after(wait: Duration) -> HeaderValue {
    HeaderValue::from(seconds(wait).max(1))
}

/// A name and its two parameters.
struct Item<'a> {
    name: &'a str,
    first: (&'static [u8; 3], Decimal),
    second: (&'static [u8; 3], Decimal),
}

impl Item<'_> {
    /// Bytes it takes, unless something in its name has to be escaped.
    fn len(&self) -> usize {
        let numbers = self.first.1.as_bytes().len() + self.second.1.as_bytes().len();
        b"\"\";q=;w=".len() + self.name.len() + numbers
    }

    fn write(&self, text: &mut Vec<u8>) {
        name(text, self.name);
        for (key, number) in [&self.first, &self.second] {
            text.extend_from_slice(*key);
            text.extend_from_slice(number.as_bytes());
        }
    }
}

/// One is written for every answer of a caller with a quota: room for just what it takes makes it one allocation.
fn list<T>(items: &[T], item: impl Fn(&T) -> Item<'_>) -> Option<HeaderValue> {
    let mut items = items.iter().map(item);
    let first = items.next()?;
    let mut text = Vec::with_capacity(first.len());
    first.write(&mut text);
    for further in items {
        text.extend_from_slice(b", ");
        further.write(&mut text);
    }
    HeaderValue::from_maybe_shared(bytes::Bytes::from(text)).ok()
}

/// A structured-field string. It cannot hold what is not ASCII, so that becomes `?`.
fn name(text: &mut Vec<u8>, name: &str) {
    text.push(b'"');
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend([b'\\', character as u8]),
            ' '..='~' => text.push(character as u8),
            _ => text.push(b'?'),
        }
    }
    text.push(b'"');
}

fn seconds(time: Duration) -> u64 {
    integer(
        time.as_secs()
            .saturating_add(u64::from(time.subsec_nanos() > 0)),
    )
}

fn integer(number: u64) -> u64 {
    number.min(INTEGER_MAX)
}

#[cfg(test)]
mod tests;
