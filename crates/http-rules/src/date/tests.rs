use super::*;
use proptest::prelude::*;

const NOW: u64 = 1_794_754_911;

fn read(text: &str) -> Option<u64> {
    parse(text.as_bytes(), NOW)
}

// req: ED-06
#[test]
fn all_three_forms_are_read() {
    let same = [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ];
    for text in same {
        assert_eq!(read(text), Some(784_111_777), "{text}");
    }
    assert_eq!(value(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

// req: ED-05
#[test]
fn the_case_of_names_and_a_weekday_that_is_wrong_do_not_matter() {
    let same = [
        "SUN, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 NOV 1994 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gMt",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "SUNDAY, 06-nov-94 08:49:37 gmt",
        "friday, 06-Nov-94 08:49:37 GMT",
        "MON NOV  6 08:49:37 1994",
    ];
    for text in same {
        assert_eq!(read(text), Some(784_111_777), "{text}");
    }
}

#[test]
fn two_digits_mean_the_nearest_century_that_is_not_far_ahead() {
    assert_eq!(
        read("Friday, 01-Jan-27 00:00:00 GMT"),
        read("Fri, 01 Jan 2027 00:00:00 GMT")
    );
    assert_eq!(
        read("Wednesday, 01-Jan-76 00:00:00 GMT"),
        read("Wed, 01 Jan 2076 00:00:00 GMT")
    );
    assert_eq!(
        read("Saturday, 01-Jan-77 00:00:00 GMT"),
        read("Sat, 01 Jan 1977 00:00:00 GMT")
    );
    assert!(read("Wednesday, 01-Jan-76 00:00:00 GMT").is_some());
}

// attack: E-15
#[test]
fn a_bad_date_is_no_date() {
    let bad = [
        "",
        "yesterday",
        "0",
        "784111777",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37GMT",
        "GMT",
        " GMT",
        "\u{e4} GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
    ];
    for text in bad {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn dates_before_1970_are_1970_and_the_last_is_of_9999() {
    assert_eq!(read("Wed, 31 Dec 1969 23:59:59 GMT"), Some(0));
    assert_eq!(value(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_eq!(value(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

proptest! {
    #[test]
    fn what_is_written_is_read(seconds in 0..=LAST) {
        prop_assert_eq!(parse(value(seconds).as_bytes(), NOW), Some(seconds));
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..40), now in any::<u64>()) {
        if let Some(seconds) = parse(&bytes, now) {
            prop_assert!(seconds <= LAST + 1);
        }
    }
}
