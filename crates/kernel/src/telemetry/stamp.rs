//! When a line was written: `2026-01-31T23:59:59.123456Z`.

use std::cell::RefCell;
use std::time::Duration;

use crate::clock;

/// Bytes of it up to the seconds.
const WHOLE: usize = "2026-01-31T23:59:59".len();
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: u64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_468;

/// A second and how it is written. Thousands of lines have the same one.
#[derive(Default)]
struct Second {
    unix: Option<u64>,
    text: [u8; WHOLE],
}

/// Writes the present moment.
pub(super) fn write_now(out: &mut Vec<u8>) {
    thread_local! {
        static LAST: RefCell<Second> = const {
            RefCell::new(Second { unix: None, text: [0; WHOLE] })
        };
    }
    let now = clock::unix_time();
    // A thread that ends, and logs while it does, remembers nothing.
    let written = LAST.try_with(|last| write(out, now, &mut last.borrow_mut()));
    written.unwrap_or_else(|_| write(out, now, &mut Second::default()));
}

fn write(out: &mut Vec<u8>, now: Duration, last: &mut Second) {
    if last.unix != Some(now.as_secs()) {
        *last = Second {
            unix: Some(now.as_secs()),
            text: second(now.as_secs()),
        };
    }
    let mut fraction = *b".000000Z";
    digits(&mut fraction[1..7], now.subsec_micros().into());
    out.extend_from_slice(&last.text);
    out.extend_from_slice(&fraction);
}

fn second(unix: u64) -> [u8; WHOLE] {
    let (year, month, day) = date(unix / 86_400);
    let time = unix % 86_400;
    let mut text = *b"0000-00-00T00:00:00";
    digits(&mut text[0..4], year);
    digits(&mut text[5..7], month);
    digits(&mut text[8..10], day);
    digits(&mut text[11..13], time / 3600);
    digits(&mut text[14..16], time / 60 % 60);
    digits(&mut text[17..19], time % 60);
    text
}

/// As many digits as there is room for.
fn digits(room: &mut [u8], mut number: u64) {
    for digit in room.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day of a day since 1970. Years are counted from March: what leaps is then their last day.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH_DAYS;
    let (era, of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_it_is_called_leap_days_included() {
        let said = |unix: u64, micros: u32, last: &mut Second| {
            let mut out = Vec::new();
            write(&mut out, Duration::new(unix, micros * 1_000), last);
            String::from_utf8(out).unwrap()
        };
        let mut last = Second::default();
        for (unix, micros, text) in [
            (0, 0, "1970-01-01T00:00:00.000000Z"),
            (0, 999_999, "1970-01-01T00:00:00.999999Z"),
            (951_782_399, 1, "2000-02-28T23:59:59.000001Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000000Z"),
            (1_078_012_799, 0, "2004-02-28T23:59:59.000000Z"),
            (1_709_251_199, 20, "2024-02-29T23:59:59.000020Z"),
            (1_709_251_200, 0, "2024-03-01T00:00:00.000000Z"),
            (1_798_761_599, 123_456, "2026-12-31T23:59:59.123456Z"),
            (1_798_761_600, 0, "2027-01-01T00:00:00.000000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(said(unix, micros, &mut last), text);
        }
    }
}
