//! How long a request may take: what its caller asks for, within bounds, and what is left for the next server.

mod absolute;

use crate::text::{Decimal, Text};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

/// Seconds, with decimals: `2`, `0.25`.
pub const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("request-timeout");
/// Digits and a unit of `H M S m u n`: `250m`.
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// A moment: milliseconds since 1970, or RFC 3339.
pub const REQUEST_DEADLINE: HeaderName = HeaderName::from_static("x-request-deadline");

/// What any wish is clamped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Zero, negative and past wishes become this.
    pub least: Duration,
    /// What holds without a wish, and the most that can be had.
    pub most: Duration,
}

/// The shortest time that the headers ask for, within `bounds`. What cannot be read is no wish. `now` is the wall clock
/// since 1970, asked only when a header names a moment.
pub fn budget(headers: &HeaderMap, bounds: Bounds, now: impl Fn() -> Duration) -> Duration {
    let timeouts = headers.get_all(REQUEST_TIMEOUT).iter().filter_map(seconds);
    let grpc = headers.get_all(GRPC_TIMEOUT).iter().filter_map(units);
    let moments = headers
        .get_all(REQUEST_DEADLINE)
        .iter()
        .filter_map(|value| {
            let moment = absolute::parse(value.as_bytes())?;
            Some(moment.saturating_sub(now()))
        });
    let asked = timeouts.chain(grpc).chain(moments).min();
    let budget = asked.unwrap_or(bounds.most).max(bounds.least);
    budget.min(bounds.most)
}

/// Tells the next server what is left: always as `Request-Timeout`, and in the other forms if the caller used them.
pub fn pass_on(headers: &mut HeaderMap, left: Duration, now: impl Fn() -> Duration) {
    if headers.contains_key(GRPC_TIMEOUT) {
        headers.insert(GRPC_TIMEOUT, grpc_timeout(left));
    }
    if headers.contains_key(REQUEST_DEADLINE) {
        headers.insert(REQUEST_DEADLINE, request_deadline(now() + left));
    }
    headers.insert(REQUEST_TIMEOUT, request_timeout(left));
}

/// Tells the next server what is left by now, in every form it was told before that is not `fixed`.
pub fn renew(
    headers: &mut HeaderMap,
    left: Duration,
    now: impl Fn() -> Duration,
    fixed: impl Fn(&HeaderName) -> bool,
) {
    let mut tell = |name: HeaderName, value: &dyn Fn() -> HeaderValue| {
        if headers.contains_key(&name) && !fixed(&name) {
            headers.insert(name, value());
        }
    };
    tell(GRPC_TIMEOUT, &|| grpc_timeout(left));
    tell(REQUEST_DEADLINE, &|| request_deadline(now() + left));
    tell(REQUEST_TIMEOUT, &|| request_timeout(left));
}

/// Seconds to the millisecond, rounded down so that nobody is promised more than there is.
pub fn request_timeout(left: Duration) -> HeaderValue {
    let (seconds, millis) = (left.as_secs(), left.subsec_millis());
    let digit = |place: u32| b'0' + (millis / place % 10) as u8;
    let fraction = [b'.', digit(100), digit(10), digit(1)];
    let mut text = Text::<24>::new();
    text.push(Decimal::of(seconds).as_bytes());
    text.push(&fraction);
    text.value()
}

/// The finest unit from milliseconds up whose number has the eight digits gRPC allows; below one, microseconds.
pub fn grpc_timeout(left: Duration) -> HeaderValue {
    const MOST: u128 = 99_999_999;
    let (number, unit) = match left.as_millis() {
        0 => (left.as_micros(), 'u'),
        millis @ 1..=MOST => (millis, 'm'),
        _ => (u128::from(left.as_secs()).min(MOST), 'S'),
    };
    Text::<16>::of(format_args!("{number}{unit}")).value()
}

/// Milliseconds since 1970.
pub fn request_deadline(moment: Duration) -> HeaderValue {
    HeaderValue::from(u64::try_from(moment.as_millis()).unwrap_or(u64::MAX))
}

/// `[-]digits[.digits]`. Less than nothing is nothing.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    let (negative, text) = signed(value.as_bytes());
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let whole = number(parts.next()?)?;
    let nanos = match parts.next() {
        None => 0,
        Some(decimals) => nanos(decimals)?,
    };
    Some(unless(negative, Duration::new(whole, nanos)))
}

/// `[-]digits unit`.
fn units(value: &HeaderValue) -> Option<Duration> {
    let (negative, text) = signed(value.as_bytes());
    let (unit, digits) = text.split_last()?;
    let number = number(digits)?;
    let asked = match unit {
        b'H' => Duration::from_secs(number.saturating_mul(3600)),
        b'M' => Duration::from_secs(number.saturating_mul(60)),
        b'S' => Duration::from_secs(number),
        b'm' => Duration::from_millis(number),
        b'u' => Duration::from_micros(number),
        b'n' => Duration::from_nanos(number),
        _ => return None,
    };
    Some(unless(negative, asked))
}

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text.strip_prefix(b"-") {
        Some(text) => (true, text),
        None => (false, text),
    }
}

fn unless(negative: bool, asked: Duration) -> Duration {
    if negative { Duration::ZERO } else { asked }
}

/// Any number of digits; what does not fit is the largest number there is, to be clamped.
fn number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| {
        digits.iter().fold(0_u64, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
    })
}

/// The first nine decimals; finer ones are cut.
fn nanos(decimals: &[u8]) -> Option<u32> {
    let kept = &decimals[..decimals.len().min(9)];
    number(decimals)?;
    let nanos = number(kept)? as u32;
    Some(nanos * 10_u32.pow(9 - kept.len() as u32))
}

#[cfg(test)]
mod tests;
