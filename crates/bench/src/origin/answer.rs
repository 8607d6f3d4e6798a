//! What the origin is asked, and the bytes it answers with.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use super::places::Manner;

pub(super) const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
pub(super) const FAILED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
pub(super) const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
/// More than any benchmark asks for; an answer is kept for each length once asked.
const LENGTH_MAX: usize = 64 << 20;
const WORK_BYTES: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Bytes {
        length: usize,
        /// Whether it may be kept for an hour.
        fresh: bool,
    },
    Work {
        service: Option<Duration>,
        /// Whether one in ten takes eleven times as long as the others; as long as always, on average.
        is_uneven: bool,
        /// How many in a hundred fail, after their time.
        failing_percent: u64,
        /// Whether the answer may be kept for an hour.
        fresh: bool,
    },
    Control {
        places: Option<usize>,
        service: Option<Duration>,
        manner: Option<Manner>,
    },
    Stats,
    Unknown,
}

impl Asked {
    pub(super) fn parse(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let text = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            Some(pairs.find(|(key, _)| *key == name)?.1)
        };
        let number = |name: &str| -> Option<u64> { text(name)?.parse().ok() };
        if let Some(length) = routed(path).strip_prefix("/bytes/") {
            let length = length.parse().ok().filter(|length| *length <= LENGTH_MAX);
            let fresh = number("fresh") == Some(1);
            return length.map_or(Self::Unknown, |length| Self::Bytes { length, fresh });
        }
        let time = |name| number(name).map(Duration::from_millis);
        match path {
            "/work" => Self::Work {
                service: time("ms"),
                is_uneven: number("uneven") == Some(1),
                failing_percent: number("failing").unwrap_or(0),
                fresh: number("fresh") == Some(1),
            },
            "/control" => Self::Control {
                places: number("places").map(|places| places as usize),
                service: time("service_ms"),
                manner: text("manner").and_then(Manner::named),
            },
            "/stats" => Self::Stats,
            _ => Self::Unknown,
        }
    }
}

/// The path behind the first segment of a route such as `/r7`, which proxies pass on as it is.
fn routed(path: &str) -> &str {
    let numbered = |name: &str| {
        let number = name.strip_prefix('r');
        number
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let inside = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    match inside {
        Some((name, rest)) if numbered(name) => &path[path.len() - rest.len() - 1..],
        _ => path,
    }
}

/// Whole answers, made once.
#[derive(Debug, Default)]
pub(super) struct Answers(HashMap<(usize, bool), Rc<[u8]>>);

impl Answers {
    pub(super) fn of_length(&mut self, length: usize, fresh: bool) -> &Rc<[u8]> {
        let answer = self.0.entry((length, fresh));
        let keep = if fresh {
            "Cache-Control: max-age=3600\r\n"
        } else {
            ""
        };
        answer.or_insert_with(|| ok("application/octet-stream", keep, &vec![b'x'; length]))
    }

    pub(super) fn of_work(&mut self, fresh: bool) -> &Rc<[u8]> {
        self.of_length(WORK_BYTES, fresh)
    }
}

/// What the origin has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stats {
    pub(super) done: u64,
    pub(super) departed: u64,
    pub(super) waiting: usize,
    pub(super) bytes: u64,
}

impl Stats {
    pub(super) fn answer(self) -> Rc<[u8]> {
        let Self {
            done,
            departed,
            waiting,
            bytes,
        } = self;
        let body = format!(
            "{{\"done\":{done},\"departed\":{departed},\"waiting\":{waiting},\"bytes\":{bytes}}}\n"
        );
        ok("application/json", "", body.as_bytes())
    }
}

fn ok(kind: &str, more: &str, body: &[u8]) -> Rc<[u8]> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{more}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat().into()
}
