//! HTTP/1 requests that lead somewhere else: targets, hosts, paths, methods, pipelines, claims of who asks.

use Wanted::{Declined, Passes, PassesLast, Refused};
use e2e::gateway::PATIENCE;
use e2e::site::{Meant, NEXT, Site, Wanted, cases, meant, request};
use testkit::strict;

const MALFORMED: Wanted = Refused(400, "malformed");

fn got() -> Meant {
    meant("GET", "/t")
}

fn get(lines: &str) -> Vec<u8> {
    request("GET", "/t", lines, "")
}

fn post(lines: &str, body: &str) -> Vec<u8> {
    request("POST", "/t", lines, body)
}

fn posted(body: &str) -> Meant {
    meant("POST", "/t").body(body)
}

fn as_is(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
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
        "/a%2fb",
        "/a%2Fb",
        "/%252e%252e/",
        "/a;x=1",
        "/...",
        "/.well-known/x",
        "/a..b",
        "/%7e",
        "/~",
        "/a%20b",
        "/caf%c3%a9",
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
    site.check(cases(&Passes(got()), ["/t#f", "/t#../evil"], sent))
        .await;
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
                "/a/..#f",
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
                assert_eq!(seen[0].target, target, "as it came");
            }
            other => panic!("{target:?}: {other:?}"),
        }
    }
}

// req: GW-15
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_asks_for_more_than_an_answer_is_refused_or_left_out() {
    let site = Site::start("[gateway.timeouts]\nbody_ms = 400\n", "").await;
    let connect = [
        "CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\n\r\n",
        "CONNECT /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "connect /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
    ];
    site.check(cases(&Refused(405, "connect-not-allowed"), connect, as_is))
        .await;
    let trace = [
        "TRACE /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "TrAcE /t HTTP/1.1\r\nhost: a.test\r\nmax-forwards: 0\r\n\r\n",
    ];
    site.check(cases(&Refused(405, "trace-not-allowed"), trace, as_is))
        .await;
    let hello = |lines: &str| post(&format!("content-length: 5\r\n{lines}"), "hello");
    let unmet = [
        "expect: 200-ok\r\n",
        "expect: 100-continue, x\r\n",
        "expect: x 100-continue\r\n",
        "expect: 100-continue\r\nexpect: x\r\n",
        "expect: x\r\nexpect: 100-continue\r\n",
        "expect:\r\n",
        "expect: 100-continued\r\n",
        "expect: 100-continue;x\r\n",
    ];
    site.check(cases(&Refused(417, "unknown-expectation"), unmet, hello))
        .await;
    let met = [
        "Expect: 100-Continue\r\n",
        "expect:100-continue\r\nexpect: 100-continue\r\n",
    ];
    site.check(cases(
        &Passes(posted("hello").without("expect")),
        met,
        hello,
    ))
    .await;
    let left_out = [
        "connection",
        "upgrade",
        "http2-settings",
        "expect",
        "keep-alive",
    ];
    let plain = Passes(
        left_out
            .iter()
            .fold(got(), |meant, name| meant.without(name)),
    );
    let ignored = [
        "expect: 100-continue\r\n",
        "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n",
        "connection: upgrade\r\nupgrade: websocket, h2c\r\n",
        "connection: upgrade\r\nupgrade: H2C\r\n",
        "connection: upgrade\r\nupgrade: h2c/1\r\n",
        "connection: upgrade\r\nupgrade: TLS/1.2\r\n",
        "connection: upgrade\r\nupgrade: HTTP/2.0\r\n",
        "upgrade: websocket\r\n",
        "connection: keep-alive\r\nkeep-alive: timeout=600\r\nproxy-connection: keep-alive\r\n",
    ];
    site.check(cases(&plain, ignored, get)).await;
    let early = ["connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"];
    let asked = Passes(got().field("upgrade", "websocket"));
    site.check(cases(&asked, early, get)).await;
    let unwanted = [
        "POST /../t HTTP/1.1\r\nhost: a.test\r\ncontent-length: 5\r\n\r\nhello",
        "POST /../t HTTP/1.1\r\nhost: a.test\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ];
    site.check(cases(&Declined(400, "path-dot-segment"), unwanted, as_is))
        .await;
}

// req: GW-15
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_has_an_end() {
    let site = Site::start("", "").await;
    let lines = |count: usize| {
        (0..count)
            .map(|n| format!("x-{n}: y\r\n"))
            .collect::<String>()
    };
    let value = |kib: usize| format!("x: {}\r\n", "a".repeat(kib << 10));
    let fine = [lines(90), value(16)];
    site.check(cases(&Passes(got()), fine, get)).await;
    let name = format!("{}: y\r\n", "a".repeat(70_000));
    let large = [lines(100), lines(999), value(64), value(500), name];
    site.check(cases(&Refused(431, "head-too-large"), large, get))
        .await;
    let sent = |target: &str| request("GET", target, "", "");
    let target = |length: usize| format!("/{}", "a".repeat(length - 1));
    let short = target(8_000);
    site.check(cases(&Passes(meant("GET", &short)), [&short], sent))
        .await;
    let long = [
        target(40 << 10),
        target(70_000),
        format!("/?{}", target(70_000)),
    ];
    site.check(cases(&Refused(414, "target-too-long"), long, sent))
        .await;
}

// req: GW-15
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_pipelined_requests_are_answered_in_their_order() {
    let site = Site::start("", "").await;
    let mut connection = site.gateway.connect().await;
    let one = |n: usize| match n % 3 {
        0 => request("GET", &format!("/{n}"), "", ""),
        1 => request("POST", &format!("/{n}"), "content-length: 3\r\n", "abc"),
        _ => request(
            "PUT",
            &format!("/{n}"),
            "transfer-encoding: chunked\r\n",
            "3\r\nabc\r\n0\r\n\r\n",
        ),
    };
    let all: Vec<u8> = (0..100).flat_map(one).collect();
    connection.send(&all).await.expect("a connection");
    for n in 0..100 {
        let answer = connection.response(PATIENCE).await;
        assert_eq!(answer.expect("an answer").status, 200, "{n}");
    }
    let tapes = site.origin.take();
    assert_eq!(tapes.len(), 1, "one at a time needs one connection");
    let seen = strict::requests(&tapes[0]).expect("a hundred requests");
    let targets: Vec<_> = seen.iter().map(|request| request.target.clone()).collect();
    let wanted: Vec<_> = (0..100).map(|n| format!("/{n}")).collect();
    assert_eq!(targets, wanted);
    assert!(
        seen.iter()
            .all(|r| r.body.len() == if r.method == "GET" { 0 } else { 3 })
    );
}

// req: GW-15
// attack
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_1_0_is_answered_and_ends_unless_it_asks_to_be_kept() {
    let site = Site::start("", "").await;
    let last = [
        "GET /t HTTP/1.0\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.0\r\nhost: a.test\r\nconnection: close\r\n\r\n",
        "GET /t HTTP/1.0\r\n\r\n",
    ];
    site.check(cases(&PassesLast(got()), last, as_is)).await;
    let kept = "GET /t HTTP/1.0\r\nhost: a.test\r\nconnection: keep-alive\r\n\r\n";
    let sent = [kept.as_bytes(), NEXT].concat();
    let mut connection = site.gateway.connect().await;
    let answer = connection
        .exchange(&sent, PATIENCE)
        .await
        .expect("an answer");
    assert!(
        answer.headers.lists("connection", "keep-alive"),
        "{answer:?}"
    );
    assert_eq!(
        connection
            .response(PATIENCE)
            .await
            .expect("the next")
            .status,
        200
    );
    let body = "POST /t HTTP/1.0\r\nhost: a.test\r\ncontent-length: 5\r\n\r\nhello";
    site.check(cases(&PassesLast(posted("hello")), [body], as_is))
        .await;
}

// req: GW-12
// attack: H-02, H-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stranger_claims_to_be_goes_no_further() {
    let site = Site::start(
        "trusted_hops = [\"10.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n",
        "",
    )
    .await;
    let unclaimed = got()
        .without("x-tenant")
        .without("forwarded")
        .without("x-real-ip")
        .without("x-original-url")
        .field("x-forwarded-for", "127.0.0.1")
        .field("x-forwarded-proto", "http")
        .field("x-forwarded-host", "a.test");
    let claims = [
        "x-tenant: acme\r\n",
        "X-Tenant: acme\r\nx-tenant: other\r\n",
        "connection: x-tenant\r\nx-tenant: acme\r\n",
        "x-forwarded-for: 6.6.6.6\r\n",
        "X-Forwarded-For: 6.6.6.6\r\nx-forwarded-for: 7.7.7.7, 127.0.0.1\r\n",
        "connection: x-forwarded-for, x-forwarded-host, x-forwarded-proto\r\n",
        "x-forwarded-proto: https\r\nx-forwarded-host: evil\r\nx-forwarded-port: 443\r\n",
        "x-real-ip: 6.6.6.6\r\nx-original-url: /admin\r\n",
    ];
    site.check(cases(&Passes(unclaimed), claims, get)).await;
    let forwarded = ["forwarded: for=6.6.6.6;host=evil\r\n"];
    let own = got().field("forwarded", "for=127.0.0.1;proto=http;host=\"a.test\"");
    let left_out = Passes(got().without("forwarded"));
    let written = Passes(own);
    // Whichever it is, nothing of the claim is left.
    let told = site
        .gateway
        .ask("GET", "/t", &[("forwarded", "for=6.6.6.6")], b"")
        .await;
    assert_eq!(told.expect("an answer").status, 200);
    let tape = site.origin.take().concat();
    let seen = strict::requests(&tape).expect("one request");
    let wanted = if seen[0].one("forwarded").is_some() {
        written
    } else {
        left_out
    };
    site.check(cases(&wanted, forwarded, get)).await;
}

// req: GW-12
// attack: H-02, H-03, H-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_trusted_hop_says_is_one_thing_or_refused() {
    let section =
        "trusted_hops = [\"127.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n";
    let site = Site::start(section, "").await;
    let believed = got()
        .field("x-tenant", "acme")
        .field("x-forwarded-for", "9.9.9.9, 127.0.0.1");
    let said = ["x-tenant: acme\r\nx-forwarded-for: 9.9.9.9\r\n"];
    site.check(cases(&Passes(believed), said, get)).await;
    let twice = [
        "x-tenant: acme\r\nx-tenant: acme\r\n",
        "x-tenant: acme\r\nX-Tenant: other\r\n",
    ];
    site.check(cases(&Declined(400, "identity-ambiguous"), twice, get))
        .await;
    let huge = format!("x-tenant: {}\r\n", "a".repeat(64 << 10));
    site.check(cases(&Refused(431, "head-too-large"), [huge], get))
        .await;
    let odd = [
        format!("x-tenant: {}\r\n", "a".repeat(4 << 10)),
        "x-tenant: a b\r\n".to_owned(),
        "x-tenant: caf\u{e9}\r\n".to_owned(),
    ];
    for line in odd {
        let mut connection = site.gateway.connect().await;
        let answer = connection
            .exchange(&get(&line), PATIENCE)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 400, "{line:.80}: {}", answer.text());
        assert!(site.origin.take().is_empty(), "{line:.80}");
    }
}

// req: GW-09
// attack: H-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_within_what_the_route_allows() {
    let site = Site::start("", "").await;
    let wishes = [
        "request-timeout: 999999999999\r\n",
        "request-timeout: 1e99\r\n",
        "request-timeout: nan\r\n",
        "request-timeout: -1\r\n",
        "request-timeout: 18446744073709551616\r\n",
        "request-timeout: 1\r\nrequest-timeout: 900\r\n",
        "grpc-timeout: 99999999H\r\n",
        "grpc-timeout: -1S\r\n",
        "x-request-deadline: 99999999999999\r\n",
        "x-request-deadline: never\r\n",
        "request-timeout: 0\r\n",
        "grpc-timeout: 0n\r\n",
        "x-request-deadline: 0\r\n",
    ];
    for line in wishes {
        let mut connection = site.gateway.connect().await;
        let answer = connection
            .exchange(&get(line), PATIENCE)
            .await
            .expect("an answer");
        assert!(
            matches!(answer.status, 200 | 504),
            "{line}: {}",
            answer.text()
        );
        for tape in site.origin.take() {
            for seen in strict::requests(&tape).expect("one request") {
                let left: f64 = seen
                    .one("request-timeout")
                    .expect("a deadline")
                    .parse()
                    .expect("a number");
                assert!((0.0..=2.0).contains(&left), "{line}: {left}");
            }
        }
    }
}
