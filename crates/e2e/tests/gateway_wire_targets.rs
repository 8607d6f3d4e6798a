//! Whom a request is for and what it asks: one host, one path, read by all in the same way, or refused.

use Wanted::{Declined, Passes, Refused};
use e2e::gateway::PATIENCE;
use e2e::site::{Meant, Site, Wanted, cases, meant, request};
use testkit::strict;

const MALFORMED: Wanted = Refused(400, "malformed");

fn got() -> Meant {
    meant("GET", "/t")
}

fn get(lines: &str) -> Vec<u8> {
    request("GET", "/t", lines, "")
}

fn as_is(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

// req: GW-13, GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_and_methods_are_judged_by_what_they_mean() {
    let known =
        "trusted_hops = [\"10.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n";
    let guarded = "[[gateway.routes]]\npath = \"/admin\"\nupstream = \"main\"\nidentity = true\n";
    let site = Site::start(known, guarded).await;
    for path in ["/admin", "/%61dmin", "/adm%69n/x", "/%61%64%6D%69%6E"] {
        assert_eq!(site.gateway.get(path).await.status, 401, "{path}");
    }
    assert_eq!(site.origin.take().concat(), b"");
    let spelled = |path: &str| request("GET", path, "", "");
    let plainly = Passes(meant("GET", "/t~b%2Fc%7B%C3%A9?d=%c3{"));
    let spellings = ["/%74%7Eb%2fc{%c3%a9?d=%c3{", "/t~b%2Fc%7bé?d=%c3{"];
    site.check(cases(&plainly, spellings, spelled)).await;
    for path in ["/t", "/%74"] {
        let query = Passes(meant("GET", "/t?q=%C3%A9&%c3%a9={"));
        let raw = format!("{path}?q=é&%c3%a9={{");
        site.check(cases(&query, [raw], spelled)).await;
    }
    let method = |method: &str| request(method, "/t", "", "");
    let odd = ["get", "Delete", "pATCH", "purge", "m-Search"];
    site.check(cases(&Refused(400, "method-case"), odd, method))
        .await;
}

// req: GW-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_and_a_route_hold_for_a_host_and_a_method_in_every_spelling() {
    let rule = |verdict: &str, about: &str| {
        format!("[[gateway.policy.rules]]\nverdict = \"{verdict}\"\n{about}\n")
    };
    let rules = [
        rule("deny", "hosts = [\"[::1]\", \"*.dot.test.\"]"),
        rule("deny", "methods = [\"PURGE\"]"),
        rule("allow", ""),
    ];
    let away = "[[gateway.routes]]\nhosts = [\"[2001:DB8:0::7]\"]\nredirect = \"/away\"\n";
    let site = Site::start(&rules.concat(), away).await;
    for (line, host, status) in [
        ("GET /t", "[::1]", 403),
        ("GET /t", "[0:0:0:0:0:0:0:1]:80", 403),
        ("GET http://[0::1]/t", "[::0001]", 403),
        ("GET /t", "a.DOT.test", 403),
        ("GET /t", "[2001:db8::7]", 308),
        ("GET /t", "[2001:0db8:0:0::0007]", 308),
        ("PURGE /t", "a.test", 403),
        ("purge /t", "a.test", 400),
        ("PURGe /t", "a.test", 400),
    ] {
        let sent = format!("{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let answer = testkit::http::exchange(site.gateway.door, sent.as_bytes(), PATIENCE).await;
        assert_eq!(answer.expect("an answer").status, status, "{line} {host}");
    }
    assert_eq!(site.origin.take().concat(), b"");
}

// req: GW-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_has_its_path_in_every_spelling() {
    let guarded = [
        ("path", "/caf%C3%A9"),
        ("path", "/tür"),
        ("exact", "/repo/a%2Fb"),
        ("path", "/%61dmin"),
        ("exact", "/%7Eroot"),
        ("path", "/v1/{admin}"),
        ("regex", "/r/%C3%A9+"),
    ];
    let mut routes = String::new();
    for (key, path) in guarded {
        routes += &format!(
            "[[gateway.routes]]\n{key} = \"{path}\"\nupstream = \"main\"\nidentity = true\n"
        );
    }
    let known =
        "trusted_hops = [\"10.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n";
    let site = Site::start(known, &routes).await;
    for path in [
        "/caf%C3%A9",
        "/caf%c3%a9/x",
        "/café",
        "/%63af\u{e9}/x",
        "/tür",
        "/t%C3%BCr",
        "/t%c3%bCr/x",
        "/repo/a%2Fb",
        "/repo/a%2fb",
        "/admin",
        "/%61dmin/x",
        "/~root",
        "/%7eroot",
        "/v1/{admin}",
        "/v1/%7Badmin%7d",
        "/r/é",
        "/r/%c3%a9",
    ] {
        let sent = format!("GET {path} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n");
        let answer = testkit::http::exchange(site.gateway.door, sent.as_bytes(), PATIENCE).await;
        assert_eq!(answer.expect("an answer").status, 401, "{path}");
    }
    assert_eq!(site.origin.take().concat(), b"");
    let long = format!(
        "GET /{} HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "é".repeat(20_000)
    );
    let answer = testkit::http::exchange(site.gateway.door, long.as_bytes(), PATIENCE).await;
    assert_eq!(answer.expect("an answer").status, 414);
}

// req: GW-08
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_call_is_refused_as_a_call() {
    let site = Site::start("", "").await;
    for (method, target, status) in [
        ("CONNECT", "a.test:443", 405),
        ("TRACE", "/t", 405),
        ("GET", "/../t", 400),
        ("POST", "/../t", 200),
    ] {
        let sent = format!(
            "{method} {target} HTTP/1.1\r\nhost: a.test:443\r\ncontent-type: application/grpc\r\n\
             connection: close\r\n\r\n"
        );
        let answer = testkit::http::exchange(site.gateway.door, sent.as_bytes(), PATIENCE).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, status, "{method} {target}");
        let told = answer.header("grpc-status").is_some();
        assert_eq!(told, method == "POST", "{method} {target}");
    }
}

// req: GW-15
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_for_one_host() {
    let site = Site::start("", "").await;
    let hosted = |host: &str| format!("GET /t HTTP/1.1\r\nhost: {host}\r\n\r\n").into_bytes();
    for host in [
        "a.test",
        "A.Test:8080",
        "a.test.",
        "[::1]:80",
        "127.0.0.1",
        "a_b.test",
    ] {
        let same = got().field("host", host).field("x-forwarded-host", host);
        site.check(cases(&Passes(same), [host], hosted)).await;
    }
    let long = "a".repeat(300);
    let odd = [
        "",
        "a,b",
        "a.test, a.test",
        "a b",
        "a\tb",
        "a/b",
        "a?b",
        "a#b",
        "u@a",
        "a:b",
        "a:",
        "a:0",
        "a:99999",
        "a:+80",
        "a:8 0",
        "[::1",
        "[::1]x",
        "[::1]:",
        "::1",
        "[fe80::1%eth0]",
        ".a",
        "a..b",
        ".",
        "a%00",
        "a%2eb",
        "http://a",
        "a\\b",
        "a\"b",
        "a;b",
        "a'b",
        "a(b)",
        "*",
        "caf\u{e9}",
        &long,
    ];
    site.check(cases(&Refused(400, "host-invalid"), odd, hosted))
        .await;
    let missing = [
        "GET /t HTTP/1.1\r\n\r\n",
        "GET http://a.test/t HTTP/1.1\r\n\r\n",
    ];
    site.check(cases(&Refused(400, "host-missing"), missing, as_is))
        .await;
    let several = ["host: a.test\r\n", "Host: b.test\r\n", "hOST:\r\n"];
    site.check(cases(&Refused(400, "host-repeated"), several, get))
        .await;
    for named in ["host", "x-forwarded-host, host, x-forwarded-for"] {
        let lines = format!("connection: {named}\r\nx-forwarded-host: evil\r\n");
        let kept = got()
            .field("host", "a.test")
            .field("x-forwarded-host", "a.test");
        site.check(cases(&Passes(kept), [lines], get)).await;
    }
}

// req: GW-15
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_is_a_path_or_a_url_of_the_same_host() {
    let site = Site::start("", "").await;
    let sent = |target: &str| request("GET", target, "", "");
    let urls = [
        ("http://a.test/t", "/t", "a.test"),
        ("HTTP://A.TEST/t", "/t", "A.TEST"),
        ("http://a.test:80/t?q", "/t?q", "a.test:80"),
        ("http://a.test", "/", "a.test"),
        ("http://a.test?q", "/?q", "a.test"),
    ];
    for (url, target, host) in urls {
        let same = meant("GET", target).field("host", host);
        site.check(cases(&Passes(same), [url], sent)).await;
    }
    let others = [
        "http://b.test/t",
        "http://a.test:81/t",
        "http://a.test.evil/t",
        "http://xa.test/t",
        "https://a.test:80/t",
        "http://[::1]/t",
    ];
    site.check(cases(&Refused(400, "authority-mismatch"), others, sent))
        .await;
    let users = [
        "http://u@a.test/t",
        "http://u:p@a.test/t",
        "http://a.test@b.test/t",
    ];
    site.check(cases(&Refused(400, "userinfo-in-target"), users, sent))
        .await;
    let schemes = [
        "ftp://a.test/t",
        "file://a.test/t",
        "ws://a.test/t",
        "a.test:80",
        "a.test",
    ];
    site.check(cases(&Refused(400, "bad-target"), schemes, sent))
        .await;
    let none = [
        "t",
        "?q",
        "#f",
        "http:/t",
        "http:///t",
        "http://",
        "//",
        "\\t",
        "http://a b/t",
    ];
    for target in none {
        let answer = testkit::http::exchange(site.gateway.door, &sent(target), PATIENCE).await;
        let status = answer.map(|answer| answer.status);
        let slashes = target == "//";
        assert_eq!(status, Ok(if slashes { 200 } else { 400 }), "{target}");
        let seen = site.origin.take();
        assert_eq!(seen.len(), usize::from(slashes), "{target}: {seen:?}");
    }
    site.check(cases(&Refused(400, "bad-target"), ["*"], sent))
        .await;
}

/// The target with an escape for all that may not stand in its path, and for what no target may hold.
fn with_escapes(target: &str) -> String {
    let path = target.find('?').unwrap_or(target.len());
    let escaped = target.bytes().enumerate().map(|(at, byte)| match byte {
        0x80.. => format!("%{byte:02X}"),
        b'"' | b'<' | b'>' | b'[' | b']' | b'^' | b'`' | b'{' | b'|' | b'}' if at < path => {
            format!("%{byte:02X}")
        }
        _ => char::from(byte).to_string(),
    });
    escaped.collect()
}

// req: GW-15
// attack: F-01, F-02, F-03, F-04, F-05, F-06, F-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_is_read_by_all_in_the_same_way_or_refused() {
    let site = Site::start("", "").await;
    let sent = |target: &str| request("GET", target, "", "");
    let good = [
        "/",
        "/t",
        "/a//b",
        "//evil.test/t",
        "/a%2Fb",
        "/%252e%252e/",
        "/a;x=1",
        "/...",
        "/.well-known/x",
        "/a..b",
        "/~",
        "/a%20b",
        "/caf%C3%A9",
        "/a?x=../..",
        "/a?x=%00",
        "/a?%0d%0ax:y",
        "/a?b?c",
        "/a!$&'()*+,;=:@b",
        "/a?x=%",
        "/t?",
    ];
    for target in good {
        site.check(cases(&Passes(meant("GET", target)), [target], sent))
            .await;
    }
    let fragments = ["/t#f", "/t#../evil", "/a/..#f", "/t?q#f"];
    site.check(cases(&MALFORMED, fragments, sent)).await;
    let refused: [(&str, &[&str]); 5] = [
        (
            "path-dot-segment",
            &[
                "/..",
                "/../t",
                "/a/../t",
                "/a/..",
                "/.",
                "/./t",
                "/a/./t",
                "/%2e%2e/t",
                "/%2E./t",
                "/.%2e/t",
                "/a/%2e",
                "/a%2f..%2ft",
                "/..%2ft",
                "/%2e%2e%2ft",
                "/..;/t",
                "/..;x=y/t",
                "/.;/t",
                "/%2e%2e%3b/t",
                "//../t",
                "/..?q",
            ],
        ),
        (
            "path-backslash",
            &["/a\\b", "/..\\t", "/%5c..%5ct", "/a%5Cb", "\\\\evil/t"],
        ),
        (
            "path-control",
            &[
                "/%00",
                "/t%00.css",
                "/a%0d%0ax:y",
                "/%0a",
                "/%7f",
                "/%09",
                "/%1b",
            ],
        ),
        (
            "path-escape",
            &["/%", "/%2", "/%zz", "/%2g", "/%%32e", "/%u002e", "/a%"],
        ),
        (
            "path-utf8",
            &[
                "/%c0%ae%c0%ae/t",
                "/%c0%af",
                "/%e0%80%af",
                "/%ff",
                "/%c3",
                "/%ed%a0%80",
                "/%f5%80%80%80",
            ],
        ),
    ];
    for (reason, targets) in refused {
        // The parser itself takes no backslash at the beginning.
        let (early, late): (Vec<&str>, Vec<&str>) =
            targets.iter().partition(|t| !t.starts_with('/'));
        site.check(cases(&Declined(400, reason), late, sent)).await;
        if !early.is_empty() {
            site.check(cases(&MALFORMED, early, sent)).await;
        }
    }
    let odd = [
        "/\u{e9}",
        "/\x7f",
        "/\x01",
        "/a?\u{e9}",
        "/a?\x7f",
        "/a?\x01",
        "/<>",
        "/\"",
        "/{}",
        "/|",
        "/^",
        "/`",
    ];
    for target in odd {
        let answer = testkit::http::exchange(site.gateway.door, &sent(target), PATIENCE).await;
        let status = answer.map(|answer| answer.status);
        let tapes = site.origin.take();
        match status {
            Ok(400) => assert!(tapes.is_empty(), "{target:?}: {tapes:?}"),
            Ok(200) => {
                let seen = strict::requests(&tapes[0]);
                let seen = seen.unwrap_or_else(|doubt| panic!("{target:?}: {doubt}"));
                assert_eq!(seen[0].target, with_escapes(target));
            }
            other => panic!("{target:?}: {other:?}"),
        }
    }
}
