//! Days and dates of the Gregorian calendar, counted from 1970, without a table of leap years.

/// A point in time to the second, in UTC. Fields are in their ranges once `is_valid` says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: u32,
    /// 1 to 12.
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    /// 60 in a leap second, which counts as the second after.
    pub(crate) second: u32,
}

const DAY_SECONDS: u64 = 86_400;
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

impl Civil {
    pub(crate) fn is_valid(&self) -> bool {
        self.year <= 9999
            && (1..=12).contains(&self.month)
            && (1..=days_of_month(self.year, self.month)).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second <= 60
    }

    /// Seconds since 1970; negative before.
    pub(crate) fn unix_seconds(&self) -> i64 {
        let time = self.hour * 3600 + self.minute * 60 + self.second;
        days_from_epoch(self.year, self.month, self.day) * DAY_SECONDS as i64 + i64::from(time)
    }

    /// The date of a second since 1970.
    pub(crate) fn from_unix(seconds: u64) -> Civil {
        let (year, month, day) = date_of((seconds / DAY_SECONDS) as i64);
        let time = (seconds % DAY_SECONDS) as u32;
        Civil {
            year,
            month,
            day,
            hour: time / 3600,
            minute: time / 60 % 60,
            second: time % 60,
        }
    }

    /// 0 is Sunday.
    pub(crate) fn weekday(&self) -> usize {
        let days = days_from_epoch(self.year, self.month, self.day);
        (days + 4).rem_euclid(7) as usize
    }
}

fn days_of_month(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Counts years from March, so that the leap day is the last of its year and months follow one formula.
fn days_from_epoch(year: u32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let month = (i64::from(month) + 9) % 12;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - EPOCH_DAYS
}

fn date_of(days: i64) -> (u32, u32, u32) {
    let days = days + EPOCH_DAYS;
    let day_of_era = days.rem_euclid(ERA_DAYS);
    let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (ERA_DAYS - 1);
    let year_of_era = (day_of_era - leaps) / 365;
    let before = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - before;
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12 + 1;
    let year = days.div_euclid(ERA_DAYS) * 400 + year_of_era + i64::from(month <= 2);
    (year as u32, month as u32, day as u32)
}

#[cfg(test)]
mod tests;
