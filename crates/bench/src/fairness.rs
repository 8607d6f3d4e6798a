//! Who gets how much when all ask for more than there is: shares over time, against the weights.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::Effort;
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::{MOMENT, Tally};
use crate::origin::PLACES;
use crate::peers::{Door, Kind, Launch, Place, haproxy, macronode, nginx};
use crate::report;
use crate::sheet::{Axis, Plot, Row, Series};
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "fairness";
/// One sentence for the list.
pub const ABOUT: &str =
    "tenants of weights 4, 2 and 1, all greedy, one of whom leaves: their shares over time";

/// Each asks for as much as the origin can do for all.
const RATE_PER_S: f64 = 1_600.0;
const WEIGHTS: [(&str, u32); 3] = [("gold", 4), ("silver", 2), ("bronze", 1)];
/// How far from its part a tenant may be, over all windows but those of a change.
const OFF_MAX: f64 = 0.05;
/// Shares are counted over so many moments.
const WINDOW: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contender {
    Nginx,
    Haproxy,
    Ours,
}

impl Contender {
    const ALL: [Self; 3] = [Self::Nginx, Self::Haproxy, Self::Ours];

    fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx limit_conn 16",
            Self::Haproxy => "HAProxy expert",
            Self::Ours => "macronode limit=32",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Nginx => Kind::Nginx,
            Self::Haproxy => Kind::Haproxy,
            Self::Ours => Kind::Macronode,
        }
    }

    fn config(self, place: &Place) -> String {
        match self {
            Self::Nginx => nginx::limit_conn(place, PLACES / 2),
            Self::Haproxy => haproxy::expert(place, PLACES, 500),
            Self::Ours => macronode::overload(place, Some(PLACES), &WEIGHTS),
        }
    }
}

/// Runs every contender once; the windows of a run are its rounds.
pub fn fairness(ask: &Ask) -> Result<(), String> {
    let length = match ask.effort {
        Effort::Quick => Duration::from_secs(5),
        Effort::Full => Duration::from_secs(20),
    };
    let (mut rows, mut plots) = (Vec::new(), Vec::new());
    for contender in Contender::ALL {
        if !ask.wanted.has(&[contender.name()]) {
            continue;
        }
        match shares(contender, length) {
            Ok(shares) => {
                rows.push(row(contender, &shares));
                plots.push(plot(contender, &shares));
            }
            Err(sentence) => circumstances::absent(&sentence),
        }
    }
    report::tell(NAME, ask.json, rows, plots)
}

/// More for ours than it can take, for who watches it.
pub(crate) fn train(length: Duration) -> Result<(), String> {
    shares(Contender::Ours, length).map(drop)
}

/// What came of one run: by window, what each tenant got of all; and when the heaviest left.
#[derive(Debug, PartialEq)]
struct Shares {
    windows: Vec<[f64; WEIGHTS.len()]>,
    left_at: usize,
    valid: bool,
}

fn shares(contender: Contender, length: Duration) -> Result<Shares, String> {
    let stand = Stand::new()?;
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let launch = Launch {
        kind: contender.kind(),
        config: &contender.config(&place),
        files: &[],
        under: &[],
    };
    let server = launch.start(port)?;
    let leaves = length.mul_f64(0.6);
    let outcome = Outcome::of(&Plan {
        target: server.address(),
        streams: streams(server.address(), leaves),
        warm_up: Duration::ZERO,
        length,
        patience: Duration::from_millis(1_500),
        connections_max: 8_000,
    });
    let outcome = outcome.map_err(|error| format!("the load could not be sent: {error}"))?;
    Ok(Shares {
        windows: windows(&outcome.streams),
        left_at: (leaves.as_millis() / MOMENT.as_millis()) as usize / WINDOW,
        valid: outcome.is_valid(),
    })
}

fn streams(target: SocketAddr, leaves: Duration) -> Vec<Stream> {
    let stream = |((name, _), index): (&(&str, u32), u8)| Stream {
        until: if index == 1 { leaves } else { Duration::MAX },
        ..Stream::steady(
            name,
            RATE_PER_S,
            request("GET", target, "/work", &[("X-Tenant", *name)], b""),
            Ipv4Addr::new(127, 1, index, 1),
        )
    };
    WEIGHTS.iter().zip(1..).map(stream).collect()
}

fn windows(tallies: &[Tally]) -> Vec<[f64; WEIGHTS.len()]> {
    let most = tallies.iter().map(|tally| tally.moments.len()).max();
    let count = most.unwrap_or(0) / WINDOW;
    let of = |tally: &Tally, window: usize| -> f64 {
        let moments = tally.moments.iter().skip(window * WINDOW).take(WINDOW);
        moments.map(|moment| moment.ok as f64).sum()
    };
    let window = |window: usize| {
        let got: [f64; WEIGHTS.len()] = std::array::from_fn(|index| of(&tallies[index], window));
        let all: f64 = got.iter().sum();
        got.map(|got| got / all.max(1.0))
    };
    (0..count).map(window).collect()
}

/// The furthest any tenant is from its part, in any window that is no change: the first has no history, and what was
/// waiting when the heaviest left is still answered in the next.
fn furthest_off(shares: &Shares) -> f64 {
    let settled = |window: usize| {
        window > 0 && !(shares.left_at.saturating_sub(1)..=shares.left_at + 1).contains(&window)
    };
    let windows = shares.windows.iter().enumerate();
    let off = |(window, got): (usize, &[f64; WEIGHTS.len()])| {
        let parts = parts(window >= shares.left_at);
        let off = got.iter().zip(parts).map(|(got, part)| (got - part).abs());
        off.fold(0.0, f64::max)
    };
    windows
        .filter(|(window, _)| settled(*window))
        .map(off)
        .fold(0.0, f64::max)
}

/// What the weights say, before and after the heaviest has left.
fn parts(left: bool) -> [f64; WEIGHTS.len()] {
    let weight = |index: usize| match left && index == 0 {
        true => 0.0,
        false => f64::from(WEIGHTS[index].1),
    };
    let all: f64 = (0..WEIGHTS.len()).map(weight).sum();
    std::array::from_fn(|index| weight(index) / all)
}

fn row(contender: Contender, shares: &Shares) -> Row {
    let off = furthest_off(shares);
    let metric = "furthest from its part in any half second";
    let row = Row::new(metric, contender.name(), off * 100.0, "points");
    let row = row.over(shares.windows.len(), None);
    let row = match shares.valid {
        true => row,
        false => row.noted("INVALID: the generator was late"),
    };
    match contender {
        Contender::Ours => row.promised("at most 5 points", shares.valid && off <= OFF_MAX),
        _ => row.noted("it knows no weights"),
    }
}

fn plot(contender: Contender, shares: &Shares) -> Plot {
    let seconds = |window: usize| window as f64 * WINDOW as f64 * MOMENT.as_secs_f64();
    let line = |(index, (name, weight)): (usize, &(&str, u32))| Series {
        name: format!("{name}, weight {weight}"),
        points: (0..shares.windows.len())
            .map(|window| (seconds(window), shares.windows[window][index] * 100.0))
            .collect(),
    };
    Plot {
        title: format!("Shares through {}", contender.name()),
        note: "weights 4, 2, 1: 57, 29 and 14 %; after gold has left 67 and 33 %".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::linear("% of the answers"),
        lines: WEIGHTS.iter().enumerate().map(line).collect(),
        marks: vec![(seconds(shares.left_at), "gold leaves".to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tally::End;

    #[test]
    fn shares_are_counted_by_window() {
        let tally = |per_moment: u64, moments: u64| {
            let mut tally = Tally::new("t");
            for moment in 0..moments {
                for _ in 0..per_moment {
                    let at = MOMENT * moment as u32;
                    tally.mark(End::Answered { status: 200 }, at);
                }
            }
            tally
        };
        let all = [tally(4, 5), tally(2, 10), tally(2, 10)];
        assert_eq!(windows(&all), [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]);
    }

    #[test]
    fn only_settled_windows_are_judged() {
        let (before, after) = (parts(false), parts(true));
        assert!((after[1] - 2.0 / 3.0).abs() < 1e-9 && after[0] == 0.0);
        let odd = [0.0, 0.0, 1.0];
        let mut shares = Shares {
            windows: vec![odd, before, odd, odd, odd, after],
            left_at: 3,
            valid: true,
        };
        assert!(furthest_off(&shares) < 1e-9);
        shares.windows[5] = before;
        assert!(furthest_off(&shares) > 0.3);
        assert!(
            row(Contender::Ours, &shares)
                .goal
                .is_some_and(|goal| !goal.met)
        );
    }
}
