use super::*;
use proptest::prelude::*;

fn of(value: &str, length: u64) -> Selection {
    parse(value.as_bytes(), length)
}

fn one(first: u64, last: u64) -> Selection {
    Selection::One(Span { first, last })
}

// req: ED-06
// attack: E-01, E-04
#[test]
fn one_range_is_clamped_to_the_end() {
    assert_eq!(of("bytes=0-99", 1000), one(0, 99));
    assert_eq!(of("Bytes=5-", 10), one(5, 9));
    assert_eq!(of("bytes=-5", 10), one(5, 9));
    assert_eq!(of("bytes=-50", 10), one(0, 9));
    assert_eq!(of("bytes=8-100", 10), one(8, 9));
    assert_eq!(of("bytes= 1-2 ", 10), one(1, 2));
    assert_eq!(of("bytes=00001-00002", 10), one(1, 2));
}

// attack: E-02, E-03, E-06, L-13
#[test]
fn what_selects_nothing_is_not_satisfiable() {
    for value in [
        "bytes=-0",
        "bytes=10-",
        "bytes=10-20",
        "bytes=",
        "bytes=,",
        "bytes= , ",
        "bytes=-0,10-",
    ] {
        assert_eq!(of(value, 10), Selection::Unsatisfiable, "{value}");
    }
    assert_eq!(of("bytes=0-", 0), Selection::Unsatisfiable);
    assert_eq!(unsatisfied(10), "bytes */10");
}

// attack: E-05, E-07, L-13
#[test]
fn what_is_void_gives_the_whole() {
    let void = [
        "",
        "bytes",
        "items=0-1",
        "bytes=5-2",
        "bytes=0-1,5-2",
        "bytes=1",
        "bytes=a-b",
        "bytes=+1-2",
        "bytes=1-+2",
        "bytes=1--2",
        "bytes=--1",
        "bytes=-",
        "bytes=0x1-2",
        "bytes=1.0-2",
        "bytes=1 -2",
        "bytes=1- 2",
        "bytes:0-1",
        "bytes =0-1",
        "bytes=0-1;2-3",
        "bytes=0-1,bytes=2-3",
    ];
    for value in void {
        assert_eq!(of(value, 10), Selection::Whole, "{value}");
    }
    assert_eq!(
        of("bytes=-5", 0),
        Selection::Whole,
        "all there is of nothing"
    );
}

// attack: E-10, L-13
#[test]
fn numbers_beyond_the_machine_do_not_wrap() {
    // Each would be 0 or 5 if it were cut to 64 bits.
    for huge in [
        "18446744073709551616",
        "18446744073709551621",
        "184467440737095516160",
    ] {
        assert_eq!(of(&format!("bytes={huge}-"), 10), Selection::Unsatisfiable);
        assert_eq!(
            of(&format!("bytes={huge}-{huge}"), u64::MAX),
            Selection::Unsatisfiable
        );
        assert_eq!(of(&format!("bytes=0-{huge}"), 10), one(0, 9));
        assert_eq!(of(&format!("bytes=-{huge}"), 10), one(0, 9));
    }
    assert_eq!(
        of("bytes=18446744073709551615-", u64::MAX),
        Selection::Unsatisfiable
    );
}

// attack: E-08, L-12
#[test]
fn beyond_the_cap_the_whole_is_sent() {
    let many = |count: usize| {
        let specs: Vec<String> = (0..count).map(|at| format!("{0}-{0}", at * 1000)).collect();
        of(&format!("bytes={}", specs.join(",")), 10_000_000)
    };
    assert!(matches!(many(SPECS_MAX), Selection::Many(spans) if spans.len() == SPECS_MAX));
    assert_eq!(many(SPECS_MAX + 1), Selection::Whole);
    assert_eq!(many(1000), Selection::Whole);
}

// attack: E-09, L-12
#[test]
fn overlaps_are_sent_once() {
    assert_eq!(of("bytes=0-,0-,0-", 1000), one(0, 999));
    assert_eq!(of("bytes=0-9,5-14", 1000), one(0, 14));
    assert_eq!(
        of("bytes=80-99,0-9", 1000),
        one(0, 99),
        "the gap is smaller than a part's frame"
    );
    let spans = vec![
        Span {
            first: 9000,
            last: 9099,
        },
        Span { first: 0, last: 19 },
    ];
    assert_eq!(
        of("bytes=9050-9099,0-9,9000-9060,10-19", 10_000),
        Selection::Many(spans)
    );
    assert_eq!(
        of("bytes=0-449,550-999", 1000),
        Selection::Whole,
        "parts would cost more"
    );
}

// req: ED-06
#[test]
fn parts_past_the_end_are_left_out() {
    let spans = vec![
        Span {
            first: 500,
            last: 509,
        },
        Span { first: 0, last: 9 },
    ];
    assert_eq!(
        of("bytes=500-509,2000-,-0,0-9", 1000),
        Selection::Many(spans)
    );
}

// attack: L-13
#[test]
fn two_lines_are_void() {
    let mut headers = HeaderMap::new();
    assert_eq!(select(&headers, 10), Selection::Whole);
    headers.append(header::RANGE, HeaderValue::from_static("bytes=0-1"));
    assert_eq!(select(&headers, 10), one(0, 1));
    headers.append(header::RANGE, HeaderValue::from_static("bytes=0-1"));
    assert_eq!(select(&headers, 10), Selection::Whole);
}

#[test]
fn content_range_says_which_part_of_what() {
    let span = Span {
        first: 0,
        last: u64::MAX - 1,
    };
    let expected = "bytes 0-18446744073709551614/18446744073709551615";
    assert_eq!(span.content_range(u64::MAX), expected);
}

/// The bytes a set of specifiers means, one by one; nothing for a void header.
fn meant(specs: &[(Option<u64>, Option<u64>)], length: u64) -> Option<Vec<bool>> {
    let mut bytes = vec![false; length as usize];
    for spec in specs {
        let (first, last) = match *spec {
            (None, None) => return None,
            (Some(first), Some(last)) if first > last => return None,
            (Some(first), last) => (first, last.unwrap_or(u64::MAX)),
            (None, Some(0)) => continue,
            (None, Some(_)) if length == 0 => return None,
            (None, Some(count)) => (length.saturating_sub(count), u64::MAX),
        };
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte |= (first..=last).contains(&(at as u64));
        }
    }
    Some(bytes)
}

fn specs() -> impl Strategy<Value = Vec<(Option<u64>, Option<u64>)>> {
    let position =
        || proptest::option::weighted(0.8, prop_oneof![9 => 0..2500_u64, 1 => any::<u64>()]);
    proptest::collection::vec((position(), position()), 1..8)
}

fn written(specs: &[(Option<u64>, Option<u64>)]) -> String {
    let text = |number: &Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let specs: Vec<String> = specs
        .iter()
        .map(|(first, last)| format!("{}-{}", text(first), text(last)))
        .collect();
    format!("bytes={}", specs.join(", "))
}

proptest! {
    // req: ED-06
    // attack: E-09, L-12
    #[test]
    fn what_is_sent_covers_what_is_meant_and_little_else(specs in specs(), length in 0..2000_u64) {
        let selection = of(&written(&specs), length);
        let Some(meant) = meant(&specs, length) else {
            prop_assert_eq!(selection, Selection::Whole);
            return Ok(());
        };
        let any = meant.contains(&true);
        let spans = match selection {
            Selection::Whole => {
                prop_assert!(any && specs.len() > 1);
                return Ok(());
            }
            Selection::Unsatisfiable => {
                prop_assert!(!any);
                return Ok(());
            }
            Selection::One(span) => vec![span],
            Selection::Many(spans) => spans,
        };
        let sent: u64 = spans.iter().map(|span| span.length()).sum();
        prop_assert!(sent <= length);
        let mut covered = vec![false; length as usize];
        for span in &spans {
            for byte in &mut covered[span.first as usize..=span.last as usize] {
                prop_assert!(!*byte, "no byte is sent twice");
                *byte = true;
            }
        }
        let missing = meant.iter().zip(&covered).any(|(meant, covered)| *meant && !covered);
        prop_assert!(!missing);
        let extra = meant.iter().zip(&covered).filter(|(meant, covered)| !**meant && **covered).count();
        prop_assert!(extra as u64 <= (specs.len() as u64 - 1) * PART_OVERHEAD_BYTES);
    }

    #[test]
    fn any_bytes_are_answered(value in proptest::collection::vec(any::<u8>(), 0..60), length in any::<u64>()) {
        if let Selection::One(span) = parse(&value, length) {
            prop_assert!(span.first <= span.last && span.last < length);
        }
    }
}
