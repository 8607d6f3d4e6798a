//! What the origin is asked, and the bytes it answers with.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

pub(super) const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
pub(super) const FAILED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
/// More than any benchmark asks for; an answer is kept for each length once asked.
const LENGTH_MAX: usize = 16 << 20;
const WORK_BYTES: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Bytes(usize),
    Work {
        service: Option<Duration>,
        /// Whether one in ten takes eleven times as long as the others; as long as always, on average.
        is_uneven: bool,
        /// How many in a hundred fail, after their time.
        failing_percent: u64,
    },
    Control {
        places: Option<usize>,
        service: Option<Duration>,
    },
    Stats,
    Unknown,
}

impl Asked {
    pub(super) fn parse(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if let Some(length) = path.strip_prefix("/bytes/") {
            let length = length.parse().ok().filter(|length| *length <= LENGTH_MAX);
            return length.map_or(Self::Unknown, Self::Bytes);
        }
        let number = |name: &str| -> Option<u64> {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name)?.1.parse().ok()
        };
        let time = |name| number(name).map(Duration::from_millis);
        match path {
            "/work" => Self::Work {
                service: time("ms"),
                is_uneven: number("uneven") == Some(1),
                failing_percent: number("failing").unwrap_or(0),
            },
            "/control" => Self::Control {
                places: number("places").map(|places| places as usize),
                service: time("service_ms"),
            },
            "/stats" => Self::Stats,
            _ => Self::Unknown,
        }
    }
}

/// Whole answers, made once.
#[derive(Debug, Default)]
pub(super) struct Answers(HashMap<usize, Rc<[u8]>>);

impl Answers {
    pub(super) fn of_length(&mut self, length: usize) -> &Rc<[u8]> {
        let answer = self.0.entry(length);
        answer.or_insert_with(|| ok("application/octet-stream", &vec![b'x'; length]))
    }

    pub(super) fn of_work(&mut self) -> &Rc<[u8]> {
        self.of_length(WORK_BYTES)
    }
}

pub(super) fn stats(done: u64, departed: u64, waiting: usize) -> Rc<[u8]> {
    let body = format!("{{\"done\":{done},\"departed\":{departed},\"waiting\":{waiting}}}\n");
    ok("application/json", body.as_bytes())
}

fn ok(kind: &str, body: &[u8]) -> Rc<[u8]> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat().into()
}
