//! The times in a signature: `20130524T000000Z`, and its first eight digits.

/// Of a second of Unix time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp(String);

impl Stamp {
    pub(super) fn new(unix_seconds: u64) -> Self {
        let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Self(format!(
            "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z"
        ))
    }

    pub(super) fn whole(&self) -> &str {
        &self.0
    }

    pub(super) fn day(&self) -> &str {
        &self.0[..8]
    }
}

/// The date that many days after 1970-01-01. Years are taken to begin in March, so that the odd day is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (second, stamp) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(Stamp::new(second).whole(), stamp);
        }
        assert_eq!(Stamp::new(1_369_353_600).day(), "20130524");
    }
}
