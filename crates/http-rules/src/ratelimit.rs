//! What a client is told about its quota: `RateLimit`, `RateLimit-Policy` (httpapi draft 08 and later), `Retry-After`.

use http::{HeaderName, HeaderValue};
use std::fmt::Write;
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
    list(policies, |text, policy| {
        name(text, policy.name);
        let (quota, window) = (integer(policy.quota), seconds(policy.window));
        let _ = write!(text, ";q={quota};w={window}");
    })
}

/// The value of `RateLimit`; nothing without quotas.
pub fn left(quotas: &[Left<'_>]) -> Option<HeaderValue> {
    list(quotas, |text, left| {
        name(text, left.name);
        let (remaining, reset) = (integer(left.remaining), seconds(left.reset));
        let _ = write!(text, ";r={remaining};t={reset}");
    })
}

/// The value of `Retry-After`: whole seconds, rounded up, at least one.
pub fn retry_after(wait: Duration) -> HeaderValue {
    HeaderValue::from(seconds(wait).max(1))
}

fn list<T>(items: &[T], mut item: impl FnMut(&mut String, &T)) -> Option<HeaderValue> {
    let mut text = String::with_capacity(items.len() * 40);
    for (at, entry) in items.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        item(&mut text, entry);
    }
    let value = HeaderValue::from_maybe_shared(bytes::Bytes::from(text)).ok();
    value.filter(|value| !value.is_empty())
}

/// A structured-field string. It cannot hold what is not ASCII, so that becomes `?`.
fn name(text: &mut String, name: &str) {
    text.push('"');
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            ' '..='~' => text.push(character),
            _ => text.push('?'),
        }
    }
    text.push('"');
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
