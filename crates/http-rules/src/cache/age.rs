//! How old a response was when it came (RFC 9111 4.2.3, 5.1).

use super::Answered;
use super::control::delta;
use crate::date;
use crate::text::Text;
use http::HeaderValue;
use http::header::{self, HeaderMap, HeaderName};

/// Seconds of age at the moment the response came: what it says itself and how long it took, or how long ago it was
/// made by its own date, whichever is more.
pub fn initial_age(answer: &Answered<'_>) -> u64 {
    let delay = answer.came_at_ms.saturating_sub(answer.asked_at_ms) / 1000;
    let corrected = said(answer.headers).saturating_add(delay);
    let apparent =
        made_at(answer).map_or(0, |date| (answer.came_at_ms / 1000).saturating_sub(date));
    corrected.max(apparent)
}

/// When the response was made, as it says.
pub(super) fn made_at(answer: &Answered<'_>) -> Option<u64> {
    let value = only(answer.headers, &header::DATE)?;
    date::parse(value, answer.came_at_ms / 1000)
}

/// The first member counts, and one that is no number counts as absent.
fn said(headers: &HeaderMap) -> u64 {
    let first = headers.get(header::AGE).map(HeaderValue::as_bytes);
    let first = first.and_then(|line| line.split(|byte| *byte == b',').next());
    first
        .and_then(|digits| delta(digits.trim_ascii()))
        .unwrap_or(0)
}

/// The value of a header that may stand once.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next()?;
    lines.next().is_none().then(|| first.as_bytes())
}

/// The value of `Age`.
pub fn age_value(seconds: u64) -> HeaderValue {
    Text::<20>::of(format_args!("{seconds}")).value()
}
