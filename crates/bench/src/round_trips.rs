//! What a round trip costs a node by either of its doors: one handler, the doors' own code, nothing behind it.
//!
//! Requests and answers have 1 KiB of body. Over HTTP/1.1 each request under way has a connection of its own, as it
//! must; over HTTP/2 and in frames all share one. Only the node's processor time is counted.

pub mod doors;
mod flood;
mod frames;

use std::time::Duration;

use crate::catalogue::Ask;
use crate::frame::{Effort, Quantiles};
use crate::load::closed::{self, Plan, Until};
use crate::load::request;
use crate::proxy::h2;
use crate::report;
use crate::sheet::{Row, by_metric};
use crate::turns::median;
use doors::{BY_WORKER, House};
use frames::Asker;

/// What it is called by.
pub const NAME: &str = "round-trips";
/// One sentence for the list.
pub const ABOUT: &str =
    "the same handler asked in frames and over HTTP; others beside 10,000 pipelined requests";

const BODY: usize = 1_024;
/// Requests under way.
const AT_ONCE: [usize; 2] = [1, 64];
/// Of what HTTP/1.1 takes.
const GOAL: f64 = 0.5;

/// How a request comes, and who answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Http1,
    Http2,
    Framed,
    FramedByWorker,
}

const WAYS: [Way; 4] = [Way::Http1, Way::Http2, Way::Framed, Way::FramedByWorker];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Framed => "frames",
            Self::FramedByWorker => "frames, by a worker",
        }
    }

    /// Microseconds of the node's time, a request.
    fn cost(self, house: &House, at_once: usize, length: Duration) -> Result<f64, String> {
        let asker = |app_proto| Asker {
            target: house.frames,
            app_proto,
            body: BODY,
            at_once,
        };
        match self {
            Self::Http1 => over_http1(house, at_once, length),
            Self::Http2 => h2::posted(house.http, &[0; BODY], at_once, length, || house.cpu_time()),
            Self::Framed => asker(oap::app_proto::ECHO).cost(length, || house.cpu_time()),
            Self::FramedByWorker => asker(BY_WORKER).cost(length, || house.cpu_time()),
        }
    }
}

/// Measures both; fails when a promise is not kept.
pub fn round_trips(ask: &Ask) -> Result<(), String> {
    let house = House::start()?;
    let (rounds, length) = match ask.effort {
        Effort::Quick => (3, Duration::from_millis(200)),
        Effort::Full => (9, Duration::from_secs(1)),
    };
    let mut rows = Vec::new();
    for at_once in AT_ONCE {
        let metric = format!("processor time of a round trip, {at_once} at once");
        if ask.wanted.has(&[&metric]) {
            rows.extend(in_turns(&house, &metric, at_once, rounds, length)?);
        }
    }
    if ask.wanted.has(&[flood::METRIC]) {
        rows.extend(flood::rows(&house, rounds, length)?);
    }
    report::judge(NAME, ask.json, by_metric(rows))
}

fn in_turns(
    house: &House,
    metric: &str,
    at_once: usize,
    rounds: usize,
    length: Duration,
) -> Result<Vec<Row>, String> {
    let mut costs = WAYS.map(|_| Vec::new());
    // The first round pays for cold caches; it is nobody's cost.
    for round in 0..=rounds {
        for turn in 0..WAYS.len() {
            let which = (turn + round) % WAYS.len();
            let cost = WAYS[which].cost(house, at_once, length)?;
            costs[which].extend((round > 0).then_some(cost));
        }
    }
    let rows = WAYS.iter().zip(&costs);
    Ok(rows
        .map(|(way, each)| row(*way, metric, at_once, each, &costs[0]))
        .collect())
}

fn row(way: Way, metric: &str, at_once: usize, costs: &[f64], http1: &[f64]) -> Row {
    let quantiles = Quantiles::of(costs.iter().copied());
    let spread = (quantiles.at(0.9) - quantiles.at(0.1)) / quantiles.at(0.5);
    let ratio = median(costs.iter().zip(http1).map(|(own, other)| own / other));
    let row = Row::new(metric, way.name(), quantiles.at(0.5), "µs").over(costs.len(), Some(spread));
    if way == Way::Http1 {
        return row;
    }
    let row = row.beside(Way::Http1.name(), ratio);
    let is_framed = matches!(way, Way::Framed | Way::FramedByWorker);
    match (is_framed, at_once) {
        (false, _) => row,
        // One at a time it is three system calls by either door, and a sleep between two requests.
        (true, 1) => row.noted("system calls, and waking up, are most of it by either door"),
        (true, _) => row.at_most(GOAL),
    }
}

fn over_http1(house: &House, at_once: usize, length: Duration) -> Result<f64, String> {
    let plan = Plan {
        target: house.http,
        connections: at_once,
        request: request("POST", house.http, "/echo", &[], &[0; BODY]),
        warm_up: length / 5,
        until: Until::Elapsed(length),
    };
    let outcome =
        closed::run(&plan, || house.cpu_time()).map_err(|error| format!("HTTP/1.1: {error}"))?;
    match outcome.failures {
        0 => Ok(outcome.micros_each()),
        failures => Err(format!("{failures} requests over HTTP/1.1 failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_what_http_takes_breaks_a_promise_where_many_are_under_way() {
        let http1 = [10.0, 12.0, 11.0];
        let kept = |costs: &[f64], at_once| {
            let row = row(Way::Framed, "m", at_once, costs, &http1);
            row.goal.map(|goal| goal.met)
        };
        assert_eq!(kept(&[5.0, 6.0, 5.5], 64), Some(true));
        assert_eq!(kept(&[5.1, 6.1, 5.6], 64), Some(false));
        assert_eq!(kept(&[9.0, 9.0, 9.0], 1), None);
        assert_eq!(row(Way::Http2, "m", 64, &http1, &http1).goal, None);
    }
}
