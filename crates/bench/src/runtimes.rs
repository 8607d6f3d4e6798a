//! The gateway on each runtime under the same loads: how long requests take, and what they cost.

mod cell;
mod setup;
mod table;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::catalogue::Ask;
use crate::circumstances;
use crate::cores::{self, Rank};
use crate::frame::Effort;
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::new_histogram;
use crate::results;
use crate::stand::Stand;
use cell::Cell;
use setup::{Setup, Standing};

/// What it is called by.
pub const NAME: &str = "runtimes";
/// One sentence for the list.
pub const ABOUT: &str =
    "latency and processor time of the gateway on `multi`, on `single`, and on one `single` a core";

/// Offered, in requests a second: from next to nothing to what load and origin can do beside a server on their core.
const LOADS: [u32; 3] = [500, 3_000, 8_000];
const PATH: &str = "/bytes/1024";
/// Each has a connection of its own at least: enough of them that each listener gets its part.
const CLIENTS: u8 = 64;
/// The most eager client asks so many times as often as the laziest: requests that are evenly spaced never meet.
const UNEVEN: f64 = 3.0;

/// One setup under one load in one round.
struct Sample {
    latency: Histogram<u64>,
    /// Microseconds of the server's, a request.
    cost: f64,
    /// Requests without a good answer.
    failures: u64,
    is_valid: bool,
}

/// Measures, prints, keeps.
pub fn runtimes(ask: &Ask) -> Result<(), String> {
    let (rounds, length) = match ask.effort {
        Effort::Quick => (2, Duration::from_millis(800)),
        Effort::Full => (5, Duration::from_millis(2_500)),
    };
    let stand = Stand::new()?;
    let mut standing = Vec::new();
    for setup in Setup::ALL {
        if !ask.wanted.has(&[setup.name()]) {
            continue;
        }
        // What is started has the rank of who starts it.
        cores::go_first(Rank::Server);
        match setup.start(&stand) {
            Ok(started) => standing.push(started),
            Err(sentence) => circumstances::absent(&sentence),
        }
        cores::go_first(Rank::Load);
    }
    let mut cells = Vec::new();
    for rate in LOADS {
        let samples = in_turns(&standing, rate, rounds, length)?;
        let setups: Vec<Setup> = standing.iter().map(Standing::setup).collect();
        cells.extend(cell::cells(&setups, rate, &samples));
    }
    match ask.json {
        true => cells
            .iter()
            .for_each(|cell| println!("{}", results::line(cell))),
        false => print!("{}", table::text(&cells)),
    }
    results::keep(NAME, cells).map(drop)
}

/// The samples of each who stands there, round by round; who begins changes.
fn in_turns(
    standing: &[Standing],
    rate: u32,
    rounds: usize,
    length: Duration,
) -> Result<Vec<Vec<Sample>>, String> {
    let mut samples: Vec<Vec<Sample>> = standing.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..standing.len() {
            let which = (turn + round) % standing.len();
            samples[which].push(sample(&standing[which], rate, length)?);
        }
    }
    Ok(samples)
}

fn sample(server: &Standing, rate: u32, length: Duration) -> Result<Sample, String> {
    let before = server.cpu_time();
    let plan = plan(server.address(), rate, length);
    let outcome = Outcome::of(&plan).map_err(|error| format!("the load was not sent: {error}"))?;
    let spent = server.cpu_time().saturating_sub(before);
    let mut latency = new_histogram();
    let (mut answered, mut failures) = (0, 0);
    for stream in &outcome.streams {
        latency
            .add(&stream.latency)
            .map_err(|error| error.to_string())?;
        // Processor time counts from the start, and so do the answers it is divided by.
        let moments = stream.moments.iter();
        answered += moments.map(|moment| moment.ok).sum::<u64>();
        failures += stream.intended - stream.ok;
    }
    Ok(Sample {
        latency,
        cost: spent.as_secs_f64() * 1e6 / answered.max(1) as f64,
        failures,
        is_valid: outcome.is_valid(),
    })
}

fn plan(target: SocketAddr, rate: u32, length: Duration) -> Plan {
    let eagerness = |client: u8| 1.0 + (UNEVEN - 1.0) * f64::from(client) / f64::from(CLIENTS - 1);
    let all: f64 = (0..CLIENTS).map(eagerness).sum();
    let stream = |client: u8| {
        Stream::steady(
            &format!("client {client}"),
            f64::from(rate) * eagerness(client) / all,
            request("GET", target, PATH, &[("X-Tenant", "all")], b""),
            Ipv4Addr::new(127, 5, client, 1),
        )
    };
    Plan {
        target,
        streams: (0..CLIENTS).map(stream).collect(),
        warm_up: length / 5,
        length,
        patience: Duration::from_secs(2),
        connections_max: 4_000,
    }
}

/// The table of what was measured last, for the page.
pub(crate) fn page() -> Result<Option<String>, String> {
    let cells: Vec<Cell> = results::kept(NAME)?;
    Ok((!cells.is_empty()).then(|| table::markdown(&cells)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_what_it_is_said_to_be_and_no_two_clients_keep_step() {
        let target = "127.0.0.1:1".parse().unwrap();
        let plan = plan(target, 3_000, Duration::from_secs(1));
        let rates: Vec<f64> = plan.streams.iter().map(|s| s.rate_per_s).collect();
        assert!((rates.iter().sum::<f64>() - 3_000.0).abs() < 1e-6);
        assert!(rates.is_sorted_by(|a, b| a < b));
        assert!((rates[63] / rates[0] - UNEVEN).abs() < 1e-9);
    }
}
