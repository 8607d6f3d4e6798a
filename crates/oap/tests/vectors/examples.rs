//! Frames, sections and heads that show each rule of the layout, and their like that break one.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method};
use oap::bridge::RequestHead;
use oap::{Control, Directive, Flags, Frame, GoAway, Header, Meta, Refusal, Reset, Violation};

pub(crate) struct Examples {
    pub(crate) frames: Vec<(&'static str, Frame)>,
    /// Bytes that are refused, whatever follows.
    pub(crate) refused: Vec<(&'static str, Bytes)>,
    pub(crate) caps: Vec<(&'static str, Bytes)>,
    pub(crate) heads: Vec<(&'static str, Bytes)>,
    /// By name: short, not ASCII, as long as a block of BLAKE3, and longer.
    pub(crate) tenants: Vec<String>,
}

pub(crate) fn all() -> Examples {
    Examples {
        frames: frames(),
        refused: refused(),
        caps: caps(),
        heads: heads(),
        tenants: vec![
            "acme".to_owned(),
            "größe".to_owned(),
            "x".repeat(64),
            "y".repeat(100),
        ],
    }
}

fn frame(flags: Flags, code: u16, app_proto: u16, payload: &'static [u8]) -> Frame {
    Frame {
        header: Header {
            flags,
            code,
            app_proto,
            tenant: 0,
            corr_id: 7,
        },
        cap: Bytes::new(),
        payload: Bytes::from_static(payload),
    }
}

fn frames() -> Vec<(&'static str, Frame)> {
    let mut hello = frame(Flags::REQ, 0, 0, br#"{"ua":"sdk/0.1"}"#);
    (hello.header.tenant, hello.header.corr_id) = (0xaa, 42);
    let mut answer = frame(Flags::RESP, 200, 200, b"hello world");
    (answer.header.tenant, answer.header.corr_id) = (0xdd, 123);
    let mut largest = frame(Flags::REQ | Flags::COMP, u16::MAX, u16::MAX, b"");
    (largest.header.tenant, largest.header.corr_id) = (u128::MAX, u64::MAX);
    let mut credential = frame(Flags::REQ, 5, 40, b"ask");
    credential.cap = meta().encode();
    let mut bridged = frame(Flags::REQ, oap::bridge::REQUEST, 1, b"");
    bridged.payload = request();
    let start = Flags::REQ | Flags::START;
    let busy = Directive::rate_limited(40, 5, 70);
    let away = GoAway {
        last_id: 7,
        status: 503,
        reason: "draining".into(),
    };
    let reset = Reset {
        status: 499,
        reason: "canceled".into(),
    };
    vec![
        ("hello", hello),
        ("answer", answer),
        ("whole-request", frame(Flags::REQ, 5, 40, b"ask")),
        (
            "whole-request-marked",
            frame(start | Flags::END, 5, 40, b"ask"),
        ),
        ("stream-first", frame(start, 5, 40, b"a")),
        (
            "stream-middle",
            frame(Flags::REQ | Flags::ACK_REQ, 0, 40, b"b"),
        ),
        ("stream-last", frame(Flags::REQ | Flags::END, 0, 40, b"")),
        ("largest-numbers", largest),
        ("with-capability-section", credential),
        ("bridged-request", bridged),
        ("credit", Control::Credit(65536).encode(7)),
        ("reset", Control::Reset(reset).encode(7)),
        ("goaway", Control::GoAway(away).encode(0)),
        ("ping", Control::Ping(*b"12345678").encode(0)),
        ("pong", Control::Pong(*b"12345678").encode(0)),
        (
            "refusal",
            Refusal::Busy.answer(&frame(Flags::REQ, 5, 40, b"").header, Some(busy)),
        ),
        ("error-frame", Frame::farewell(Violation::IdUsed)),
    ]
}

fn refused() -> Vec<(&'static str, Bytes)> {
    let good = {
        let mut out = BytesMut::new();
        let whole = frame(Flags::REQ, 5, 40, b"ask").encode(&mut out);
        whole.expect("it is small");
        out.to_vec()
    };
    let with = |changes: &[(usize, &[u8])]| {
        let mut bytes = good.clone();
        for (at, with) in changes {
            bytes[*at..*at + with.len()].copy_from_slice(with);
        }
        Bytes::from(bytes)
    };
    vec![
        ("zero-length", Bytes::from_static(&[0; 4])),
        ("shorter-than-a-header", Bytes::from_static(&[0, 0, 0, 37])),
        ("one-byte-too-long", Bytes::from_static(&[0, 0x10, 0, 1])),
        ("longest-length", Bytes::from_static(&[0xff; 4])),
        ("http", Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n")),
        ("version-0", with(&[(4, &[0, 0])])),
        ("version-2", with(&[(4, &[0, 2])])),
        ("reserved-flag-128", with(&[(6, &[0, 0x81])])),
        ("reserved-flag-32768", with(&[(6, &[0x80, 1])])),
        ("no-kind", with(&[(6, &[0, 0])])),
        ("two-kinds", with(&[(6, &[0, 3])])),
        ("start-without-opcode", with(&[(6, &[0, 9]), (8, &[0, 0])])),
        ("end-with-opcode", with(&[(6, &[0, 17])])),
        ("stream-of-control", with(&[(6, &[0, 9]), (10, &[0, 0])])),
        ("compressed-control", with(&[(6, &[0, 65]), (10, &[0, 0])])),
        ("event-of-a-service", with(&[(6, &[0, 4])])),
        ("interim-status", with(&[(6, &[0, 2]), (8, &[0, 100])])),
        ("status-beyond-599", with(&[(6, &[0, 2]), (8, &[2, 0x58])])),
        (
            "control-without-status",
            with(&[(6, &[0, 2]), (8, &[0, 0, 0, 0])]),
        ),
        ("cap-beyond-its-frame", with(&[(28, &[0, 4])])),
        (
            "cap-beyond-its-limit",
            with(&[(0, &[0, 1, 0, 0]), (28, &[0x10, 1])]),
        ),
    ]
}

fn meta() -> Meta {
    Meta {
        token: Some("key".into()),
        deadline_ms: Some(1500),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    }
}

fn caps() -> Vec<(&'static str, Bytes)> {
    vec![
        ("empty", Bytes::new()),
        ("all-items", meta().encode()),
        (
            "any-order",
            Bytes::from_static(b"\x02\0\x04\0\0\0\0\x01\0\x01k"),
        ),
        (
            "passed-over",
            Bytes::from_static(b"\x80\0\x02hi\xff\0\0\x80\0\0"),
        ),
        ("unknown", Bytes::from_static(b"\x04\0\0")),
        ("type-0", Bytes::from_static(b"\0\0\0")),
        ("cut-in-length", Bytes::from_static(b"\x01\0")),
        ("cut-in-value", Bytes::from_static(b"\x01\0\x02k")),
        ("empty-token", Bytes::from_static(b"\x01\0\0")),
        ("token-twice", Bytes::from_static(b"\x01\0\x01a\x01\0\x01b")),
        ("short-deadline", Bytes::from_static(b"\x02\0\x03\0\0\0")),
        ("unprintable-trace", Bytes::from_static(b"\x03\0\x01\n")),
    ]
}

fn request() -> Bytes {
    let mut headers = HeaderMap::new();
    headers.append("accept", HeaderValue::from_static("*/*"));
    headers.append("x-empty", HeaderValue::from_static(""));
    let head = RequestHead {
        method: Method::POST,
        target: "/a?b=c".parse().expect("it is a target"),
        authority: "api.test:8080".parse().expect("it is an authority"),
        headers,
    };
    let mut out = BytesMut::new();
    head.put(&mut out).expect("it is small");
    out.extend_from_slice(b"body");
    out.freeze()
}

fn heads() -> Vec<(&'static str, Bytes)> {
    let whole = request();
    let no_fields: &[u8] = b"\x03GET\0\x01/\x01h\0\0";
    vec![
        ("request", whole.clone()),
        ("no-fields", Bytes::from_static(no_fields)),
        ("cut", whole.slice(..10)),
        ("nothing", Bytes::new()),
        (
            "no-origin-form",
            Bytes::from_static(b"\x03GET\0\x09http://h/\x01h\0\0"),
        ),
        (
            "upper-case-name",
            Bytes::from_static(b"\x03GET\0\x01/\x01h\0\x01\x01N\0\x01v"),
        ),
        (
            "line-break-in-value",
            Bytes::from_static(b"\x03GET\0\x01/\x01h\0\x01\x01n\0\x03v\r\n"),
        ),
        (
            "too-many-fields",
            Bytes::from_static(b"\x03GET\0\x01/\x01h\0\x65"),
        ),
    ]
}
