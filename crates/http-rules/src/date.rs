//! HTTP dates: written as IMF-fixdate, read in all three forms that RFC 9110 5.6.7 asks for.

use crate::calendar::Civil;
use crate::text::Text;
use http::HeaderValue;

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
const TEXT_BYTES: usize = 29;
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LONG_DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// 9999-12-31T23:59:59Z, the last second that four digits can write.
const LAST: u64 = 253_402_300_799;

/// The value of `Date`, `Last-Modified` or `Expires` for a second since 1970.
pub fn value(unix_seconds: u64) -> HeaderValue {
    let at = Civil::from_unix(unix_seconds.min(LAST));
    let (weekday, month) = (DAYS[at.weekday()], MONTHS[at.month as usize - 1]);
    let (day, year) = (at.day, at.year);
    let (hour, minute, second) = (at.hour, at.minute, at.second);
    let text = Text::<TEXT_BYTES>::of(format_args!(
        "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT"
    ));
    text.value()
}

/// Seconds since 1970; dates before are 1970. `now` decides the century of the form that has two digits for the year.
/// Names count in capitals and small letters alike (RFC 9111 4.2). A weekday has to be one, but need not be that of the
/// date, which says it better.
pub fn parse(text: &[u8], now: u64) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let civil = imf_fixdate(text)
        .or_else(|| asctime(text))
        .or_else(|| rfc850(text, now))?;
    civil
        .is_valid()
        .then(|| u64::try_from(civil.unix_seconds()).unwrap_or(0))
}

fn imf_fixdate(text: &str) -> Option<Civil> {
    let rest = without_zone(text)?;
    let (weekday, rest) = rest.split_once(", ")?;
    let mut words = rest.split(' ');
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let civil = civil(number(year, 4)?, month, number(day, 2)?, words.next()?)?;
    index(&DAYS, weekday)?;
    ended(words, civil)
}

/// `Sun Nov  6 08:49:37 1994`.
fn asctime(text: &str) -> Option<Civil> {
    let (weekday, rest) = text.split_at_checked(3)?;
    let (month, rest) = rest.strip_prefix(' ')?.split_at_checked(3)?;
    let (day, rest) = rest.strip_prefix(' ')?.split_at_checked(2)?;
    let mut words = rest.strip_prefix(' ')?.split(' ');
    let day = match day.strip_prefix(' ') {
        Some(digit) => number(digit, 1)?,
        None => number(day, 2)?,
    };
    let time = words.next()?;
    let civil = civil(number(words.next()?, 4)?, month, day, time)?;
    index(&DAYS, weekday)?;
    ended(words, civil)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`.
fn rfc850(text: &str, now: u64) -> Option<Civil> {
    let rest = without_zone(text)?;
    let (weekday, rest) = rest.split_once(", ")?;
    let (date, time) = rest.split_once(' ')?;
    let mut parts = date.split('-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let year = century(number(year, 2)?, now);
    let civil = civil(year, month, number(day, 2)?, time)?;
    index(&LONG_DAYS, weekday)?;
    ended(parts, civil)
}

/// More than fifty years ahead means the century before.
fn century(year: u32, now: u64) -> u32 {
    let this = Civil::from_unix(now.min(LAST)).year;
    let year = this - this % 100 + year;
    match year > this + 50 {
        true => year.saturating_sub(100),
        false => year,
    }
}

/// No other zone than this is a date.
fn without_zone(text: &str) -> Option<&str> {
    let (rest, zone) = text.split_at_checked(text.len().checked_sub(4)?)?;
    zone.eq_ignore_ascii_case(" GMT").then_some(rest)
}

fn ended<'a>(mut rest: impl Iterator<Item = &'a str>, civil: Civil) -> Option<Civil> {
    rest.next().is_none().then_some(civil)
}

fn civil(year: u32, month: &str, day: u32, time: &str) -> Option<Civil> {
    let mut parts = time.split(':');
    let mut two = || number(parts.next()?, 2);
    let (hour, minute, second) = (two()?, two()?, two()?);
    parts.next().is_none().then_some(Civil {
        year,
        month: index(&MONTHS, month)? as u32 + 1,
        day,
        hour,
        minute,
        second,
    })
}

fn index(names: &[&str], name: &str) -> Option<usize> {
    names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name))
}

fn number(digits: &str, count: usize) -> Option<u32> {
    let plain = digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
