use super::*;
use http::HeaderValue;
use proptest::prelude::*;

const NOW: u64 = 1_794_754_911;
const MODIFIED: u64 = 784_111_777;
const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
const WHOLE: Verdict = Verdict::Proceed { range: false };
const RANGED: Verdict = Verdict::Proceed { range: true };

const CURRENT: Validators<'_> = Validators {
    etag: Some(ETag {
        weak: false,
        opaque: b"a",
    }),
    last_modified: Some(MODIFIED),
};

fn map(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn get(lines: &[(&'static str, &str)]) -> Verdict {
    evaluate(&Method::GET, &map(lines), Some(&CURRENT), NOW)
}

fn put(lines: &[(&'static str, &str)]) -> Verdict {
    evaluate(&Method::PUT, &map(lines), Some(&CURRENT), NOW)
}

// req: ED-06
// attack: E-16
#[test]
fn if_match_needs_one_strong_match() {
    for tags in ["*", " * ", "\"a\"", "\"b\", \"a\"", "\"b\",,\"a\""] {
        assert_eq!(put(&[("if-match", tags)]), WHOLE, "{tags}");
    }
    for tags in ["\"b\"", "W/\"a\"", "", "a", "\"b\", *"] {
        assert_eq!(
            put(&[("if-match", tags)]),
            Verdict::PreconditionFailed,
            "{tags}"
        );
        assert_eq!(
            get(&[("if-match", tags)]),
            Verdict::PreconditionFailed,
            "{tags}"
        );
    }
    let none = evaluate(&Method::PUT, &map(&[("if-match", "*")]), None, NOW);
    assert_eq!(none, Verdict::PreconditionFailed);
}

// req: ED-06
// attack: E-13
#[test]
fn if_none_match_is_weak_and_a_star_means_anything() {
    for tags in ["*", "\"a\"", "W/\"a\"", "\"b\", \"a\""] {
        assert_eq!(
            get(&[("if-none-match", tags)]),
            Verdict::NotModified,
            "{tags}"
        );
        assert_eq!(
            put(&[("if-none-match", tags)]),
            Verdict::PreconditionFailed,
            "{tags}"
        );
    }
    assert_eq!(get(&[("if-none-match", "\"b\"")]), WHOLE);
    let none = evaluate(&Method::PUT, &map(&[("if-none-match", "*")]), None, NOW);
    assert_eq!(none, WHOLE);
    let head = evaluate(
        &Method::HEAD,
        &map(&[("if-none-match", "*")]),
        Some(&CURRENT),
        NOW,
    );
    assert_eq!(head, Verdict::NotModified);
}

#[test]
fn an_unreadable_list_withholds_nothing_and_overwrites_nothing() {
    assert_eq!(get(&[("if-none-match", "a")]), WHOLE);
    assert_eq!(put(&[("if-none-match", "a")]), Verdict::PreconditionFailed);
}

// req: ED-06
#[test]
fn dates_are_compared_to_the_second() {
    assert_eq!(get(&[("if-modified-since", DATE)]), Verdict::NotModified);
    assert_eq!(get(&[("if-modified-since", LATER)]), Verdict::NotModified);
    assert_eq!(get(&[("if-modified-since", EARLIER)]), WHOLE);
    assert_eq!(
        put(&[("if-modified-since", DATE)]),
        WHOLE,
        "only for GET and HEAD"
    );
    assert_eq!(put(&[("if-unmodified-since", DATE)]), WHOLE);
    assert_eq!(
        put(&[("if-unmodified-since", EARLIER)]),
        Verdict::PreconditionFailed
    );
}

// req: ED-06
// attack: E-15
#[test]
fn a_bad_date_is_ignored() {
    for bad in ["yesterday", "", "Sun, 06 Nov 1994 08:49:37 UTC"] {
        assert_eq!(get(&[("if-modified-since", bad)]), WHOLE, "{bad}");
        assert_eq!(put(&[("if-unmodified-since", bad)]), WHOLE, "{bad}");
    }
    let twice = [("if-modified-since", DATE), ("if-modified-since", DATE)];
    assert_eq!(get(&twice), WHOLE);
    let undated = Validators {
        last_modified: None,
        ..CURRENT
    };
    let headers = map(&[("if-unmodified-since", EARLIER)]);
    assert_eq!(evaluate(&Method::PUT, &headers, Some(&undated), NOW), WHOLE);
}

// req: ED-06
// attack: E-14
#[test]
fn tags_win_over_dates() {
    assert_eq!(
        get(&[("if-none-match", "\"b\""), ("if-modified-since", DATE)]),
        WHOLE
    );
    assert_eq!(
        get(&[("if-none-match", "\"a\""), ("if-modified-since", EARLIER)]),
        Verdict::NotModified
    );
    assert_eq!(
        put(&[("if-match", "\"a\""), ("if-unmodified-since", EARLIER)]),
        WHOLE
    );
}

// req: ED-06
// attack: E-16, L-14
#[test]
fn if_match_comes_before_if_none_match() {
    assert_eq!(
        get(&[("if-match", "\"b\""), ("if-none-match", "\"a\"")]),
        Verdict::PreconditionFailed
    );
    assert_eq!(
        get(&[("if-match", "\"a\""), ("if-none-match", "\"a\"")]),
        Verdict::NotModified
    );
    let ranged = [
        ("if-match", "\"a\""),
        ("if-none-match", "\"b\""),
        ("range", "bytes=0-1"),
        ("if-range", "\"a\""),
    ];
    assert_eq!(get(&ranged), RANGED);
}

// req: ED-06
// attack: E-11
#[test]
fn a_range_counts_for_get_only() {
    let headers = map(&[("range", "bytes=0-1")]);
    let verdict = |method| evaluate(&method, &headers, Some(&CURRENT), NOW);
    assert_eq!(verdict(Method::GET), RANGED);
    for method in [Method::HEAD, Method::POST, Method::PUT] {
        assert_eq!(verdict(method), WHOLE);
    }
}

// req: ED-06
// attack: E-12, L-14
#[test]
fn if_range_holds_only_for_the_very_same_bytes() {
    let ranged = |value: &str| get(&[("range", "bytes=0-1"), ("if-range", value)]);
    assert_eq!(ranged("\"a\""), RANGED);
    assert_eq!(ranged(DATE), RANGED);
    for stale in [
        "W/\"a\"",
        "\"b\"",
        EARLIER,
        LATER,
        "",
        "a",
        "\"a\", \"b\"",
        "*",
    ] {
        assert_eq!(ranged(stale), WHOLE, "{stale}");
    }
    let weak = Validators {
        etag: Some(ETag {
            weak: true,
            opaque: b"a",
        }),
        ..CURRENT
    };
    for tag in ["W/\"a\"", "\"a\""] {
        let headers = map(&[("range", "bytes=0-1"), ("if-range", tag)]);
        assert_eq!(evaluate(&Method::GET, &headers, Some(&weak), NOW), WHOLE);
    }
    let fresh = map(&[("range", "bytes=0-1"), ("if-range", DATE)]);
    assert_eq!(
        evaluate(&Method::GET, &fresh, Some(&CURRENT), MODIFIED),
        WHOLE,
        "the second is not over"
    );
    let twice = [
        ("range", "bytes=0-1"),
        ("if-range", "\"a\""),
        ("if-range", "\"a\""),
    ];
    assert_eq!(get(&twice), WHOLE);
}

/// One header's meaning without its spelling.
#[derive(Clone, Copy, Debug)]
enum Tags {
    Absent,
    Star,
    Strong(bool),
    Weak(bool),
}

impl Tags {
    fn value(self) -> Option<&'static str> {
        match self {
            Tags::Absent => None,
            Tags::Star => Some("*"),
            Tags::Strong(true) => Some("\"x\", \"a\""),
            Tags::Strong(false) => Some("\"x\""),
            Tags::Weak(true) => Some("W/\"a\""),
            Tags::Weak(false) => Some("W/\"x\""),
        }
    }
}

fn tags() -> impl Strategy<Value = Tags> {
    prop_oneof![
        Just(Tags::Absent),
        Just(Tags::Star),
        any::<bool>().prop_map(Tags::Strong),
        any::<bool>().prop_map(Tags::Weak),
    ]
}

/// A date before, at or after the modification, or none.
fn dates() -> impl Strategy<Value = Option<i64>> {
    proptest::option::of(-1..=1_i64)
}

/// The five steps of RFC 9110 13.2.2 as they are written there.
fn steps(
    method: &Method,
    exists: bool,
    (im, inm): (Tags, Tags),
    (ius, ims): (Option<i64>, Option<i64>),
) -> Verdict {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let step_1 = match im {
        Tags::Absent => None,
        Tags::Star => Some(exists),
        Tags::Strong(same) => Some(exists && same),
        Tags::Weak(_) => Some(false),
    };
    let step_2 = ius.filter(|_| exists).map(|date| date >= 0);
    if !step_1.or(step_2).unwrap_or(true) {
        return Verdict::PreconditionFailed;
    }
    let step_3 = match inm {
        Tags::Absent => None,
        Tags::Star => Some(!exists),
        Tags::Strong(same) | Tags::Weak(same) => Some(!(exists && same)),
    };
    let step_4 = ims.filter(|_| exists && reads).map(|date| date < 0);
    match (step_3.or(step_4).unwrap_or(true), reads) {
        (true, _) => WHOLE,
        (false, true) => Verdict::NotModified,
        (false, false) => Verdict::PreconditionFailed,
    }
}

proptest! {
    // req: ED-06
    #[test]
    fn conditions_follow_the_steps_of_the_standard(
        method in prop_oneof![Just(Method::GET), Just(Method::HEAD), Just(Method::PUT), Just(Method::DELETE)],
        exists in any::<bool>(),
        tags in (tags(), tags()),
        dates in (dates(), dates()),
    ) {
        let mut headers = HeaderMap::new();
        let mut set = |name: HeaderName, value: Option<HeaderValue>| value.map(|value| headers.insert(name, value));
        set(header::IF_MATCH, tags.0.value().map(HeaderValue::from_static));
        set(header::IF_NONE_MATCH, tags.1.value().map(HeaderValue::from_static));
        let date = |offset: i64| crate::date::value(MODIFIED.saturating_add_signed(offset));
        set(header::IF_UNMODIFIED_SINCE, dates.0.map(date));
        set(header::IF_MODIFIED_SINCE, dates.1.map(date));
        let current = exists.then_some(&CURRENT);
        prop_assert_eq!(evaluate(&method, &headers, current, NOW), steps(&method, exists, tags, dates));
    }
}
