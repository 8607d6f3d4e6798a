use super::*;

type Lines<'a> = &'a [(&'a str, &'a str)];

// req: ED-05
// attack: F-21, L-09
#[test]
fn what_may_not_be_shared_is_not_kept() {
    let tag = ("etag", "\"a\"");
    let authorized: Lines<'_> = &[("authorization", "Basic eDp5")];
    let cases: &[(Lines<'_>, u16, Lines<'_>, Result<(), WhyNot>)] = &[
        (&[], 200, &[("cache-control", "max-age=9")], Ok(())),
        (
            &[],
            200,
            &[("cache-control", "no-store"), tag],
            Err(WhyNot::NoStore),
        ),
        (
            &[],
            200,
            &[("cache-control", "max-age=9, no-store")],
            Err(WhyNot::NoStore),
        ),
        (
            &[],
            200,
            &[("cache-control", "private, max-age=9")],
            Err(WhyNot::Private),
        ),
        (
            &[],
            200,
            &[("cache-control", "private=\"x\", max-age=9")],
            Ok(()),
        ),
        (
            &[("cache-control", "no-store")],
            200,
            &[("cache-control", "max-age=9")],
            Err(WhyNot::NoStore),
        ),
        (
            authorized,
            200,
            &[("cache-control", "max-age=9")],
            Err(WhyNot::Authorization),
        ),
        (
            authorized,
            200,
            &[("cache-control", "max-age=9, public")],
            Ok(()),
        ),
        (
            authorized,
            200,
            &[("cache-control", "max-age=9, must-revalidate")],
            Ok(()),
        ),
        (authorized, 200, &[("cache-control", "s-maxage=9")], Ok(())),
        (
            authorized,
            200,
            &[("cache-control", "max-age=9, proxy-revalidate")],
            Err(WhyNot::Authorization),
        ),
        (
            &[],
            200,
            &[("cache-control", "max-age=9"), ("set-cookie", "a=b")],
            Err(WhyNot::SetCookie),
        ),
        (
            &[],
            200,
            &[
                ("cache-control", "max-age=9, private=\"a, Set-Cookie\""),
                ("set-cookie", "a=b"),
            ],
            Ok(()),
        ),
        (
            &[],
            200,
            &[
                ("cache-control", "max-age=9, no-cache=\"a\""),
                ("set-cookie", "a=b"),
            ],
            Err(WhyNot::SetCookie),
        ),
        (
            &[],
            200,
            &[("cache-control", "max-age=9"), ("vary", "a, *")],
            Err(WhyNot::VaryStar),
        ),
        (
            &[],
            200,
            &[("cache-control", "no-store, must-understand, max-age=9")],
            Ok(()),
        ),
        (
            &[],
            599,
            &[("cache-control", "no-store, must-understand, max-age=9")],
            Err(WhyNot::Status),
        ),
        (&[], 599, &[("cache-control", "max-age=9")], Ok(())),
        (&[], 599, &[tag], Err(WhyNot::Status)),
        (
            &[],
            304,
            &[("cache-control", "max-age=9")],
            Err(WhyNot::Status),
        ),
        (
            &[],
            103,
            &[("cache-control", "max-age=9")],
            Err(WhyNot::Status),
        ),
        (&[], 200, &[], Err(WhyNot::Useless)),
        (&[], 200, &[tag], Ok(())),
        (&[], 200, &[("cache-control", "no-cache"), tag], Ok(())),
        (
            &[],
            200,
            &[("cache-control", "no-cache, max-age=9")],
            Err(WhyNot::Useless),
        ),
        (
            &[],
            200,
            &[("cache-control", "max-age=9"), ("age", "10")],
            Err(WhyNot::Useless),
        ),
    ];
    for (request, status, response, expected) in cases {
        let found = judged(request, *status, response, &Rules::default()).map(|_| ());
        assert_eq!(found, *expected, "{request:?} {status} {response:?}");
    }
}

// req: ED-05
#[test]
fn only_answers_to_get_are_kept() {
    let headers = map(&[("cache-control", "max-age=9")]);
    for method in [Method::HEAD, Method::POST, Method::OPTIONS, Method::PUT] {
        let asked = Asked {
            method: &method,
            headers: &HeaderMap::new(),
        };
        let answer = Answered {
            status: StatusCode::OK,
            headers: &headers,
            asked_at_ms: NOW_MS,
            came_at_ms: NOW_MS,
        };
        let found = storable(&asked, &answer, &Rules::default());
        assert_eq!(found.unwrap_err(), WhyNot::Method, "{method}");
    }
}

// req: ED-05
#[test]
fn the_number_for_shared_caches_comes_before_the_others() {
    let (past, soon, later) = (at(-10_000), at(60), at(10_000));
    let date = at(0);
    let cases: &[(Lines<'_>, Option<u64>)] = &[
        (&[("cache-control", "s-maxage=7, max-age=9")], Some(7)),
        (
            &[
                ("cache-control", "max-age=9"),
                ("cache-control", "s-maxage=7"),
            ],
            Some(7),
        ),
        (
            &[
                ("cache-control", "s-maxage=x, max-age=9"),
                ("etag", "\"a\""),
            ],
            Some(0),
        ),
        (
            &[("cache-control", "max-age=9"), ("expires", &past)],
            Some(9),
        ),
        (&[("cache-control", "max-age=9"), ("expires", "0")], Some(9)),
        (
            &[
                ("cache-control", "max-age=0"),
                ("expires", &later),
                ("etag", "\"a\""),
            ],
            Some(0),
        ),
        (&[("expires", &soon), ("date", &date)], Some(60)),
        (&[("expires", &soon)], Some(60)),
        (&[("expires", &soon), ("date", "foo")], Some(60)),
        (&[("expires", &later), ("date", &soon)], Some(9940)),
        (
            &[("expires", &soon), ("date", &later), ("etag", "\"a\"")],
            Some(0),
        ),
        (&[("expires", "0"), ("etag", "\"a\"")], Some(0)),
        (
            &[("expires", &soon), ("expires", &soon), ("etag", "\"a\"")],
            Some(0),
        ),
        (&[("expires", &date), ("etag", "\"a\"")], Some(0)),
        (
            &[("expires", &later), ("age", "40"), ("date", &date)],
            Some(9960),
        ),
    ];
    for (headers, expected) in cases {
        assert_eq!(fresh_for(headers), *expected, "{headers:?}");
    }
}

// req: ED-05
#[test]
fn where_nothing_is_said_a_tenth_of_the_unchanged_time_is_guessed() {
    let (changed, date) = (at(-86_400), at(0));
    let headers = [("last-modified", changed.as_str()), ("date", date.as_str())];
    for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
        let kept = judged(&[], status, &headers, &Rules::default()).unwrap();
        assert_eq!(kept.policy.lifetime_s, 8640, "{status}");
    }
    for status in [201, 202, 302, 307, 400, 403, 500, 502, 503, 504, 599] {
        let kept = judged(&[], status, &headers, &Rules::default());
        assert_eq!(kept.unwrap_err(), WhyNot::Status, "{status}");
    }
    let marked = [headers[0], headers[1], ("cache-control", "public")];
    assert_eq!(
        judged(&[], 599, &marked, &Rules::default())
            .unwrap()
            .policy
            .lifetime_s,
        8640
    );
    let long_ago = at(-86_400 * 365);
    let capped = judged(&[], 200, &[("last-modified", &long_ago)], &Rules::default()).unwrap();
    assert_eq!(capped.policy.lifetime_s, 86_400);
    let ahead = at(86_400);
    assert_eq!(fresh_for(&[("last-modified", &ahead)]), Some(0));
}

// req: ED-05
// attack: L-26
#[test]
fn an_operator_may_say_how_long_a_status_is_kept() {
    let rule = |seconds, overrides| Rules {
        lifetimes: vec![Lifetime {
            status: StatusCode::NOT_FOUND,
            seconds,
            overrides,
        }],
        ..Rules::default()
    };
    let lifetime = |headers: Lines<'_>, rules: &Rules| {
        let kept = judged(&[], 404, headers, rules);
        kept.map(|kept| kept.policy.lifetime_s)
    };
    assert_eq!(lifetime(&[], &rule(10, false)), Ok(10));
    assert_eq!(
        lifetime(&[("cache-control", "max-age=5")], &rule(10, false)),
        Ok(5)
    );
    assert_eq!(
        lifetime(&[("cache-control", "max-age=5")], &rule(10, true)),
        Ok(10)
    );
    assert_eq!(
        lifetime(&[("cache-control", "no-store")], &rule(10, true)),
        Err(WhyNot::NoStore)
    );
    assert_eq!(
        lifetime(&[("cache-control", "private")], &rule(10, true)),
        Err(WhyNot::Private)
    );
    assert_eq!(
        judged(&[], 503, &[], &rule(10, true)).unwrap_err(),
        WhyNot::Status
    );
}

// req: ED-05
#[test]
fn cookies_and_named_fields_are_left_out_as_told() {
    let headers = [
        (
            "cache-control",
            "max-age=9, private=\"x-user\", no-cache=\"x-now\"",
        ),
        ("set-cookie", "a=b"),
    ];
    let with = |cookies| {
        let rules = Rules {
            cookies,
            ..Rules::default()
        };
        judged(&[], 200, &headers, &rules).map(|kept| kept.without)
    };
    assert_eq!(with(Cookies::Refuse), Err(WhyNot::SetCookie));
    assert_eq!(with(Cookies::Keep).unwrap(), ["x-user", "x-now"]);
    assert_eq!(
        with(Cookies::Strip).unwrap(),
        ["x-user", "x-now", "set-cookie"]
    );
}
