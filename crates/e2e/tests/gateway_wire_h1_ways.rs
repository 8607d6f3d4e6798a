//! HTTP/1 requests that want more than an answer, come without end or one behind the other.

use Wanted::{Declined, Passes, PassesLast, Refused};
use e2e::gateway::PATIENCE;
use e2e::site::{Meant, NEXT, Site, Wanted, cases, meant, request};
use testkit::strict;

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
    ];
    site.check(cases(&PassesLast(got()), last, as_is)).await;
    let endpoints = got().field("host", site.origin.addr().to_string());
    let endpoints = PassesLast(endpoints.without("x-forwarded-host"));
    site.check(cases(&endpoints, ["GET /t HTTP/1.0\r\n\r\n"], as_is))
        .await;
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

// req: GW-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_go_on_as_far_as_they_may() {
    let site = Site::start("", "").await;
    let told = |left: &str| Passes(meant("OPTIONS", "/t").field("max-forwards", left));
    let options = |left: &str| request("OPTIONS", "/t", &format!("max-forwards: {left}\r\n"), "");
    site.check(cases(&told("4"), ["5"], options)).await;
    site.check(cases(&told("0"), ["1"], options)).await;
    site.check(cases(&told("x"), ["x"], options)).await;
    let get = Passes(got().field("max-forwards", "0"));
    site.check(cases(&get, ["max-forwards: 0\r\n"], self::get))
        .await;
    let answer = site
        .gateway
        .ask("OPTIONS", "/t", &[("max-forwards", "0")], b"")
        .await;
    assert_eq!(answer.expect("an answer").status, 204);
    assert_eq!(site.origin.take().concat(), b"");
}
