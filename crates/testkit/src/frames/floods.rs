//! What HTTP/2 peers send for ever who mean harm.

use super::kind::{
    CONTINUATION, DATA, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::{END_HEADERS, END_STREAM, block, frame, remembered};

const WHOLE: u8 = END_HEADERS | END_STREAM;

/// What comes next, by how much came before.
pub type Flood = Box<dyn Fn(u32) -> Vec<u8> + Send + Sync>;

fn fields(method: &[u8], path: &[u8]) -> Vec<u8> {
    block(&[
        (b":method", method),
        (b":scheme", b"http"),
        (b":path", path),
        (b":authority", b"a.test"),
    ])
}

/// A whole request.
#[must_use]
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, WHOLE, stream, &fields(b"GET", path.as_bytes()))
}

/// The head of an upload that goes on.
#[must_use]
pub fn upload(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &fields(b"POST", b"/t"))
}

/// Each request, and on its stream what no peer may say there: the door has to reset it.
fn reset_by(what: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Flood {
    Box::new(move |number| [upload(number * 2 + 1), what(number * 2 + 1)].concat())
}

/// A head once, and this behind it for ever.
fn behind(head: Vec<u8>, what: Vec<u8>) -> Flood {
    Box::new(move |number| {
        if number == 0 {
            head.clone()
        } else {
            what.clone()
        }
    })
}

/// Each with its name.
#[must_use]
pub fn floods() -> Vec<(&'static str, Flood)> {
    let open = frame(HEADERS, END_STREAM, 1, &fields(b"GET", b"/t"));
    let line = remembered(b"x", &[b'y'; 1000]);
    let most = [0x7f, 0xff, 0xff, 0xff];
    vec![
        (
            "rapid reset",
            Box::new(|number| {
                let stream = number * 2 + 1;
                [
                    get(stream, "/t"),
                    frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]),
                ]
                .concat()
            }),
        ),
        (
            "reset of uploads",
            reset_by(|s| frame(RST_STREAM, 0, s, &[0, 0, 0, 0])),
        ),
        (
            "update of nothing",
            reset_by(|s| frame(WINDOW_UPDATE, 0, s, &[0; 4])),
        ),
        (
            "window overflow",
            reset_by(move |s| frame(WINDOW_UPDATE, 0, s, &most)),
        ),
        ("a second head", reset_by(upload)),
        (
            "data behind the end",
            Box::new(|number| {
                let stream = number * 2 + 1;
                [get(stream, "/t"), frame(DATA, 0, stream, b"x")].concat()
            }),
        ),
        (
            "a head behind the end",
            Box::new(|number| [get(number * 2 + 1, "/t"), get(number * 2 + 1, "/t")].concat()),
        ),
        (
            "priority of a wrong size",
            reset_by(|s| frame(PRIORITY, 0, s, &[0; 4])),
        ),
        (
            "priority of itself",
            reset_by(|s| frame(PRIORITY, 0, s, &[&s.to_be_bytes()[..], &[1]].concat())),
        ),
        (
            "continuations",
            behind(
                open.clone(),
                frame(CONTINUATION, 0, 1, &block(&[(b"x", b"y")])),
            ),
        ),
        (
            "long continuations",
            behind(open.clone(), frame(CONTINUATION, 0, 1, &line)),
        ),
        (
            "empty continuations",
            behind(open, frame(CONTINUATION, 0, 1, &[])),
        ),
        ("settings", Box::new(|_| frame(SETTINGS, 0, 0, &[]))),
        (
            "settings of the table",
            Box::new(|n| frame(SETTINGS, 0, 0, &[0, 1, 0, 0, (n % 16) as u8, 0])),
        ),
        (
            "settings of the window",
            Box::new(|n| frame(SETTINGS, 0, 0, &[0, 4, 0, 0, (n % 2) as u8, 1])),
        ),
        ("pings", Box::new(|_| frame(PING, 0, 0, &[0; 8]))),
        ("answers to pings", Box::new(|_| frame(PING, 1, 0, &[0; 8]))),
        ("empty data", behind(upload(1), frame(DATA, 0, 1, &[]))),
        ("padded nothing", behind(upload(1), frame(DATA, 8, 1, &[0]))),
        (
            "priorities",
            Box::new(|number| frame(PRIORITY, 0, number * 2 + 1, &[0, 0, 0, 0, 1])),
        ),
        (
            "updates",
            Box::new(|_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ),
        ("unknown frames", Box::new(|_| frame(0xfa, 0, 0, &[0; 10]))),
    ]
}
