//! A moment as milliseconds since 1970 or as RFC 3339 text.

use super::{nanos, number};
use crate::calendar::Civil;
use std::time::Duration;

/// The moment since 1970; what lies before is 1970 itself, long past in any case.
pub(super) fn parse(text: &[u8]) -> Option<Duration> {
    if let Some(digits) = text.strip_prefix(b"-")
        && number(digits).is_some()
    {
        return Some(Duration::ZERO);
    }
    number(text)
        .map(Duration::from_millis)
        .or_else(|| rfc3339(text))
}

/// `YYYY-MM-DDTHH:MM:SS[.decimals](Z|+HH:MM|-HH:MM)`.
fn rfc3339(text: &[u8]) -> Option<Duration> {
    let (stamp, rest) = text.split_at_checked(19)?;
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| stamp[*at] == *mark) || !matches!(stamp[10], b'T' | b't') {
        return None;
    }
    let field = |from: usize, to: usize| number(&stamp[from..to]).map(|number| number as u32);
    let civil = Civil {
        year: field(0, 4)?,
        month: field(5, 7)?,
        day: field(8, 10)?,
        hour: field(11, 13)?,
        minute: field(14, 16)?,
        second: field(17, 19)?,
    };
    let (nanos, zone) = fraction(rest)?;
    let seconds = civil.is_valid().then(|| civil.unix_seconds())? - offset(zone)?;
    let moment = u64::try_from(seconds).map(|seconds| Duration::new(seconds, nanos));
    Some(moment.unwrap_or(Duration::ZERO))
}

fn fraction(rest: &[u8]) -> Option<(u32, &[u8])> {
    let Some(decimals) = rest.strip_prefix(b".") else {
        return Some((0, rest));
    };
    let digits = decimals
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (decimals, zone) = decimals.split_at(digits);
    Some((nanos(decimals)?, zone))
}

/// Seconds east of UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    let sign = match zone {
        b"Z" | b"z" => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let [_, h1, h2, b':', m1, m2] = zone else {
        return None;
    };
    let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as i64)
}

#[cfg(test)]
mod tests;
