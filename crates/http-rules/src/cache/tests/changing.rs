use super::*;
use crate::range::Span;

type Lines<'a> = &'a [(&'a str, &'a str)];

fn merged(stored: &[(&str, &str)], news: &[(&str, &str)]) -> Result<HeaderMap, NotTheSame> {
    freshened(&map(stored), &map(news), NOW_MS)
}

// req: ED-05
#[test]
fn a_304_replaces_what_is_said_but_not_what_describes_the_bytes() {
    let stored = [
        ("etag", "\"a\""),
        ("x-both", "old"),
        ("x-kept", "1"),
        ("content-length", "5"),
        ("content-encoding", "gzip"),
        ("repr-digest", "sha-256=:x:"),
        ("content-type", "text/plain"),
        ("age", "100"),
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ];
    let news = [
        ("etag", "\"a\""),
        ("x-both", "new"),
        ("x-both", "newer"),
        ("content-length", "0"),
        ("content-encoding", "br"),
        ("repr-digest", "sha-256=:y:"),
        ("content-type", "text/html"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("cache-control", "max-age=9"),
    ];
    let merged = merged(&stored, &news).unwrap();
    let expected = map(&[
        ("etag", "\"a\""),
        ("x-both", "new"),
        ("x-both", "newer"),
        ("x-kept", "1"),
        ("content-length", "5"),
        ("content-encoding", "gzip"),
        ("repr-digest", "sha-256=:x:"),
        ("content-type", "text/html"),
        ("date", &at(0)),
        ("cache-control", "max-age=9"),
    ]);
    assert_eq!(merged, expected);
}

// req: ED-05
#[test]
fn a_304_about_something_else_changes_nothing() {
    let (monday, tuesday) = (
        "Mon, 09 Nov 2026 00:00:00 GMT",
        "Tue, 10 Nov 2026 00:00:00 GMT",
    );
    let cases: &[(Lines<'_>, Lines<'_>, bool)] = &[
        (&[("etag", "\"a\"")], &[("etag", "\"a\"")], true),
        (&[("etag", "\"a\"")], &[("etag", "\"b\"")], false),
        (&[("etag", "\"a\"")], &[("etag", "W/\"a\"")], true),
        (&[("etag", "W/\"a\"")], &[("etag", "W/\"a\"")], true),
        (&[("etag", "W/\"a\"")], &[("etag", "\"b\"")], false),
        (&[("etag", "\"a\"")], &[], true),
        (&[("etag", "a")], &[("etag", "a")], true),
        (
            &[("last-modified", monday)],
            &[("last-modified", monday)],
            true,
        ),
        (
            &[("last-modified", monday)],
            &[("last-modified", tuesday)],
            false,
        ),
        (&[("last-modified", monday)], &[], true),
    ];
    for (stored, news, expected) in cases {
        assert_eq!(
            merged(stored, news).is_ok(),
            *expected,
            "{stored:?} {news:?}"
        );
    }
}

// req: ED-05
#[test]
fn what_is_kept_is_asked_about_with_all_it_has() {
    let asked: Vec<_> = validators(&map(&[("etag", "W/\"a\""), ("last-modified", "x")])).collect();
    assert_eq!(
        asked[0],
        (
            http::header::IF_NONE_MATCH,
            HeaderValue::from_static("W/\"a\"")
        )
    );
    assert_eq!(
        asked[1],
        (
            http::header::IF_MODIFIED_SINCE,
            HeaderValue::from_static("x")
        )
    );
    assert_eq!(validators(&HeaderMap::new()).count(), 0);
}

// req: ED-05
#[test]
fn success_of_an_unsafe_request_voids_its_target_and_what_it_names_there() {
    let target: http::Uri = "http://a.example/x/y?z=1".parse().unwrap();
    let void = |method: &str, status: u16, lines: &[(&str, &str)]| {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        invalidated(
            &method,
            &target,
            StatusCode::from_u16(status).unwrap(),
            &map(lines),
        )
    };
    for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"] {
        assert_eq!(void(method, 200, &[]), ["/x/y?z=1"], "{method}");
        assert_eq!(void(method, 303, &[]), ["/x/y?z=1"], "{method}");
        assert!(void(method, 500, &[]).is_empty() && void(method, 404, &[]).is_empty());
    }
    assert!(void("GET", 200, &[]).is_empty() && void("HEAD", 200, &[]).is_empty());
    let named = [
        ("http://a.example/b", Some("/b")),
        ("http://A.EXAMPLE/b?c", Some("/b?c")),
        ("//a.example/b", Some("/b")),
        ("/b#part", Some("/b")),
        ("b", Some("/x/b")),
        ("../b/./c?d=..", Some("/b/c?d=..")),
        ("..", Some("/")),
        ("?q", Some("/x/y?q")),
        ("/b/../c?d=/../e", Some("/c?d=/../e")),
        ("http://a.example/b/../c", Some("/c")),
        ("http://a.example:80/b", Some("/b")),
        (
            "b?from=http://b.example/",
            Some("/x/b?from=http://b.example/"),
        ),
        ("https://a.example/b", None),
        ("https://a.example:80/b", None),
        ("http://b.example/b", None),
        ("//b.example/b", None),
        ("http://a.example:81/b", None),
    ];
    for (reference, expected) in named {
        let void = void("POST", 201, &[("location", reference)]);
        assert_eq!(void.get(1).map(String::as_str), expected, "{reference}");
    }
}

// req: ED-05
// attack: L-15
#[test]
fn a_part_says_truly_which_part_it_is() {
    let read = |text: &str| ContentRange::parse(text.as_bytes());
    let span = |first, last| Span { first, last };
    assert_eq!(read("bytes 0-4/10").unwrap().span, span(0, 4));
    assert_eq!(read("Bytes 4-9/*").unwrap().complete, None);
    let bad = [
        "bytes 5-4/10",
        "bytes 0-10/10",
        "bytes */10",
        "bytes -5/10",
        "items 0-4/10",
        "bytes 0-4",
        "bytes +0-4/9",
    ];
    for text in bad.into_iter().chain(["bytes 0-99999999999999999999/*"]) {
        assert_eq!(read(text), None, "{text}");
    }
}
