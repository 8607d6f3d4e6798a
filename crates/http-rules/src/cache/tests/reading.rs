use super::*;
use proptest::prelude::*;

fn control(lines: &[&str]) -> Control {
    let lines: Vec<_> = lines.iter().map(|line| ("cache-control", *line)).collect();
    Control::of(&map(&lines), &http::header::CACHE_CONTROL)
}

// req: ED-05
#[test]
fn a_number_that_was_not_meant_is_no_freshness() {
    let cases: &[(&[&str], Option<u64>)] = &[
        (&["max-age=3600"], Some(3600)),
        (&["MaX-aGe=3600"], Some(3600)),
        (&["max-age=003600"], Some(3600)),
        (&["max-age=\"3600\""], Some(3600)),
        (&["max-age=0"], Some(0)),
        (&["max-age=2147483648"], Some(2_147_483_648)),
        (&["max-age=99999999999999999999999"], Some(2_147_483_648)),
        (&["max-age='3600'"], Some(0)),
        (&["max-age=-3600"], Some(0)),
        (&["max-age=3600.0"], Some(0)),
        (&["max-age=a3600"], Some(0)),
        (&["max-age=3600a"], Some(0)),
        (&["max-age="], Some(0)),
        (&["max-age"], Some(0)),
        (&["max-age =3600"], Some(0)),
        (&["max-age= 3600"], Some(0)),
        (&["max-age=5, max-age=5"], Some(5)),
        (&["max-age=5, max-age=6"], Some(0)),
        (&["max-age=5", "max-age=6"], Some(0)),
        (&["foobar, max-age=7", "x=y"], Some(7)),
        (&["extension=\"max-age=3600\", max-age=1"], Some(1)),
        (&["max-age=1, extension=\"max-age=3600\""], Some(1)),
        (&["extension=\"\\\", max-age=9, \", max-age=1"], Some(1)),
        (&["max-age=4, open=\"x, max-age=3600"], Some(4)),
        (&["x-max-age=3600"], None),
        (&[""], None),
    ];
    for (lines, expected) in cases {
        assert_eq!(control(lines).max_age, *expected, "{lines:?}");
    }
}

// req: ED-05
#[test]
fn what_forbids_is_heard_however_it_is_written() {
    for line in [
        "no-store",
        "No-StOrE",
        "a, no-store ,b",
        "no-store=x",
        "no-store =1",
        "max-age=5,,no-store",
    ] {
        assert!(control(&[line]).no_store, "{line}");
    }
    for line in [
        "private",
        "private=\"\"",
        "private=\"a b\"",
        "private, private=\"a\"",
        "private=?",
    ] {
        assert!(control(&[line]).private.is_all(), "{line}");
    }
    let named = control(&["private=\"Set-Cookie, x-a\"", "no-cache=b"]);
    assert_eq!(named.private.names(), ["set-cookie", "x-a"]);
    assert_eq!(named.no_cache.names(), ["b"]);
    assert!(!control(&["x=\"no-store\""]).no_store);
}

// req: ED-05
#[test]
fn the_first_member_of_age_counts_and_nonsense_counts_as_absent() {
    let cases: &[(&[&str], u64)] = &[
        (&["7200"], 7200),
        (&["7200, 0"], 7200),
        (&["0, 7200"], 0),
        (&["0", "7200"], 0),
        (&["7200", "0"], 7200),
        (&["abc"], 0),
        (&["-7200"], 0),
        (&["7200.0"], 0),
        (&["7200;a=b"], 0),
        (&["99999999999"], 2_147_483_648),
    ];
    for (lines, expected) in cases {
        let lines: Vec<_> = lines.iter().map(|line| ("age", *line)).collect();
        let answer = Answered {
            status: StatusCode::OK,
            headers: &map(&lines),
            asked_at_ms: NOW_MS,
            came_at_ms: NOW_MS,
        };
        assert_eq!(initial_age(&answer), *expected, "{lines:?}");
    }
}

// req: ED-05
#[test]
fn age_is_the_greater_of_what_is_said_and_what_the_date_tells() {
    let age = |headers: &[(&str, &str)], took_ms: u64| {
        let answer = Answered {
            status: StatusCode::OK,
            headers: &map(headers),
            asked_at_ms: NOW_MS - took_ms,
            came_at_ms: NOW_MS,
        };
        initial_age(&answer)
    };
    assert_eq!(age(&[("date", &at(-30))], 0), 30);
    assert_eq!(age(&[("date", &at(-30)), ("age", "40")], 5000), 45);
    assert_eq!(age(&[("date", &at(-30)), ("age", "10")], 5000), 30);
    assert_eq!(age(&[("date", &at(30))], 999), 0);
    assert_eq!(age(&[("date", "nonsense"), ("age", "3")], 0), 3);
}

// req: ED-05
#[test]
fn a_targeted_header_is_obeyed_whole_or_not_at_all() {
    let cases = [
        ("max-age=60", "max-age=5", Some(60)),
        ("max-age=60", "no-store", Some(60)),
        (
            "max-age=60;x=1, foo=(a \"b\" 1.5);q, bar=:YQ==:, b=?0, d=@5, t=*a/b",
            "max-age=5",
            Some(60),
        ),
        ("max-age=99999999999", "max-age=5", Some(2_147_483_648)),
        ("max-age=60, max-age=70", "max-age=5", Some(70)),
        ("max-age=60, &&&", "max-age=5", Some(5)),
        ("max-age=\"60\"", "max-age=5", Some(5)),
        ("max-age=60.5", "max-age=5", Some(5)),
        ("max-age =60", "max-age=5", Some(5)),
        ("max-age= 60", "max-age=5", Some(5)),
        ("Max-Age=60", "max-age=5", Some(5)),
        ("max-age=60,", "max-age=5", Some(5)),
        ("max-age=6000000000000000", "max-age=5", Some(5)),
        ("", "max-age=5", Some(5)),
        ("no-store", "max-age=5", None),
        ("private", "max-age=5", None),
        ("no-store=?0, max-age=60", "max-age=5", Some(60)),
    ];
    for (targeted, general, expected) in cases {
        let headers = [("cdn-cache-control", targeted), ("cache-control", general)];
        assert_eq!(fresh_for(&headers), expected, "{targeted}");
    }
    let both = [("cdn-cache-control", "max-age=60"), ("expires", "0")];
    assert_eq!(fresh_for(&both), Some(60));
    let first = Rules {
        targets: vec![
            "x-cache-control".parse().unwrap(),
            "cdn-cache-control".parse().unwrap(),
        ],
        ..Rules::default()
    };
    let headers = [
        ("cdn-cache-control", "max-age=60"),
        ("x-cache-control", "max-age=7"),
    ];
    assert_eq!(
        judged(&[], 200, &headers, &first)
            .unwrap()
            .policy
            .lifetime_s,
        7
    );
}

proptest! {
    // req: ED-05
    #[test]
    fn directives_mean_the_same_on_one_line_and_on_many(parts in proptest::collection::vec(
        "(max-age|s-maxage|no-store|private|no-cache|public|x)(=[0-9a\"]{0,6}|)", 0..6,
    )) {
        // A quote that is left open ends with its line, so only closed ones can move.
        let parts: Vec<String> = parts.into_iter().filter(|part| part.matches('"').count() % 2 == 0).collect();
        let lines: Vec<&str> = parts.iter().map(String::as_str).collect();
        let one = parts.join(", ");
        prop_assert_eq!(control(&lines), control(&[&one]));
    }
}
