use super::*;

fn millis(text: &str) -> Option<u128> {
    parse(text.as_bytes()).map(|moment| moment.as_millis())
}

// req: GW-09
#[test]
fn the_same_moment_can_be_written_in_many_ways() {
    let same = [
        "1794754911250",
        "2026-11-15T15:01:51.25Z",
        "2026-11-15t15:01:51.250z",
        "2026-11-15T16:01:51.25+01:00",
        "2026-11-15T09:31:51.2500000004-05:30",
    ];
    for text in same {
        assert_eq!(millis(text), Some(1_794_754_911_250), "{text}");
    }
    assert_eq!(millis("1970-01-01T00:00:00Z"), Some(0));
}

// attack: H-10
#[test]
fn moments_before_1970_are_past_and_huge_ones_far() {
    assert_eq!(millis("1960-01-01T00:00:00Z"), Some(0));
    assert_eq!(millis("1970-01-01T00:00:00+01:00"), Some(0));
    assert_eq!(millis("-5"), Some(0));
    assert_eq!(millis(&"9".repeat(40)), Some(u128::from(u64::MAX)));
}

#[test]
fn what_is_no_moment_is_not_guessed() {
    let odd = [
        "",
        "-",
        "tomorrow",
        "1.5",
        "2026-11-15",
        "2026-11-15 15:01:51Z",
        "2026-11-15T15:01:51",
        "2026-11-15T15:01:51.Z",
        "2026-13-15T15:01:51Z",
        "2026-02-29T15:01:51Z",
        "2026-11-15T24:01:51Z",
        "2026-11-15T15:01:51+1:00",
        "2026-11-15T15:01:51+01:60",
        "2026-11-15T15:01:51+24:00",
        "2026-11-15T15:01:51Zx",
        "+026-11-15T15:01:51Z",
    ];
    for text in odd {
        assert_eq!(millis(text), None, "{text}");
    }
}
