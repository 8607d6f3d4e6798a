use super::*;

fn day(year: u32, month: u32, day: u32) -> Civil {
    Civil {
        year,
        month,
        day,
        hour: 0,
        minute: 0,
        second: 0,
    }
}

#[test]
fn known_days_are_where_they_are() {
    assert_eq!(day(1970, 1, 1).unix_seconds(), 0);
    assert_eq!(day(2000, 3, 1).unix_seconds(), 951_868_800);
    assert_eq!(day(1969, 12, 31).unix_seconds(), -86_400);
    assert_eq!(day(1994, 11, 6).weekday(), 0);
    assert_eq!(day(2026, 11, 15).weekday(), 0);
    assert_eq!(day(2024, 2, 29).weekday(), 4);
}

/// Walks the calendar day by day, the way one counts on paper.
#[test]
fn every_day_of_eight_centuries_counts_one() {
    let (mut year, mut month, mut date) = (1970, 1, 1);
    for count in 0..292_194_i64 {
        let today = day(year, month, date);
        assert!(today.is_valid());
        assert_eq!(today.unix_seconds(), count * 86_400);
        assert_eq!(Civil::from_unix((count * 86_400) as u64), today);
        assert_eq!(today.weekday() as i64, (count + 4) % 7);
        (year, month, date) = match (date == days_of_month(year, month), month) {
            (false, _) => (year, month, date + 1),
            (true, 12) => (year + 1, 1, 1),
            (true, _) => (year, month + 1, 1),
        };
    }
}

#[test]
fn dates_that_do_not_exist_are_not_valid() {
    for odd in [
        day(2023, 2, 29),
        day(1900, 2, 29),
        day(2024, 4, 31),
        day(2024, 13, 1),
        day(2024, 0, 1),
    ] {
        assert!(!odd.is_valid(), "{odd:?}");
    }
    assert!(!day(2024, 1, 0).is_valid());
    assert!(!day(10_000, 1, 1).is_valid());
    assert!(day(2000, 2, 29).is_valid());
}
