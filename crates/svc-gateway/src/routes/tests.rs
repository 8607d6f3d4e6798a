use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;

use super::*;
use crate::config::RouteText;

fn router(routes: &[RouteText]) -> Router<usize> {
    let compiled = routes.iter().enumerate();
    Router::new(
        compiled
            .map(|(index, text)| (Matcher::compile(text).unwrap(), index))
            .collect(),
    )
}

fn ask(router: &Router<usize>, method: &str, host: &str, path: &str) -> Option<usize> {
    ask_with(router, method, host, path, &HeaderMap::new())
}

fn ask_with(
    router: &Router<usize>,
    method: &str,
    host: &str,
    path: &str,
    headers: &HeaderMap,
) -> Option<usize> {
    let method: Method = method.parse().unwrap();
    match router.find(Question {
        host,
        path,
        method: &method,
        headers,
    }) {
        Found::Route(index) => Some(*index),
        _ => None,
    }
}

fn prefix(path: &str) -> RouteText {
    RouteText {
        path: Some(path.to_owned()),
        ..RouteText::default()
    }
}

fn on(host: &str, route: RouteText) -> RouteText {
    RouteText {
        hosts: vec![host.to_owned()],
        ..route
    }
}

// req: GW-01
#[test]
fn the_longest_prefix_wins_and_ends_at_a_segment() {
    let router = router(&[
        prefix("/"),
        prefix("/api"),
        prefix("/api/v2"),
        prefix("/dir/"),
    ]);
    for (path, route) in [
        ("/", 0),
        ("/apix", 0),
        ("/api", 1),
        ("/api/", 1),
        ("/api/v1", 1),
        ("/api/v2", 2),
        ("/api/v2/x/y", 2),
        ("/dir", 0),
        ("/dir/", 3),
        ("/dir/x", 3),
    ] {
        assert_eq!(ask(&router, "GET", "a", path), Some(route), "{path}");
    }
}

// req: GW-01
#[test]
fn a_path_of_many_segments_costs_no_more_looks_than_prefixes_have_lengths() {
    let long = "/x".repeat(40);
    let router = router(&[
        prefix("/a"),
        prefix("/b"),
        prefix("/abc/d"),
        prefix(&long),
        prefix(&long.replace('x', "y")),
        prefix(&"/".repeat(300)),
    ]);
    let path = "/".repeat(30_000);
    let looks: Vec<_> = router.anywhere.splits(&path).collect();
    let ends: Vec<_> = looks.iter().map(|(prefix, _)| prefix.len()).collect();
    assert_eq!(ends, [299, 80, 6, 2], "the longest first");
    assert_eq!(ask(&router, "GET", "h", &path), Some(5));
    let below = format!("{long}/y");
    assert_eq!(ask(&router, "GET", "h", &below), Some(3));
    let beside = format!("{long}y");
    let looks = router.anywhere.splits(&beside);
    let ends: Vec<_> = looks.map(|(prefix, _)| prefix.len()).collect();
    assert_eq!(ends, [6, 2], "no prefix ends within a segment");
}

// req: GW-01
#[test]
fn an_exact_path_wins_over_a_prefix_and_that_over_a_regex() {
    let exact = RouteText {
        exact: Some("/a/b".to_owned()),
        ..RouteText::default()
    };
    let regex = RouteText {
        regex: Some("/a/.*|/c/[0-9]+".to_owned()),
        ..RouteText::default()
    };
    let router = router(&[regex, prefix("/a"), exact]);
    assert_eq!(ask(&router, "GET", "h", "/a/b"), Some(2));
    assert_eq!(ask(&router, "GET", "h", "/a/b/c"), Some(1));
    assert_eq!(ask(&router, "GET", "h", "/c/12"), Some(0));
    assert_eq!(
        ask(&router, "GET", "h", "/c/12x"),
        None,
        "the whole path must match"
    );
}

// req: GW-01
#[test]
fn a_regex_wins_over_what_takes_any_path_and_over_no_other_prefix() {
    let regex = |pattern: &str| RouteText {
        regex: Some(pattern.to_owned()),
        ..RouteText::default()
    };
    // What `gateway.to` is short for comes last, and has no path at all.
    let short = RouteText::default();
    let router = router(&[
        prefix("/"),
        regex("/user/[0-9]+"),
        prefix("/user/7"),
        regex("/user/.*"),
        short,
    ]);
    for (path, route) in [
        ("/user/8", 1),
        ("/user/7", 2),
        ("/user/7/x", 2),
        ("/user/x", 3),
        ("/user", 0),
        ("/", 0),
    ] {
        assert_eq!(ask(&router, "GET", "a", path), Some(route), "{path}");
    }
}

// req: GW-01
#[test]
fn the_nearest_host_wins() {
    let router = router(&[
        prefix("/"),
        on("*.example.com", prefix("/")),
        on("*.eu.example.com", prefix("/")),
        on("api.example.com", prefix("/only")),
    ]);
    assert_eq!(ask(&router, "GET", "example.com", "/"), Some(0));
    assert_eq!(ask(&router, "GET", "x.example.com", "/"), Some(1));
    assert_eq!(ask(&router, "GET", "x.eu.example.com", "/"), Some(2));
    assert_eq!(ask(&router, "GET", "api.example.com", "/only/a"), Some(3));
    assert_eq!(
        ask(&router, "GET", "api.example.com", "/else"),
        Some(1),
        "what its own routes do not take, the wider ones may"
    );
    assert_eq!(ask(&router, "GET", "evil-example.com", "/"), Some(0));
}

// req: GW-01
#[test]
fn methods_and_headers_choose_among_equals_and_a_wrong_method_is_told() {
    let post = RouteText {
        methods: vec!["POST".to_owned()],
        ..prefix("/a")
    };
    let canary = RouteText {
        headers: [("x-canary".to_owned(), "yes".to_owned().into())].into(),
        ..prefix("/a")
    };
    let any_value = RouteText {
        headers: [("x-beta".to_owned(), "*".to_owned().into())].into(),
        methods: vec!["GET".to_owned()],
        ..prefix("/a")
    };
    let router = router(&[post, canary, any_value]);
    assert_eq!(ask(&router, "POST", "h", "/a"), Some(0));
    let mut headers = HeaderMap::new();
    headers.append("x-canary", HeaderValue::from_static("no"));
    assert_eq!(ask_with(&router, "GET", "h", "/a", &headers), None);
    headers.append("x-canary", HeaderValue::from_static("yes"));
    assert_eq!(ask_with(&router, "GET", "h", "/a", &headers), Some(1));
    headers.append("x-beta", HeaderValue::from_static("1"));
    assert_eq!(
        ask_with(&router, "GET", "h", "/a", &headers),
        Some(2),
        "more conditions win"
    );
    let method = Method::DELETE;
    let found = router.find(Question {
        host: "h",
        path: "/a/x",
        method: &method,
        headers: &HeaderMap::new(),
    });
    let Found::OtherMethod(allowed) = found else {
        panic!("{found:?}");
    };
    assert_eq!(allowed.value(), "POST", "only what would be taken");
}

// req: GW-01
#[test]
fn a_host_has_one_form_in_routes_and_one_no_request_has_is_none() {
    let written = |host: &str| hosts(&[host.to_owned()]).map(|mut hosts| hosts.remove(0));
    for (host, form) in [
        ("API.test", "api.test"),
        ("api.test.", "api.test"),
        ("*.API.test.", "*.api.test"),
        ("[0:0::0:1]", "[::1]"),
        ("[2001:DB8::A]", "[2001:db8::a]"),
        ("127.0.0.1", "127.0.0.1"),
        ("_a", "_a"),
    ] {
        assert_eq!(written(host).as_deref(), Ok(form), "{host}");
    }
    let long = "a".repeat(254);
    let below = format!("*.{}", "a".repeat(252));
    for host in [
        "",
        ".",
        "*.",
        "*",
        ".x.test",
        "a..b",
        "a.test..",
        "[zzz]",
        "[::1",
        "::1",
        "[::1]:80",
        "[::1%25lo]",
        "*.[::1]",
        "*.*.a",
        "a:",
        "a:80",
        "a b",
        "é.test",
        &long,
        &below,
    ] {
        assert!(written(host).is_err(), "{host}");
    }
}

#[test]
fn what_cannot_match_is_refused_when_it_is_read() {
    let wrong = |text: RouteText| Matcher::compile(&text).unwrap_err()[0].key;
    assert_eq!(wrong(prefix("api")), "path");
    assert_eq!(wrong(on("a b", prefix("/"))), "hosts");
    assert_eq!(wrong(on("a:80", prefix("/"))), "hosts");
    let both = RouteText {
        exact: Some("/".to_owned()),
        ..prefix("/")
    };
    assert_eq!(wrong(both), "path");
    let regex = |pattern: &str| RouteText {
        regex: Some(pattern.to_owned()),
        ..RouteText::default()
    };
    assert_eq!(wrong(regex("(")), "regex");
    assert_eq!(wrong(regex("(a{1000}){1000}")), "regex");
    for misspelled in ["/café", "/a%2fb", "/%7Ejoe/.*", "/%61dmin", "/%c3."] {
        assert_eq!(wrong(regex(misspelled)), "regex", "{misspelled}");
    }
    for spelled in ["/caf%C3%A9", "/a%2F[b-f]", "/%[0-9A-F]{2}", "/a%+f", "/%"] {
        assert!(Matcher::compile(&regex(spelled)).is_ok(), "{spelled}");
    }
    let methods = RouteText {
        methods: vec!["get".to_owned()],
        ..RouteText::default()
    };
    assert_eq!(wrong(methods), "methods");
}

/// What the documentation says, in the plainest way.
fn reference(routes: &[RouteText], host: &str, path: &str) -> Option<usize> {
    let host_rank = |text: &RouteText| {
        let ranks = text
            .hosts
            .iter()
            .filter_map(|pattern| match pattern.strip_prefix("*.") {
                Some(suffix) => host
                    .strip_suffix(suffix)
                    .is_some_and(|rest| rest.ends_with('.'))
                    .then_some(suffix.len()),
                None => (pattern == host).then_some(usize::MAX),
            });
        if text.hosts.is_empty() {
            Some(0)
        } else {
            ranks.max()
        }
    };
    let path_rank = |text: &RouteText| {
        if let Some(pattern) = &text.regex {
            let whole = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
            return whole.is_match(path).then_some(1);
        }
        let prefix = text.path.as_deref().unwrap_or("/");
        let inside = match prefix.strip_suffix('/') {
            Some(_) => path.starts_with(prefix),
            None => path == prefix || path.starts_with(&format!("{prefix}/")),
        };
        // More than an expression's, unless it takes everything.
        inside.then(|| prefix.trim_end_matches('/').len())
    };
    let ranked = routes.iter().enumerate().filter_map(|(index, text)| {
        Some((host_rank(text)?, path_rank(text)?, std::cmp::Reverse(index)))
    });
    { ranked }.max().map(|(_, _, index)| index.0)
}

proptest! {
    // req: GW-01
    #[test]
    fn finding_agrees_with_trying_all(
        routes in prop::collection::vec(("(\\*\\.)?[ab](\\.[ab]){0,2}|", "(/[ab]){0,3}/?|/[ab]\\*"), 1..12),
        host in "[ab](\\.[ab]){0,3}",
        path in "(/[ab]){1,4}/?",
    ) {
        let texts: Vec<RouteText> = routes.iter().map(|(host, path)| RouteText {
            hosts: if host.is_empty() { vec![] } else { vec![host.clone()] },
            path: (!path.ends_with('*')).then(|| if path.is_empty() { "/".to_owned() } else { path.clone() }),
            regex: path.strip_suffix('*').map(|path| format!("{path}/.*")),
            ..RouteText::default()
        }).collect();
        prop_assert_eq!(ask(&router(&texts), "GET", &host, &path), reference(&texts, &host, &path));
    }
}
