use super::*;

fn rewritten(route: RouteText, uri: &str) -> String {
    let rewrite = Rewrite::compile(&route).unwrap();
    rewrite.apply(uri.parse().unwrap()).unwrap().to_string()
}

fn route(with: &str) -> RouteText {
    RouteText {
        rewrite: Some(with.to_owned()),
        ..RouteText::default()
    }
}

// req: GW-01
#[test]
fn a_rewrite_replaces_what_matched_and_keeps_the_rest_and_the_query() {
    let prefix = |path: &str, with: &str| RouteText {
        path: Some(path.to_owned()),
        ..route(with)
    };
    assert_eq!(rewritten(prefix("/api", "/v2"), "/api/x?y=1"), "/v2/x?y=1");
    assert_eq!(rewritten(prefix("/api", "/"), "/api/x"), "/x");
    assert_eq!(rewritten(prefix("/api", "/"), "/api"), "/");
    assert_eq!(rewritten(prefix("/api/", "/"), "/api/x"), "/x");
    assert_eq!(rewritten(prefix("/", "/base"), "/x"), "/base/x");
    let own = [
        ("/v2?t=7", "/api/x?y=1", "/v2/x?t=7&y=1"),
        ("/v2?t=7", "/api/x", "/v2/x?t=7"),
        ("/v2?t=7", "/api", "/v2?t=7"),
        ("/v2/?t=/", "/api/x&t=8/?y", "/v2/x&t=8/?t=/&y"),
        ("/?t=7", "/api", "/?t=7"),
        ("/?t=7", "/api/x", "/x?t=7"),
        ("/v2?", "/api/x?y", "/v2/x?y"),
    ];
    for (with, uri, sent) in own {
        assert_eq!(rewritten(prefix("/api", with), uri), sent, "{with}");
    }
    let exact = RouteText {
        exact: Some("/a".to_owned()),
        ..route("/b")
    };
    assert_eq!(rewritten(exact, "/a?q"), "/b?q");
    let regex = RouteText {
        regex: Some("/u/([0-9]+)/(.*)".to_owned()),
        ..route("/users/$1?rest=$2")
    };
    assert_eq!(rewritten(regex.clone(), "/u/7/a"), "/users/7?rest=a");
    assert_eq!(
        rewritten(regex, "/u/7/a?b=c"),
        "/users/7?rest=a&b=c",
        "behind the route's own"
    );
}

// attack: F-01, F-02
// req: GW-15
#[test]
fn parts_of_a_good_path_make_no_bad_one() {
    let joined = RouteText {
        regex: Some("/f/(.*)-(.*)".to_owned()),
        ..route("/files/$1$2")
    };
    let rewrite = Rewrite::compile(&joined).unwrap();
    let apply = |uri: &str| rewrite.apply(uri.parse().unwrap());
    assert_eq!(apply("/f/a-b?../").unwrap(), "/files/ab?../");
    for uri in ["/f/.-./etc", "/f/.-%2e/etc", "/f/%2-e./etc", "/f/-."] {
        assert!(matches!(apply(uri), Err(Refusal::Path(_))), "{uri}");
    }
    let twice = RouteText {
        regex: Some("/f/(.*)".to_owned()),
        ..route("/$1$1$1")
    };
    let rewrite = Rewrite::compile(&twice).unwrap();
    let long = format!("/f/{}", "x".repeat(30_000));
    let applied = rewrite.apply(long.parse().unwrap());
    assert!(
        matches!(applied, Err(Refusal::Internal)),
        "not another path"
    );
}

// req: GW-01
#[test]
fn a_rewrite_that_could_never_be_sent_is_no_config() {
    for with in ["a", "/a b", "/a#b", "/../a", "/a\\b"] {
        assert!(Rewrite::compile(&route(with)).is_err(), "{with}");
    }
    let regex = |with| RouteText {
        regex: Some("/(?<id>[0-9]+)/(.*)".to_owned()),
        ..route(with)
    };
    for with in ["/$0", "/$1/$2", "/$id", "/${1}x", "/$$3"] {
        assert!(Rewrite::compile(&regex(with)).is_ok(), "{with}");
    }
    for with in ["/$3", "/$1x", "/${name}"] {
        assert!(Rewrite::compile(&regex(with)).is_err(), "{with}");
    }
}

// req: GW-01
#[test]
fn a_redirect_fills_in_host_path_and_query() {
    let text = RouteText {
        redirect: Some("https://{host}{path}{query}".to_owned()),
        ..RouteText::default()
    };
    let redirect = Redirect::compile(&text).unwrap().unwrap();
    let location = redirect.location("a.example", &"/x?y=1".parse().unwrap());
    assert_eq!(location.unwrap(), "https://a.example/x?y=1");
    assert_eq!(redirect.status, 308);
}

// attack: F-07
// req: GW-15
#[test]
fn a_redirect_leads_where_its_route_says_whatever_is_asked_for() {
    let location = |to: &str, uri: &str| {
        let redirect = Some(to.to_owned());
        let text = RouteText {
            redirect,
            ..RouteText::default()
        };
        let location = Redirect::compile(&text)
            .unwrap()
            .unwrap()
            .location("h.test", &uri.parse().unwrap());
        location.map(|value| value.to_str().unwrap().to_owned())
    };
    let all = [
        ("{path}/", "/a", Some("/a/")),
        ("{path}/", "//evil.test", None),
        (
            "https://n{path}",
            "//evil.test",
            Some("https://n//evil.test"),
        ),
        ("//cdn.test{path}", "/a", Some("//cdn.test/a")),
        ("/x?{query}", "/a?b", Some("/x?b")),
        ("/x?y&{query}", "/a?b", Some("/x?y&b")),
        ("/x?y{query}", "/a?b", Some("/x?y&b")),
        ("/x?y{query}", "/a", Some("/x?y")),
        ("/x{path}", "/{query}?b", Some("/x/{query}")),
    ];
    for (to, uri, expected) in all {
        assert_eq!(location(to, uri).as_deref(), expected, "{to} {uri}");
    }
}

// req: GW-13
#[test]
fn a_rewrite_replaces_a_path_in_any_spelling_and_writes_it_in_one() {
    for (path, with, uri, sent) in [
        ("/%61pi", "/v2", "/api/x", "/v2/x"),
        ("/café", "/%7Ejoe", "/caf%C3%A9/x?%c3", "/~joe/x?%c3"),
        ("/v1", "/ö/{x}?{é}", "/v1/y", "/%C3%B6/%7Bx%7D/y?{%C3%A9}"),
    ] {
        let prefix = RouteText {
            path: Some(path.to_owned()),
            ..route(with)
        };
        assert_eq!(rewritten(prefix, uri), sent, "{path} {with}");
    }
    let exact = RouteText {
        exact: Some("/a%2fb".to_owned()),
        ..route("/ö")
    };
    assert_eq!(rewritten(exact, "/a%2Fb"), "/%C3%B6");
    let regex = RouteText {
        regex: Some("/u/(.*)".to_owned()),
        ..route("/ö/${1}/%7e?ö=$1")
    };
    let sent = "/%C3%B6/a%2Fb/~?%C3%B6=a%2Fb&{";
    assert_eq!(rewritten(regex, "/u/a%2Fb?{"), sent);
}

// req: GW-01
#[test]
fn a_redirect_that_leads_nowhere_is_no_config() {
    for to in ["/x{other}", "/x{", "/x{path", "/a\nb", "/a b", "/ä"] {
        let redirect = Some(to.to_owned());
        let text = RouteText {
            redirect,
            ..RouteText::default()
        };
        assert!(Redirect::compile(&text).is_err(), "{to}");
    }
}

// req: KN-13
#[test]
fn what_is_wrong_with_a_target_is_told_without_its_secrets() {
    let regex = |with: &str| RouteText {
        regex: Some("/r/(.*)".to_owned()),
        ..route(with)
    };
    let rewrites = [
        route("x?apikey=S3CR3T"),
        route("/a b?apikey=S3CR3T"),
        route("/../a?apikey=S3CR3T"),
        route("/a?apikey=S3CR3T\u{7f}"),
        regex("/$7?apikey=S3CR3T"),
        regex("/?apikey=$S3CR3T"),
    ];
    let redirects = [
        "https:// u:S3CR3T@x/",
        "https://u:S3CR3T@x/{other}",
        "/{other}?apikey=S3CR3T",
        "/?apikey={S3CR3T}",
        "/?apikey=S3CR3T ",
    ];
    let rewrites = rewrites.map(|text| Rewrite::compile(&text).unwrap_err());
    let redirects = redirects.map(|to| {
        let redirect = Some(to.to_owned());
        Redirect::compile(&RouteText {
            redirect,
            ..RouteText::default()
        })
        .unwrap_err()
    });
    for said in rewrites.iter().chain(&redirects) {
        assert!(!said.contains("S3CR3T") && said.contains("***"), "{said}");
    }
}

// req: GW-01
#[test]
fn edits_remove_and_set() {
    let text = RouteText {
        set_request: [("X-A".to_owned(), "1".to_owned().into())].into(),
        remove_request: vec!["x-b".to_owned()],
        ..RouteText::default()
    };
    let mut headers = HeaderMap::new();
    headers.insert("x-b", HeaderValue::from_static("secret"));
    Edits::of_requests(&text).apply(&mut headers);
    assert_eq!(headers.len(), 1);
    assert_eq!(headers["x-a"], "1");
}
