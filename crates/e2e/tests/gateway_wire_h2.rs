//! HTTP/2 that no request may be, or that would be another one in HTTP/1: reset, ended or refused, never sent on.

use std::time::Duration;

use Came::{Answer, End, Refusal, Reset};
use e2e::site::{Meant, Site, counted, meant};
use testkit::frames::kind::{
    CONTINUATION, DATA, GOAWAY, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use testkit::frames::{END_HEADERS, END_STREAM, PADDED, Peer, block, frame, remembered};
use testkit::recorder::ANSWER;
use testkit::strict;

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

const WHOLE: u8 = END_HEADERS | END_STREAM;

type Field<'a> = (&'a str, &'a str);

/// What came of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Came {
    /// It was reset.
    Reset(u32),
    /// The connection ended with it.
    End(u32),
    /// It was refused, with a status and a reason.
    Refusal(u16, String),
    /// It was answered by the origin.
    Answer,
    /// It was refused without a word, by the codec.
    TooLarge,
}

/// A GET of `/t` at `a.test`, with these fields behind it.
fn get(fields: &[Field<'_>]) -> Vec<u8> {
    of(&[
        [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/t"),
            (":authority", "a.test"),
        ]
        .as_slice(),
        fields,
    ]
    .concat())
}

fn of(fields: &[Field<'_>]) -> Vec<u8> {
    let bytes: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        .collect();
    frame(HEADERS, WHOLE, 1, &block(&bytes))
}

/// The same with a body: frames behind a head that does not end the stream.
fn post(fields: &[Field<'_>], rest: &[Vec<u8>]) -> Vec<u8> {
    let mut head = get(fields);
    head[4] = END_HEADERS;
    let at = head
        .windows(3)
        .position(|word| word == b"GET")
        .expect("a method");
    head.splice(at - 1..at + 3, [4, b'P', b'O', b'S', b'T']);
    let length = u32::try_from(head.len() - 9)
        .expect("a short head")
        .to_be_bytes();
    head[..3].copy_from_slice(&length[1..]);
    [head, rest.concat()].concat()
}

fn data(flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, flags, 1, bytes)
}

/// Sends these frames on a connection of their own, and says what came of stream 1; then whether the connection lives.
async fn came(site: &Site, frames: &[u8]) -> (Came, bool) {
    let mut peer = Peer::open(site.gateway.door, &[])
        .await
        .expect("a connection");
    peer.send(frames).await;
    let listening = async {
        let (mut body, mut bare) = (Vec::new(), false);
        loop {
            let Some(frame) = peer.listener.next().await else {
                return End(u32::MAX);
            };
            match frame.kind {
                RST_STREAM if body.is_empty() => return Reset(frame.code().expect("a code")),
                GOAWAY => return End(frame.code().expect("a code")),
                HEADERS => bare = frame.flags & END_STREAM != 0,
                DATA => body.extend(&frame.payload),
                _ => continue,
            }
            if bare {
                return Came::TooLarge;
            }
            if matches!(frame.kind, DATA) && frame.flags & END_STREAM != 0 {
                break;
            }
        }
        if body == ANSWER.as_bytes() {
            return Answer;
        }
        let page: serde_json::Value = serde_json::from_slice(&body).expect("a problem");
        let status = page["status"].as_u64().expect("a status");
        let reason = page["reason"].as_str().expect("a reason");
        Refusal(u16::try_from(status).expect("a status"), reason.to_owned())
    };
    let came = tokio::time::timeout(Duration::from_secs(5), listening)
        .await
        .expect("an end");
    if matches!(came, End(_)) {
        let (_, closed) = peer.listener.all(Duration::from_secs(2)).await;
        assert!(closed, "a connection that has ended is closed");
        return (came, false);
    }
    let mut next = get(&[]);
    next[8] = 3;
    peer.send(&next).await;
    let living = async {
        while let Some(frame) = peer.listener.next().await {
            if frame.stream == 3 && frame.kind == DATA {
                return frame.payload.starts_with(ANSWER.as_bytes());
            }
        }
        false
    };
    let lives = tokio::time::timeout(Duration::from_secs(5), living)
        .await
        .expect("an answer");
    (came, lives)
}

/// Nothing of these reaches the origin; each comes to one of the ends that are allowed.
async fn refused(site: &Site, cases: &[(&str, Vec<u8>, &[Came])]) {
    let mut report = Vec::new();
    for (name, frames, allowed) in cases {
        let before = site.refusals().await;
        let _ = site.origin.take();
        let (came, lives) = came(site, frames).await;
        let tape = site.origin.take().concat();
        let seen = strict::requests(&tape);
        let others = seen.as_ref().map(|seen| {
            seen.iter()
                .filter(|r| r.one("x-evil").is_some() || r.target != "/t")
                .count()
        });
        let count = seen.as_ref().map(Vec::len);
        let reasons = counted(&before, &site.refusals().await);
        let wanted = match &came {
            Refusal(_, reason) => vec![reason.clone()],
            _ => Vec::new(),
        };
        let right = allowed.contains(&came)
            && (lives || matches!(came, End(_)))
            && count == Ok(usize::from(lives))
            && others == Ok(0)
            && reasons.keys().eq(wanted.iter());
        if !right {
            report.push(format!(
                "{name}: {came:?}, lives: {lives}, counted {reasons:?}, the origin saw {:?}",
                String::from_utf8_lossy(&tape)
            ));
        }
    }
    assert!(report.is_empty(), "\n{}", report.join("\n"));
}

fn no(status: u16, reason: &str) -> Came {
    Refusal(status, reason.to_owned())
}

// req: GW-15
// attack: B-17, B-18, B-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_that_no_request_has_never_go_on() {
    let site = Site::start("", "").await;
    let (method, scheme, path, authority) = (
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/t"),
        (":authority", "a.test"),
    );
    let bad = [
        Reset(PROTOCOL_ERROR),
        End(PROTOCOL_ERROR),
        no(400, "bad-target"),
        no(400, "malformed"),
        no(400, "host-missing"),
    ];
    let heads: Vec<(&str, Vec<Field<'_>>)> = vec![
        ("no method", vec![scheme, path, authority]),
        ("no scheme", vec![method, path, authority]),
        ("no path", vec![method, scheme, authority]),
        ("no authority", vec![method, scheme, path]),
        ("two methods", vec![method, method, scheme, path, authority]),
        ("two schemes", vec![method, scheme, scheme, path, authority]),
        (
            "two paths",
            vec![method, scheme, path, (":path", "/evil"), authority],
        ),
        (
            "two authorities",
            vec![method, scheme, path, authority, (":authority", "evil")],
        ),
        (
            "a pseudo field behind",
            vec![method, scheme, path, ("x", "y"), authority],
        ),
        (
            "an unknown pseudo field",
            vec![method, scheme, path, authority, (":evil", "y")],
        ),
        (
            "a status",
            vec![method, scheme, path, authority, (":status", "200")],
        ),
        (
            "a protocol",
            vec![method, scheme, path, authority, (":protocol", "websocket")],
        ),
        (
            "an empty path",
            vec![method, scheme, (":path", ""), authority],
        ),
        (
            "a path without a slash",
            vec![method, scheme, (":path", "t"), authority],
        ),
        (
            "a path with a blank",
            vec![method, scheme, (":path", "/t HTTP/1.1"), authority],
        ),
        (
            "a path with a request",
            vec![
                method,
                scheme,
                (":path", "/t HTTP/1.1\r\nhost: evil\r\n\r\nGET /evil"),
                authority,
            ],
        ),
        (
            "a path with a line feed",
            vec![method, scheme, (":path", "/t\nx-evil: y"), authority],
        ),
        (
            "a path that is a URL",
            vec![method, scheme, (":path", "http://evil/t"), authority],
        ),
        ("a star", vec![method, scheme, (":path", "*"), authority]),
        (
            "a method with a line end",
            vec![
                (":method", "GET / HTTP/1.1\r\nx-evil: y\r\n\r\nGET"),
                scheme,
                path,
                authority,
            ],
        ),
        (
            "a method with a blank",
            vec![(":method", "GET /evil"), scheme, path, authority],
        ),
        (
            "an empty method",
            vec![(":method", ""), scheme, path, authority],
        ),
        (
            "an empty scheme",
            vec![method, (":scheme", ""), path, authority],
        ),
        (
            "a scheme with a host",
            vec![method, (":scheme", "http://evil/?"), path, authority],
        ),
        (
            "an authority with a line end",
            vec![method, scheme, path, (":authority", "a.test\r\nx-evil: y")],
        ),
        (
            "an authority with a blank",
            vec![method, scheme, path, (":authority", "a.test evil")],
        ),
        (
            "an authority with a path",
            vec![method, scheme, path, (":authority", "a.test/evil")],
        ),
        (
            "an empty authority",
            vec![method, scheme, path, (":authority", "")],
        ),
    ];
    let cases: Vec<_> = heads
        .iter()
        .map(|(name, fields)| (*name, of(fields), &bad[..]))
        .collect();
    refused(&site, &cases).await;

    let bad = [
        Reset(PROTOCOL_ERROR),
        End(PROTOCOL_ERROR),
        End(COMPRESSION_ERROR),
    ];
    let fields = [
        ("x", "a\r\nx-evil: b"),
        ("x", "a\nx-evil: b"),
        ("x", "a\rb"),
        ("x", "a\0b"),
        ("x", "\r\n\r\nGET /evil HTTP/1.1"),
        ("X", "capital"),
        ("x-Evil", "capital"),
        ("x y", "blank"),
        ("x:", "colon"),
        ("x\r\nx-evil: y", "line"),
        ("", "empty"),
        ("x\0", "zero"),
        (" x", "blank before"),
        ("x ", "blank behind"),
        ("x\x7f", "delete"),
        ("x-\u{e9}", "latin"),
        ("connection", "close"),
        ("connection", "x-evil"),
        ("keep-alive", "1"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("upgrade", "h2c"),
        ("te", "gzip"),
        ("te", "trailers, chunked"),
    ];
    let heads: Vec<_> = fields
        .iter()
        .map(|field| (format!("{field:?}"), get(&[*field])))
        .collect();
    let cases: Vec<_> = heads
        .iter()
        .map(|(name, head)| (&**name, head.clone(), &bad[..]))
        .collect();
    refused(&site, &cases).await;
}

// req: GW-15
// attack: B-17, A-35, A-36, A-38, A-40, A-41, A-46, A-51
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_in_http_1_is_refused_in_http_2_by_the_same_reason() {
    let site = Site::start("", "").await;
    let head = |method: &'static str, path: &'static str, authority: &'static str| {
        of(&[
            (":method", method),
            (":scheme", "http"),
            (":path", path),
            (":authority", authority),
        ])
    };
    let cases = [
        (
            "another host",
            get(&[("host", "evil")]),
            vec![no(400, "authority-mismatch"), Reset(PROTOCOL_ERROR)],
        ),
        (
            "two hosts",
            get(&[("host", "a.test"), ("host", "a.test")]),
            vec![no(400, "host-repeated"), Reset(PROTOCOL_ERROR)],
        ),
        (
            "a list of hosts",
            get(&[("host", "a.test, evil")]),
            vec![no(400, "host-invalid"), Reset(PROTOCOL_ERROR)],
        ),
        (
            "a user",
            head("GET", "/t", "u@a.test"),
            vec![no(400, "userinfo-in-target"), Reset(PROTOCOL_ERROR)],
        ),
        (
            "a list",
            head("GET", "/t", "a,b"),
            vec![no(400, "host-invalid"), Reset(PROTOCOL_ERROR)],
        ),
        (
            "TRACE",
            head("TRACE", "/t", "a.test"),
            vec![no(405, "trace-not-allowed")],
        ),
        (
            "trace",
            head("trace", "/t", "a.test"),
            vec![no(405, "trace-not-allowed")],
        ),
        (
            "CONNECT",
            of(&[(":method", "CONNECT"), (":authority", "a.test:443")]),
            vec![no(405, "connect-not-allowed")],
        ),
        (
            "an expectation",
            get(&[("expect", "x")]),
            vec![no(417, "unknown-expectation")],
        ),
        (
            "an alias",
            get(&[("x_tenant", "x")]),
            vec![no(400, "underscore-in-header-name")],
        ),
        (
            "dots",
            head("GET", "/../t", "a.test"),
            vec![no(400, "path-dot-segment")],
        ),
        (
            "escaped dots",
            head("GET", "/%2e%2e/t", "a.test"),
            vec![no(400, "path-dot-segment")],
        ),
        (
            "zero",
            head("GET", "/%00", "a.test"),
            vec![no(400, "path-control")],
        ),
        (
            "backslash",
            head("GET", "/a\\b", "a.test"),
            vec![no(400, "path-backslash")],
        ),
    ];
    let cases: Vec<_> = cases
        .iter()
        .map(|(name, head, came)| (*name, head.clone(), &came[..]))
        .collect();
    refused(&site, &cases).await;
}

/// Sends these frames; the origin sees exactly this.
async fn passes(site: &Site, name: &str, frames: &[u8], meant: Meant) {
    let _ = site.origin.take();
    let (came, lives) = came(site, frames).await;
    assert_eq!((came, lives), (Answer, true), "{name}");
    let tapes = site.origin.take();
    let requests = tapes.iter().map(|tape| {
        strict::requests(tape)
            .unwrap_or_else(|doubt| panic!("{name}: {doubt}: {:?}", String::from_utf8_lossy(tape)))
    });
    let mut seen: Vec<_> = requests.flatten().collect();
    assert_eq!(seen.len(), 2, "{name}: {seen:?}");
    // The plain one that follows may come over another connection.
    seen.sort_by_key(|request| request.one("x-case").is_none());
    let compared = meant.field("x-case", "1").compare(&seen[0]);
    assert_eq!(compared, Ok(()), "{name}");
}

// req: GW-15
// attack: B-18, B-19, B-20, A-10, A-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_one_request_in_http_2_is_the_same_one_in_http_1() {
    let site = Site::start("", "").await;
    let case = ("x-case", "1");
    let got = || {
        meant("GET", "/t")
            .field("host", "a.test")
            .without("transfer-encoding")
    };
    let posted = || meant("POST", "/t").field("host", "a.test").body("hello");
    passes(&site, "plain", &get(&[case]), got()).await;
    passes(
        &site,
        "the same host",
        &get(&[case, ("host", "a.test")]),
        got(),
    )
    .await;
    passes(
        &site,
        "only a host",
        &of(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/t"),
            ("host", "a.test"),
            case,
        ]),
        got(),
    )
    .await;
    passes(&site, "te", &get(&[case, ("te", "trailers")]), got()).await;
    passes(
        &site,
        "crumbs",
        &get(&[case, ("cookie", "a=b"), ("cookie", "c=d")]),
        got().field("cookie", "a=b; c=d"),
    )
    .await;
    passes(
        &site,
        "a value that looks like a request",
        &get(&[case, ("y", "GET /evil HTTP/1.1")]),
        got(),
    )
    .await;
    let end = data(END_STREAM, b"hello");
    passes(
        &site,
        "a body",
        &post(&[case], std::slice::from_ref(&end)),
        posted().without("content-length"),
    )
    .await;
    passes(
        &site,
        "a length",
        &post(&[case, ("content-length", "5")], &[end]),
        posted()
            .field("content-length", "5")
            .without("transfer-encoding"),
    )
    .await;
    let parts = [data(0, b"he"), data(0, b"llo"), data(END_STREAM, b"")];
    passes(&site, "parts", &post(&[case], &parts), posted()).await;
    let padded = [data(PADDED | END_STREAM, b"\x03hello\0\0\0")];
    passes(&site, "padding", &post(&[case], &padded), posted()).await;
    let inner = b"0\r\n\r\nGET /evil HTTP/1.1\r\nhost: evil\r\n\r\n";
    let smuggled = posted().body(inner);
    passes(
        &site,
        "a body that looks like an end",
        &post(&[case], &[data(END_STREAM, inner)]),
        smuggled,
    )
    .await;
    let trailers = block(&[
        (b"x-sum", b"1"),
        (b"content-length", b"50"),
        (b"host", b"evil"),
    ]);
    let trailed = [data(0, b"hello"), frame(HEADERS, WHOLE, 1, &trailers)];
    passes(&site, "trailers", &post(&[case], &trailed), posted()).await;
    // The codec forgets them there instead of ending the stream; what matters is that nobody hears of them.
    let pseudo = block(&[(b":path", b"/evil"), (b":authority", b"evil")]);
    let trailed = [data(0, b"hello"), frame(HEADERS, WHOLE, 1, &pseudo)];
    passes(
        &site,
        "pseudo fields behind",
        &post(&[case], &trailed),
        posted(),
    )
    .await;
}

// req: GW-15
// attack: B-07, B-08, B-19, B-20, B-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_break_the_protocol_end_their_stream_or_the_connection() {
    let site = Site::start("", "").await;
    let list = |times: usize| {
        let plain = get(&[]);
        let mut block = [&plain[9..], &remembered(b"cookie", &[b'x'; 100])].concat();
        block.resize(block.len() + times, 0xbe);
        frame(HEADERS, WHOLE, 1, &block)
    };
    let resized = |bytes: &[u8]| frame(HEADERS, WHOLE, 1, &[bytes, &get(&[])[9..]].concat());
    let whole = get(&[]);
    let broken = [
        Reset(PROTOCOL_ERROR),
        End(PROTOCOL_ERROR),
        End(COMPRESSION_ERROR),
    ];
    let sizes = [
        End(FRAME_SIZE_ERROR),
        Reset(FRAME_SIZE_ERROR),
        End(PROTOCOL_ERROR),
    ];
    let window = [
        Reset(PROTOCOL_ERROR),
        End(PROTOCOL_ERROR),
        Reset(FLOW_CONTROL_ERROR),
        End(FLOW_CONTROL_ERROR),
    ];
    let calm = [
        Came::TooLarge,
        End(ENHANCE_YOUR_CALM),
        End(PROTOCOL_ERROR),
        no(431, "head-too-large"),
    ];
    let flow = vec![0x7f, 0xff, 0xff, 0xff];
    let cases: Vec<(&str, Vec<u8>, &[Came])> = vec![
        ("a list too long", list(130), &calm),
        ("a bomb of fields", list(4000), &calm),
        (
            "a table too large",
            resized(&[0x3f, 0xff, 0xff, 0x7f]),
            &broken,
        ),
        (
            "a table of any size",
            resized(&[0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]),
            &broken,
        ),
        (
            "an index of nothing",
            frame(HEADERS, WHOLE, 1, &[0xff, 0x80, 0x01]),
            &broken,
        ),
        ("index zero", frame(HEADERS, WHOLE, 1, &[0x80]), &broken),
        (
            "a string cut short",
            frame(HEADERS, WHOLE, 1, &[0x40, 0x0a, b'x']),
            &broken,
        ),
        (
            "bad Huffman",
            frame(
                HEADERS,
                WHOLE,
                1,
                &[0x40, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00],
            ),
            &broken,
        ),
        (
            "an even stream",
            frame(HEADERS, WHOLE, 2, &whole[9..]),
            &broken,
        ),
        (
            "stream zero",
            frame(HEADERS, WHOLE, 0, &whole[9..]),
            &broken,
        ),
        (
            "data without a head",
            frame(DATA, END_STREAM, 1, b"x"),
            &broken,
        ),
        ("data on stream zero", frame(DATA, 0, 0, b"x"), &broken),
        (
            "a continuation of nothing",
            frame(CONTINUATION, END_HEADERS, 1, &whole[9..]),
            &broken,
        ),
        (
            "a head that is interrupted",
            [
                frame(HEADERS, END_STREAM, 1, &whole[9..]),
                frame(SETTINGS, 0, 0, &[]),
            ]
            .concat(),
            &broken,
        ),
        (
            "padding beyond the frame",
            frame(HEADERS, WHOLE | PADDED, 1, &[200, 0x82]),
            &broken,
        ),
        ("a frame too large", frame(DATA, 0, 1, &[0; 16_385]), &sizes),
        (
            "settings of a wrong size",
            frame(SETTINGS, 0, 0, &[0; 5]),
            &sizes,
        ),
        ("settings of a stream", frame(SETTINGS, 0, 1, &[]), &broken),
        (
            "settings that push",
            frame(SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 2]),
            &broken,
        ),
        (
            "a window too large",
            frame(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff]),
            &window,
        ),
        (
            "an update of nothing",
            frame(WINDOW_UPDATE, 0, 0, &[0; 4]),
            &window,
        ),
        (
            "an update beyond the window",
            frame(WINDOW_UPDATE, 0, 0, &flow),
            &window,
        ),
        (
            "a promise",
            frame(5, END_HEADERS, 1, &[0, 0, 0, 2]),
            &broken,
        ),
    ];
    refused(&site, &cases).await;
}

// req: GW-05
// attack: B-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_not_as_long_as_it_says_never_becomes_a_request() {
    let site = Site::start("", "").await;
    let length = |value: &'static str| ("content-length", value);
    let cases = [
        (
            "too short",
            post(&[length("9")], &[data(END_STREAM, b"four")]),
        ),
        (
            "too long",
            post(&[length("3")], &[data(END_STREAM, b"four")]),
        ),
        (
            "none where there is some",
            post(&[length("0")], &[data(END_STREAM, b"four")]),
        ),
        ("some where there is none", get(&[length("4")])),
        (
            "two lengths",
            post(&[length("4"), length("5")], &[data(END_STREAM, b"four")]),
        ),
        (
            "a list",
            post(&[length("4, 4")], &[data(END_STREAM, b"four")]),
        ),
        ("plus", post(&[length("+4")], &[data(END_STREAM, b"four")])),
        ("zeros", post(&[length("04")], &[data(END_STREAM, b"four")])),
        ("blank", post(&[length(" 4")], &[data(END_STREAM, b"four")])),
        (
            "a line end behind",
            post(
                &[],
                &[
                    data(0, b"four"),
                    frame(HEADERS, WHOLE, 1, &block(&[(b"x", b"a\r\nb: c")])),
                ],
            ),
        ),
        (
            "trailers that do not end",
            post(
                &[],
                &[
                    data(0, b"four"),
                    frame(HEADERS, END_HEADERS, 1, &block(&[(b"x", b"y")])),
                ],
            ),
        ),
    ];
    for (name, frames) in cases {
        let _ = site.origin.take();
        let (came, _) = came(&site, &frames).await;
        assert_ne!(came, Answer, "{name}");
        tokio::time::sleep(Duration::from_millis(30)).await;
        for tape in site.origin.take() {
            let whole = strict::requests(&tape).unwrap_or_default();
            let evil = whole.iter().find(|request| request.method != "GET");
            assert!(evil.is_none(), "{name}: {evil:?}");
        }
    }
}
