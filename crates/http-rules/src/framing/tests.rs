use super::*;
use http::Request;
use std::collections::HashSet;

fn parts(version: Version, method: &str, target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder()
        .version(version)
        .method(method)
        .uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn h1(headers: &[(&str, &str)]) -> Result<(String, Option<u16>), Bad> {
    of(&parts(Version::HTTP_11, "GET", "/", headers))
}

fn h2(headers: &[(&str, &str)]) -> Result<(String, Option<u16>), Bad> {
    of(&parts(Version::HTTP_2, "GET", "https://a/", headers))
}

fn of(parts: &Parts) -> Result<(String, Option<u16>), Bad> {
    check(parts).map(|clean| (clean.authority.host.into_owned(), clean.authority.port))
}

fn post(lines: &[&str]) -> Result<(), Bad> {
    let mut headers = vec![("host", "a")];
    headers.extend(lines.iter().map(|line| ("transfer-encoding", *line)));
    h1(&headers).map(|_| ())
}

// req: GW-15
#[test]
fn a_plain_request_is_clean() {
    let clean = parts(
        Version::HTTP_11,
        "POST",
        "/x?y",
        &[
            ("Host", "A.example:81"),
            ("content-length", "5"),
            ("te", "trailers"),
            ("connection", "keep-alive"),
        ],
    );
    let clean = check(&clean).unwrap();
    assert_eq!(clean.authority.host, "a.example");
    assert_eq!(clean.authority.port, Some(81));
    assert_eq!(clean.authority.text, "A.example:81");
    assert!(!clean.expects_continue);
}

// attack
#[test]
fn transfer_encoding_is_one_line_that_says_chunked_or_refused() {
    assert_eq!(post(&["chunked"]), Ok(()));
    assert_eq!(post(&["Chunked"]), Ok(()));
    let odd: &[&[&str]] = &[
        &["chunked", "chunked"],
        &["chunked, chunked"],
        &["identity, chunked"],
        &["identity"],
        &["identity", "chunked"],
        &["chunked", "identity"],
        &[",chunked"],
        &["chunked,"],
        &[""],
        &["gzip, chunked"],
        &["chunked;q=1"],
        &["xchunked"],
        &["\"chunked\""],
        &["chunked "],
        &["\tchunked"],
        &["chunke\u{212a}"],
    ];
    for lines in odd {
        assert_eq!(post(lines), Err(Bad::TransferEncoding), "{lines:?}");
    }
}

// attack
#[test]
fn old_versions_have_no_codings_and_older_ones_no_place() {
    let old = parts(
        Version::HTTP_10,
        "POST",
        "/",
        &[("transfer-encoding", "chunked")],
    );
    assert_eq!(of(&old), Err(Bad::TransferEncoding));
    assert_eq!(
        of(&parts(Version::HTTP_09, "GET", "/", &[])),
        Err(Bad::Version)
    );
}

// attack, B-20
#[test]
fn lengths_are_digits_and_agree() {
    assert!(h2(&[("content-length", "1"), ("content-length", "1")]).is_ok());
    assert!(h2(&[("content-length", "0")]).is_ok());
    assert_eq!(
        h2(&[("content-length", "1"), ("content-length", "2")]),
        Err(Bad::ContentLength)
    );
    for odd in ["1, 1", "+1", "-1", "0x1", "", " 1", "1e3", "01", "00"] {
        assert_eq!(
            h2(&[("content-length", odd)]),
            Err(Bad::ContentLength),
            "{odd:?}"
        );
    }
}

// attack
#[test]
fn there_is_exactly_one_host() {
    assert_eq!(h1(&[]), Err(Bad::HostMissing));
    assert_eq!(h1(&[("host", "a"), ("host", "a")]), Err(Bad::HostRepeated));
    for odd in ["", "a,b", "a b", "a/b", "u@a", "a:x"] {
        assert_eq!(h1(&[("host", odd)]), Err(Bad::HostInvalid), "{odd:?}");
    }
    let old = parts(Version::HTTP_10, "GET", "/", &[]);
    assert_eq!(of(&old), Ok((String::new(), None)));
    let raw = HeaderValue::from_bytes(b"a\xff").unwrap();
    let mut parts = parts(Version::HTTP_11, "GET", "/", &[]);
    parts.headers.insert("host", raw);
    assert_eq!(of(&parts), Err(Bad::HostInvalid));
}

// attack
#[test]
fn an_absolute_target_and_host_name_the_same_place() {
    let absolute = |target, host| of(&parts(Version::HTTP_11, "GET", target, &[("host", host)]));
    assert_eq!(absolute("http://a/x", "A"), Ok(("a".into(), None)));
    assert_eq!(absolute("http://a:80/x", "a"), Ok(("a".into(), Some(80))));
    assert_eq!(absolute("http://a/x", "b"), Err(Bad::AuthorityMismatch));
    assert_eq!(absolute("http://a:81/x", "a"), Err(Bad::AuthorityMismatch));
    assert_eq!(absolute("http://a/x", "a,b"), Err(Bad::HostInvalid));
    assert_eq!(absolute("http://u@a/x", "a"), Err(Bad::Userinfo));
    assert_eq!(absolute("http://u:p@a/x", "a"), Err(Bad::Userinfo));
    assert_eq!(absolute("ftp://a/x", "a"), Err(Bad::Target));
    let alone = parts(Version::HTTP_11, "GET", "http://a/x", &[]);
    assert_eq!(of(&alone), Err(Bad::HostMissing));
}

#[test]
fn a_target_is_a_path_or_a_star_for_options() {
    let with = |method, target| of(&parts(Version::HTTP_11, method, target, &[("host", "a")]));
    assert!(with("OPTIONS", "*").is_ok());
    assert_eq!(with("GET", "*"), Err(Bad::Target));
    assert_eq!(with("GET", "a"), Err(Bad::Target));
    assert_eq!(with("GET", "a:80"), Err(Bad::Target));
}

// attack
#[test]
fn tunnels_and_echoes_are_not_offered() {
    assert_eq!(
        of(&parts(
            Version::HTTP_11,
            "CONNECT",
            "a:1",
            &[("host", "a:1")]
        )),
        Err(Bad::Connect)
    );
    assert_eq!(
        of(&parts(Version::HTTP_11, "TRACE", "/", &[("host", "a")])),
        Err(Bad::Trace)
    );
    let other_case = |method| of(&parts(Version::HTTP_11, method, "/", &[("host", "a")]));
    assert_eq!(other_case("TrAcE"), Err(Bad::Trace));
    assert_eq!(other_case("connect"), Err(Bad::Connect));
    assert_eq!(
        other_case("TRACES"),
        Ok(("a".to_owned(), None)),
        "a method of somebody's own"
    );
    assert_eq!((Bad::Connect.status(), Bad::Trace.status()), (405, 405));
}

// req: GW-13
#[test]
fn a_method_in_other_letters_than_capitals_is_refused() {
    let with = |method| of(&parts(Version::HTTP_11, method, "/", &[("host", "a")]));
    for method in [
        "get", "Post", "delete", "dElETE", "Head", "purge", "PURGe", "m-search",
    ] {
        assert_eq!(with(method), Err(Bad::MethodCase), "{method}");
    }
    for method in [
        "DELETE", "PATCH", "HEAD", "PROPFIND", "PURGE", "M-SEARCH", "X_1",
    ] {
        assert!(with(method).is_ok(), "{method}");
    }
}

// attack: A-46
#[test]
fn only_100_continue_may_be_expected() {
    let expecting = |value| {
        parts(
            Version::HTTP_11,
            "PUT",
            "/",
            &[("host", "a"), ("expect", value)],
        )
    };
    assert!(check(&expecting("100-Continue")).unwrap().expects_continue);
    for odd in ["", "200-ok", "100-continue, x", "100-continue "] {
        assert_eq!(check(&expecting(odd)), Err(Bad::Expect), "{odd:?}");
    }
    assert_eq!(Bad::Expect.status(), 417);
}

// attack: A-51
#[test]
fn a_name_with_an_underscore_is_refused() {
    for name in [
        "x_tenant",
        "content_length",
        "transfer_encoding",
        "x_forwarded-for",
        "a_",
        "_",
    ] {
        assert_eq!(
            h1(&[("host", "a"), (name, "1")]),
            Err(Bad::Underscore),
            "{name}"
        );
        assert_eq!(h2(&[(name, "1")]), Err(Bad::Underscore), "{name}");
    }
}

// attack: A-51
#[test]
fn a_name_that_may_be_read_as_another_is_refused() {
    for name in ["x.tenant", "x!tenant", "content.length", "a~"] {
        let named = [("host", "a"), (name, "1")];
        assert_eq!(h1(&named), Err(Bad::Alias), "{name}");
        assert_eq!(h2(&[(name, "1")]), Err(Bad::Alias), "{name}");
    }
    assert!(h2(&[("x-amz-meta-a.b", "1")]).is_ok());
}

// attack: A-51
#[test]
fn whoever_gives_names_a_meaning_is_told_of_names_with_dots() {
    for (name, dotted) in [("x-amz-meta-a.b", true), ("x-amz-meta-a-b", false)] {
        let request = http::Request::get("/")
            .header("host", "a")
            .header(name, "1");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(check(&parts).unwrap().dotted, dotted, "{name}");
    }
}

// attack: B-17
#[test]
fn a_pseudo_authority_and_host_name_the_same_place() {
    assert_eq!(h2(&[]), Ok(("a".into(), None)));
    assert!(h2(&[("host", "a:443")]).is_ok());
    assert_eq!(h2(&[("host", "b")]), Err(Bad::AuthorityMismatch));
    assert_eq!(h2(&[("host", "a"), ("host", "a")]), Err(Bad::HostRepeated));
    let neither = parts(Version::HTTP_2, "GET", "/", &[]);
    assert_eq!(of(&neither), Err(Bad::HostMissing));
    let host_only = parts(Version::HTTP_2, "GET", "/", &[("host", "a")]);
    assert!(of(&host_only).is_ok());
}

// attack: B-18
#[test]
fn frames_leave_nothing_to_say_about_the_connection() {
    let about = [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("keep-alive", "1"),
        ("proxy-connection", "close"),
        ("te", "gzip"),
    ];
    for header in about {
        assert_eq!(h2(&[header]), Err(Bad::ConnectionHeader), "{header:?}");
    }
    assert!(h2(&[("te", "trailers")]).is_ok());
}

// req: GW-08
#[test]
fn every_refusal_has_its_own_code_and_a_sentence() {
    let reasons: HashSet<_> = Bad::ALL.iter().map(|bad| bad.reason()).collect();
    assert_eq!(reasons.len(), Bad::ALL.len());
    for bad in Bad::ALL {
        assert!((400..500).contains(&bad.status()), "{bad:?}");
        assert!(
            bad.reason()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        );
        assert!(bad.to_string().ends_with('.'), "{bad:?}");
    }
}
