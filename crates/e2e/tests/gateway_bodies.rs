//! Bodies that are too long, too slow, cut short or grow when decoded: refused, and no origin takes one for whole.

use std::io::Write as _;
use std::time::{Duration, Instant};

use Wanted::{Broken, Declined, Passes, Refused};
use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::site::{Case, Site, Wanted, cases, counted, meant, request};
use e2e::wait::eventually;
use testkit::http::{self, Failure};
use testkit::strict::{self, Doubt};
use testkit::upstream::{Reply, Upstream};

const LONG: Wanted = Refused(413, "body-too-large");

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

// req: GW-05
// attack: D-01, D-02, A-45
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_is_no_longer_than_allowed_whether_it_says_so_or_not() {
    let site = Site::start("[gateway.limits]\nbody_bytes = 1000\n", "").await;
    let sized = |length: usize| {
        move |_: &str| {
            let body = "x".repeat(length);
            request(
                "POST",
                "/t",
                &format!("content-length: {length}\r\n"),
                &body,
            )
        }
    };
    let chunked_by = |method: &'static str, size: usize, times: usize| {
        move |_: &str| {
            let chunk = format!("{size:x}\r\n{}\r\n", "x".repeat(size));
            let body = format!("{}0\r\n\r\n", chunk.repeat(times));
            request(method, "/t", "transfer-encoding: chunked\r\n", &body)
        }
    };
    let chunked = |size: usize, times: usize| chunked_by("POST", size, times);
    let whole = || Passes(meant("POST", "/t").body("x".repeat(1000)));
    site.check(cases(&whole(), ["as long as allowed"], sized(1000)))
        .await;
    site.check(cases(
        &whole(),
        ["chunks as long as allowed"],
        chunked(100, 10),
    ))
    .await;
    site.check(cases(&LONG, ["one byte more"], sized(1001)))
        .await;
    site.check(cases(&LONG, ["a million more"], sized(1 << 20)))
        .await;
    let crossing = Broken(413, "body-too-large");
    site.check(cases(&crossing, ["one chunk too long"], chunked(1001, 1)))
        .await;
    site.check(cases(&crossing, ["one chunk too many"], chunked(1, 1001)))
        .await;
    site.check(cases(&crossing, ["chunks without end"], chunked(500, 2000)))
        .await;
    let put = chunked_by("PUT", 100, 11);
    site.check(cases(&crossing, ["what could be asked twice"], put))
        .await;

    // Who asks first is told before it sends anything, and not to go on.
    let asks = request(
        "POST",
        "/t",
        "content-length: 2000\r\nexpect: 100-continue\r\n",
        "",
    );
    let answer = http::exchange(site.gateway.door, &asks, PATIENCE).await;
    let answer = answer.expect("an answer");
    assert_refusal(&answer, 413, "body-too-large");
    assert!(
        answer.interim.is_empty() && !answer.keeps_alive,
        "{answer:?}"
    );
    assert!(site.origin.take().is_empty());
}

// req: GW-05
// attack: D-04, D-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_ends_early_never_becomes_a_request_and_gives_its_place_back() {
    let site = Site::start("", "limit = 1\n").await;
    let bodies = [
        ("content-length: 100\r\n", "part of it"),
        ("transfer-encoding: chunked\r\n", "5\r\nhello\r\n"),
        ("transfer-encoding: chunked\r\n", "5\r\nhel"),
        ("transfer-encoding: chunked\r\n", "5\r\nhello\r\n0\r\n"),
    ];
    for method in ["POST", "PUT"] {
        for (lines, part) in bodies {
            for reset in [false, true] {
                let before = site.refusals().await;
                let mut client = site.gateway.connect().await;
                let sent = request(method, "/t", lines, part);
                client.send(&sent).await.expect("a connection");
                tokio::time::sleep(ms(30)).await;
                match reset {
                    true => client.reset().expect("a socket"),
                    false => client.half_close().await.expect("a socket"),
                }
                // There is one place: it must be free again.
                let began = Instant::now();
                let next = site.gateway.get("/next").await;
                assert_eq!(next.status, 200, "{method} {lines}{part:?} {reset}");
                assert!(began.elapsed() < ms(500), "{:?}", began.elapsed());
                for tape in site.origin.take() {
                    let whole = strict::requests(&tape);
                    let next = whole
                        .iter()
                        .flatten()
                        .all(|request| request.target == "/next");
                    let cut = whole == Err(Doubt::Unfinished);
                    assert!(cut || (whole.is_ok() && next), "{whole:?}");
                }
                let gone = || async { counted(&before, &site.refusals().await) };
                eventually("it is counted", ms(2000), async || {
                    gone().await.get("client-gone") == Some(&1)
                })
                .await;
            }
        }
    }
}

// req: GW-05, GW-11
// attack: D-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_bodies_are_their_senders_fault_and_close_no_origin_to_others() {
    let site = Site::start("[gateway.timeouts]\nrequest_ms = 500\n", "limit = 100\n").await;
    let bodies = [
        request("POST", "/t", "content-length: 100\r\n", "begin"),
        request("PUT", "/t", "content-length: 100\r\n", "begin"),
        request(
            "POST",
            "/t",
            "transfer-encoding: chunked\r\n",
            "5\r\nbegin\r\n",
        ),
        request(
            "POST",
            "/t",
            "content-type: application/grpc\r\ncontent-length: 100\r\n",
            "",
        ),
    ];
    let before = site.refusals().await;
    let mut clients = Vec::new();
    for sent in bodies.iter().cycle().take(40) {
        let mut client = site.gateway.connect().await;
        client.send(sent).await.expect("a connection");
        clients.push(client);
    }
    for (client, number) in clients.iter_mut().zip(0..) {
        let answer = client.response(PATIENCE).await.expect("an answer");
        match number % bodies.len() {
            // A call of gRPC is told in its own way: 4 is a deadline that has passed.
            3 => assert_eq!(answer.header("grpc-status"), Some("4"), "{answer:?}"),
            _ => assert_refusal(&answer, 408, "body-timeout"),
        }
        assert!(!answer.keeps_alive);
    }
    assert_eq!(counted(&before, &site.refusals().await)["body-timeout"], 40);
    for _ in 0..5 {
        assert_eq!(site.gateway.get("/next").await.status, 200);
    }
}

/// Sends a body under this coding to the route that decodes; what came of it for the client and the origin.
async fn coded(site: &Site, coding: &str, body: &[u8]) -> (http::Response, Vec<Vec<u8>>) {
    let headers = [("content-encoding", coding)];
    let answer = site.gateway.ask("POST", "/decoded", &headers, body).await;
    tokio::time::sleep(ms(20)).await;
    (answer.expect("an answer"), site.origin.take())
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

fn br(plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let params = brotli::enc::BrotliEncoderParams::default();
    brotli::BrotliCompress(&mut &plain[..], &mut out, &params).expect("memory");
    out
}

fn zst(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 19).expect("memory")
}

/// A frame of nothing that asks for a window of so many bits.
fn window(log: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1, 0, 0]
}

// req: GW-05
// attack: D-05, D-06, D-07, D-08, D-09, D-10, D-11, D-12, D-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coded_body_is_sent_on_decoded_or_refused_before_it_has_grown() {
    let decodes = "[[gateway.routes]]\npath = \"/decoded\"\nupstream = \"main\"\ndecode = true\n";
    let site = Site::start("", decodes).await;
    let zeros = vec![0; 32 << 20];
    let (small, text) = (vec![0; 60 << 10], b"hello, hello".repeat(50));
    let mut wrong = gzip(&text);
    let at = wrong.len() - 5;
    wrong[at] ^= 1;
    let good: [(&str, Vec<u8>, &[u8]); 9] = [
        ("gzip", gzip(&text), &text),
        ("GZIP", gzip(&text), &text),
        ("x-gzip", gzip(&text), &text),
        ("br", br(&text), &text),
        ("zstd", zst(&text), &text),
        ("gzip", gzip(&small), &small),
        ("br", br(&small), &small),
        ("zstd", zst(&small), &small),
        (
            "gzip",
            [gzip(&text[..300]), gzip(&text[300..])].concat(),
            &text,
        ),
    ];
    for (coding, body, plain) in good {
        let (answer, tapes) = coded(&site, coding, &body).await;
        assert_eq!(answer.status, 200, "{coding}: {}", answer.text());
        let seen = strict::requests(&tapes.concat()).expect("one request");
        assert_eq!(seen.len(), 1);
        assert!(
            seen[0].body == plain,
            "{coding}: {} bytes",
            seen[0].body.len()
        );
        assert_eq!(seen[0].one("content-encoding"), None);
    }
    let members = gzip(&small).repeat(100);
    let bad = [
        ("gzip", gzip(&zeros), 413, "decoded-ratio"),
        ("br", br(&zeros), 413, "decoded-ratio"),
        ("zstd", zst(&zeros), 413, "decoded-ratio"),
        ("gzip", members, 413, "decoded-ratio"),
        ("zstd", window(24), 413, "decoded-window"),
        ("zstd", window(31), 413, "decoded-window"),
        ("gzip, gzip", gzip(&gzip(&text)), 415, "several-codings"),
        ("br,gzip", gzip(&br(&text)), 415, "several-codings"),
        ("deflate", text.clone(), 415, "unknown-coding"),
        ("cow", text.clone(), 415, "unknown-coding"),
        ("gzip;q=1", gzip(&text), 415, "unknown-coding"),
        ("gzip", gzip(&text)[..20].to_vec(), 400, "decoded-truncated"),
        ("br", br(&text)[..10].to_vec(), 400, "decoded-truncated"),
        ("zstd", zst(&text)[..10].to_vec(), 400, "decoded-truncated"),
        ("gzip", wrong, 400, "decoded-broken"),
        ("gzip", text.clone(), 400, "decoded-broken"),
        (
            "gzip",
            [gzip(&text), b"junk".to_vec()].concat(),
            400,
            "decoded-trailing",
        ),
        (
            "gzip",
            [gzip(&text), vec![0; 8]].concat(),
            400,
            "decoded-trailing",
        ),
    ];
    for (coding, body, status, reason) in bad {
        let before = site.refusals().await;
        let (answer, tapes) = coded(&site, coding, &body).await;
        assert_refusal(&answer, status, reason);
        assert_eq!(
            counted(&before, &site.refusals().await).len(),
            1,
            "{coding}"
        );
        for tape in tapes {
            assert_eq!(strict::requests(&tape), Err(Doubt::Unfinished), "{coding}");
            assert!(tape.len() < 1 << 20, "{coding}: {} bytes", tape.len());
        }
    }
    let answer = site.gateway.get("/next").await;
    assert_eq!(answer.status, 200, "none of it speaks against the origin");
}

// req: GW-05
// attack: D-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_a_coded_body_does_not_make_it_whole() {
    let decodes = "[[gateway.routes]]\npath = \"/decoded\"\nupstream = \"main\"\ndecode = true\n";
    let site = Site::start("", decodes).await;
    let text = b"hello, hello".repeat(50);
    for (coding, body) in [
        ("gzip", gzip(&text)),
        ("br", br(&text)),
        ("zstd", zst(&text)),
    ] {
        for (body, status) in [(&body[..body.len() - 6], 400), (&body[..], 200)] {
            let head = format!(
                "POST /decoded HTTP/1.1\r\nhost: a.test\r\ncontent-encoding: {coding}\r\n\
                 transfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n",
                body.len()
            );
            let end = b"\r\n0\r\nx-sum: 1\r\nx-tenant: acme\r\n\r\n";
            let sent = [head.as_bytes(), body, end].concat();
            let answer = http::exchange(site.gateway.door, &sent, PATIENCE).await;
            let answer = answer.expect("an answer");
            assert_eq!(answer.status, status, "{coding}: {}", answer.text());
        }
    }
}

// req: GW-05
// attack: D-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_says_nothing_of_a_coding_that_is_undone_nor_of_one_without_a_body() {
    let decodes = "[[gateway.routes]]\npath = \"/t\"\nupstream = \"main\"\ndecode = true\n";
    let site = Site::start("", decodes).await;
    let empty = |lines: &str| request("POST", "/t", &format!("{lines}content-length: 0\r\n"), "");
    let plain = meant("POST", "/t").without("content-encoding");
    let known = ["content-encoding: gzip\r\n", "content-encoding: br\r\n"];
    site.check(cases(&Passes(plain), known, empty)).await;
    let unknown = ["content-encoding: cow\r\n", "content-encoding: br;q=1\r\n"];
    let wanted = Declined(415, "unknown-coding");
    site.check(cases(&wanted, unknown, empty)).await;
    let body = gzip(b"hello");
    let digests = ["content-digest", "repr-digest", "digest", "content-md5"];
    let mut headers = digests.map(|name| (name, "YQ==")).to_vec();
    headers.push(("content-encoding", "gzip"));
    let answer = site.gateway.ask("POST", "/t", &headers, &body).await;
    assert_eq!(answer.expect("an answer").status, 200);
    let tapes = site.origin.take();
    let seen = strict::requests(&tapes.concat()).expect("one request");
    assert_eq!(seen[0].body, b"hello");
    for (gone, _) in headers {
        assert_eq!(seen[0].one(gone), None, "{gone}");
    }
}

// req: GW-05
// attack: D-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coded_body_is_sent_on_as_it_is_where_nobody_decodes() {
    let site = Site::start("", "").await;
    let case = |lines: &str| Case {
        name: lines.to_owned(),
        sent: request(
            "POST",
            "/t",
            &format!("{lines}content-length: 4\r\n"),
            "junk",
        ),
        wanted: Passes(
            meant("POST", "/t")
                .body("junk")
                .field("content-encoding", "gzip, br"),
        ),
    };
    site.check([case("content-encoding: gzip, br\r\n")]).await;
    let unread = request("POST", "/../t", "content-length: 4\r\n", "junk");
    let kept = |_: &str| unread.clone();
    site.check(cases(&Declined(400, "path-dot-segment"), ["unread"], kept))
        .await;
}

// req: GW-15
// attack: D-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_stops_reading_is_closed_and_gives_its_place_back() {
    let upstream = Upstream::start().await.expect("an origin");
    upstream.set("/large", Reply::status(200).body(vec![b'x'; 16 << 20]));
    let timeouts = "[gateway.timeouts]\nwrite_ms = 500\n";
    let section = format!("{timeouts}{}", to(upstream.addr(), "limit = 1\n"));
    let gateway = Gateway::start(&section).await;
    let mut stuck = gateway.connect().await;
    let ask = request("GET", "/large", "", "");
    stuck.send(&ask).await.expect("a connection");
    let began = Instant::now();
    eventually("the write has timed out", ms(3000), async || {
        let metrics = gateway.metrics().await;
        metrics.sum("io_timeouts_total", &[("op", "write")]) == 1.0
    })
    .await;
    let took = began.elapsed();
    assert!((ms(450)..ms(1500)).contains(&took), "{took:?}");
    assert_eq!(gateway.get("/small").await.status, 200);
    let rest = stuck.response(PATIENCE).await;
    let cut = matches!(rest, Err(Failure::Truncated | Failure::ResetMidResponse));
    assert!(cut, "{:?}", rest.map(|answer| answer.status));
}
