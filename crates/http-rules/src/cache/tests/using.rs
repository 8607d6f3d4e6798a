use super::*;

fn kept(control: &str) -> Policy {
    let headers = [("cache-control", control), ("etag", "\"a\"")];
    let rules = Rules {
        stale_if_error_s: 60,
        ..Rules::default()
    };
    judged(&[], 200, &headers, &rules).unwrap().policy
}

fn wish(control: &str) -> Wish {
    Wish::of(&map(&[("cache-control", control)]))
}

#[derive(Debug, PartialEq, Eq)]
enum Use {
    Fresh,
    Refresh,
    Ask,
    AskElseStale,
}

fn use_of(control: &str, wanted: &str, after_ms: u64) -> Use {
    match kept(control).decide(&wish(wanted), NOW_MS + after_ms) {
        Decision::Fresh { .. } => Use::Fresh,
        Decision::Refresh { .. } => Use::Refresh,
        Decision::Validate { if_error: true, .. } => Use::AskElseStale,
        Decision::Validate {
            if_error: false, ..
        } => Use::Ask,
    }
}

// req: ED-05
#[test]
fn fresh_until_the_last_millisecond_and_not_a_moment_longer() {
    assert_eq!(use_of("max-age=10", "", 9_999), Use::Fresh);
    assert_eq!(use_of("max-age=10", "", 10_000), Use::AskElseStale);
    assert_eq!(use_of("max-age=10", "", 69_999), Use::AskElseStale);
    assert_eq!(use_of("max-age=10", "", 70_000), Use::Ask);
    assert_eq!(kept("max-age=10").ttl_s(NOW_MS + 9_500), 0);
    assert_eq!(kept("max-age=10").ttl_s(NOW_MS + 10_500), -1);
    assert_eq!(kept("max-age=10").age_s(NOW_MS + 9_999), 9);
}

// req: ED-05
// attack: H-05
#[test]
fn what_came_out_of_the_future_is_asked_about() {
    let decide = |ahead_ms, wanted| {
        kept("max-age=10, stale-while-revalidate=9").decide(&wish(wanted), NOW_MS - ahead_ms)
    };
    assert!(matches!(
        decide(60_000, ""),
        Decision::Fresh { age_s: 0, .. }
    ));
    for wanted in ["", "max-stale", "stale-if-error=99999999999"] {
        let unsure = Decision::Validate {
            was_fresh: false,
            if_error: false,
        };
        assert_eq!(decide(60_001, wanted), unsure, "{wanted}");
        assert_eq!(decide(NOW_MS, wanted), unsure, "{wanted}");
    }
}

// req: ED-05
#[test]
fn stale_answers_are_given_only_as_far_as_the_origin_allows() {
    let cases = [
        ("max-age=1, stale-while-revalidate=4", 4_999, Use::Refresh),
        (
            "max-age=1, stale-while-revalidate=4",
            5_000,
            Use::AskElseStale,
        ),
        ("max-age=1, stale-if-error=5", 5_999, Use::AskElseStale),
        ("max-age=1, stale-if-error=5", 6_000, Use::Ask),
        ("max-age=1, stale-if-error=0", 1_000, Use::Ask),
        ("max-age=1, must-revalidate", 1_000, Use::Ask),
        ("max-age=1, proxy-revalidate", 1_000, Use::Ask),
        (
            "max-age=1, must-revalidate, stale-if-error=9",
            1_000,
            Use::Ask,
        ),
        (
            "max-age=1, must-revalidate, stale-while-revalidate=9",
            1_000,
            Use::Ask,
        ),
        ("s-maxage=1", 1_000, Use::Ask),
        ("s-maxage=1, stale-while-revalidate=9", 1_000, Use::Refresh),
        ("max-age=9, no-cache", 0, Use::Ask),
        ("max-age=9, no-cache, stale-while-revalidate=9", 0, Use::Ask),
    ];
    for (control, after_ms, expected) in cases {
        assert_eq!(
            use_of(control, "", after_ms),
            expected,
            "{control} after {after_ms}"
        );
    }
}

// req: ED-05
#[test]
fn a_client_may_ask_for_fresher_and_accept_staler() {
    let cases = [
        ("max-age=100", "no-cache", 0, Use::AskElseStale),
        ("max-age=100", "max-age=0", 0, Use::AskElseStale),
        ("max-age=100", "max-age=5", 5_000, Use::Fresh),
        ("max-age=100", "max-age=5", 6_000, Use::AskElseStale),
        ("max-age=100", "min-fresh=50", 49_999, Use::Fresh),
        ("max-age=100", "min-fresh=50", 50_000, Use::AskElseStale),
        ("max-age=10", "max-stale", 100_000, Use::Fresh),
        ("max-age=10", "max-stale=20", 29_999, Use::Fresh),
        ("max-age=10", "max-stale=20", 30_000, Use::AskElseStale),
        ("max-age=10, must-revalidate", "max-stale", 11_000, Use::Ask),
        ("max-age=10, no-cache", "max-stale", 0, Use::Ask),
        (
            "max-age=10, stale-if-error=0",
            "stale-if-error=9",
            11_000,
            Use::AskElseStale,
        ),
        (
            "max-age=10, must-revalidate",
            "stale-if-error=9",
            11_000,
            Use::Ask,
        ),
        ("max-age=100", "no-cache=x, foo", 0, Use::Fresh),
    ];
    for (control, wanted, after_ms, expected) in cases {
        assert_eq!(
            use_of(control, wanted, after_ms),
            expected,
            "{control} for {wanted} after {after_ms}"
        );
    }
}

// req: ED-05
#[test]
fn pragma_speaks_only_where_cache_control_is_silent() {
    assert!(Wish::of(&map(&[("pragma", "foo, No-Cache")])).no_cache);
    assert!(
        !Wish::of(&map(&[
            ("pragma", "no-cache"),
            ("cache-control", "max-stale")
        ]))
        .no_cache
    );
    assert!(!Wish::of(&map(&[("pragma", "foo")])).no_cache);
    assert!(wish("only-if-cached").only_if_cached && wish("no-store").no_store);
}

// req: ED-05
#[test]
fn a_cache_says_what_it_did() {
    let hit = Outcome {
        ttl_s: Some(376),
        ..Outcome::default()
    };
    assert_eq!(hit.value("macronode"), "macronode; hit; ttl=376");
    let miss = Outcome {
        forwarded: Some(Forwarded::Stale),
        origin_status: Some(StatusCode::NOT_MODIFIED),
        ttl_s: Some(-4),
        stored: true,
        collapsed: true,
        detail: Some("no-store"),
    };
    let expected =
        "macronode; fwd=stale; fwd-status=304; ttl=-4; stored; collapsed; detail=no-store";
    assert_eq!(miss.value("macronode"), expected);
    assert_eq!(age_value(u64::MAX), u64::MAX.to_string());
}
