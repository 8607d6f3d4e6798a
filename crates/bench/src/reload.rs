//! A server that takes a new config ten times a second while it works: what is lost, what it costs the others.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::{Effort, Quantiles};
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::quantile_ms;
use crate::peers::{Door, Kind, Launch, Place, Running, haproxy, macronode, nginx};
use crate::report;
use crate::sheet::Row;
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "reload";
/// One sentence for the list.
pub const ABOUT: &str =
    "ten reloads a second under load: requests lost and p99, beside nginx and HAProxy";

const RATE_PER_S: f64 = 1_000.0;
const EVERY: Duration = Duration::from_millis(100);
const BYTES: usize = 1_024;
const LOST: &str = "lost during reloads";
const P99: &str = "p99 during reloads";
/// What a reload may cost those who do not notice it otherwise.
const P99_RATIO: f64 = 1.5;
/// What a node says of each config it takes.
const TAKEN: &str = "new config in force";
/// Below this nobody tells a p99 from another.
const P99_FLOOR_MS: f64 = 1.0;

/// One server, left alone and then not.
struct Turn {
    quiet_p99_ms: f64,
    p99_ms: f64,
    sent: u64,
    lost: u64,
    reloads: u64,
    valid: bool,
}

/// Every server in turns: quiet, then with reloads.
pub fn reload(ask: &Ask) -> Result<(), String> {
    let (rounds, length) = match ask.effort {
        Effort::Quick => (2, Duration::from_millis(1_500)),
        Effort::Full => (5, Duration::from_secs(5)),
    };
    let stand = Stand::new()?;
    let mut turns: Vec<(Kind, Vec<Turn>)> = Kind::ALL.map(|kind| (kind, Vec::new())).into();
    for _ in 0..rounds {
        for (kind, turns) in &mut turns {
            match turn(&stand, *kind, length) {
                Ok(turn) => turns.push(turn),
                Err(sentence) => circumstances::absent(&sentence),
            }
        }
    }
    report::tell(NAME, ask.json, rows(&turns), Vec::new())
}

fn turn(stand: &Stand, kind: Kind, length: Duration) -> Result<Turn, String> {
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let launch = Launch {
        kind,
        config: &config(kind, &place, 0),
        files: &[],
        under: &[],
    };
    let server = launch.start_reloading(port)?;
    let quiet = load(&server, length)?;
    let over = AtomicBool::new(false);
    let (loaded, reloads) = std::thread::scope(|scope| {
        let reloading = scope.spawn(|| reload_until(&over, &server, kind, &place));
        let loaded = load(&server, length);
        over.store(true, Ordering::Release);
        let reloads = reloading
            .join()
            .map_err(|_| "no reload was asked for".to_owned());
        (loaded, reloads)
    });
    let (loaded, reloads) = (loaded?, reloads??);
    if kind == Kind::Macronode {
        were_taken(&server.end(), reloads)?;
    }
    let all = &loaded.streams[0];
    Ok(Turn {
        quiet_p99_ms: quantile_ms(&quiet.streams[0].latency, 0.99),
        p99_ms: quantile_ms(&all.latency, 0.99),
        sent: all.intended,
        lost: all.intended - all.ok,
        reloads,
        valid: loaded.is_valid() && quiet.is_valid(),
    })
}

/// A config that is refused costs less than one that is taken. Those that come close together are one, so that fewer
/// are taken than are sent.
fn were_taken(printed: &str, reloads: u64) -> Result<(), String> {
    match printed.contains(TAKEN) {
        true => Ok(()),
        false => Err(format!(
            "macronode is left out: it took none of {reloads} configs"
        )),
    }
}

/// Each generation says something else, so that none can be passed over.
fn config(kind: Kind, place: &Place, generation: usize) -> String {
    let size = macronode::Size {
        endpoints: &[place.origin],
        routes: generation % 2,
        connections: 16_384,
        limit: 999 + generation % 2,
    };
    match kind {
        Kind::Nginx => nginx::reloading(place, generation),
        Kind::Haproxy => haproxy::wide(place, 9_000 + generation % 2),
        _ => macronode::sized(place, &size),
    }
}

fn reload_until(
    over: &AtomicBool,
    server: &Running,
    kind: Kind,
    place: &Place,
) -> Result<u64, String> {
    let signal = match kind {
        Kind::Haproxy => libc::SIGUSR2,
        _ => libc::SIGHUP,
    };
    let mut reloads = 0;
    while !over.load(Ordering::Acquire) {
        std::thread::sleep(EVERY);
        reloads += 1;
        let config = config(kind, place, reloads as usize);
        let replaced = server.replace_config(&config);
        replaced.map_err(|error| format!("the config was not replaced: {error}"))?;
        server.signal(signal)?;
    }
    Ok(reloads)
}

fn load(server: &Running, length: Duration) -> Result<Outcome, String> {
    let (target, path) = (server.address(), format!("/bytes/{BYTES}"));
    let plan = Plan {
        target,
        streams: vec![Stream::steady(
            "all",
            RATE_PER_S,
            request("GET", target, &path, &[("X-Tenant", "all")], b""),
            Ipv4Addr::new(127, 4, 0, 1),
        )],
        warm_up: length / 5,
        length,
        patience: Duration::from_millis(1_500),
        connections_max: 4_000,
    };
    Outcome::of(&plan).map_err(|error| format!("the load could not be sent: {error}"))
}

fn rows(turns: &[(Kind, Vec<Turn>)]) -> Vec<Row> {
    let some = || turns.iter().filter(|(_, turns)| !turns.is_empty());
    let lost = some().map(|(kind, turns)| lost_row(*kind, turns));
    let p99 = some().map(|(kind, turns)| p99_row(*kind, turns));
    lost.chain(p99).collect()
}

fn lost_row(kind: Kind, turns: &[Turn]) -> Row {
    let sum = |of: fn(&Turn) -> u64| turns.iter().map(of).sum::<u64>();
    let (lost, sent, reloads) = (sum(|t| t.lost), sum(|t| t.sent), sum(|t| t.reloads));
    let row = Row::new(LOST, kind.name(), lost as f64, "requests")
        .over(turns.len(), None)
        .noted(format!("of {sent}, {reloads} reloads"));
    match kind {
        Kind::Macronode => row.promised("none", lost == 0),
        _ => row,
    }
}

fn p99_row(kind: Kind, turns: &[Turn]) -> Row {
    let all = Quantiles::of(turns.iter().map(|turn| turn.p99_ms));
    let spread = (all.at(0.9) - all.at(0.1)) / all.at(0.5);
    let ratios = turns.iter().map(|turn| turn.p99_ms / turn.quiet_p99_ms);
    let ratio = crate::turns::median(ratios);
    let row = Row::new(P99, kind.name(), all.at(0.5), "ms")
        .beside("itself left alone", ratio)
        .over(turns.len(), Some(spread));
    let valid = turns.iter().all(|turn| turn.valid);
    let row = match valid {
        true => row,
        false => row.noted("INVALID: the generator was late"),
    };
    let small = all.at(0.5) <= P99_FLOOR_MS || ratio.is_some_and(|ratio| ratio <= P99_RATIO);
    match kind {
        Kind::Macronode => row.promised("at most 1 ms, or 1.5 × itself left alone", valid && small),
        _ => row,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(lost: u64, p99_ms: f64, valid: bool) -> Turn {
        Turn {
            quiet_p99_ms: 2.0,
            p99_ms,
            sent: 1_000,
            lost,
            reloads: 10,
            valid,
        }
    }

    fn met(turns: Vec<Turn>) -> [bool; 2] {
        let rows = rows(&[(Kind::Nginx, Vec::new()), (Kind::Macronode, turns)]);
        let [lost, p99] = rows.as_slice() else {
            panic!("{rows:?}")
        };
        [lost, p99].map(|row| row.goal.as_ref().unwrap().met)
    }

    #[test]
    fn no_request_may_be_lost_and_none_be_much_slower() {
        assert_eq!(met(vec![turn(0, 2.9, true)]), [true, true]);
        assert_eq!(met(vec![turn(1, 3.1, true)]), [false, false]);
        assert_eq!(met(vec![turn(0, 2.0, false)]), [true, false]);
    }

    #[test]
    fn a_node_that_takes_no_config_is_not_measured() {
        assert_eq!(were_taken(&format!("started\n{TAKEN}\n"), 10), Ok(()));
        assert!(were_taken("started\n", 10).is_err());
    }

    #[test]
    fn every_generation_differs_from_the_last() {
        let place = Place {
            listen: "127.0.0.1:1".parse().unwrap(),
            origin: "127.0.0.1:2".parse().unwrap(),
            door: Door::Plain,
            access_log: false,
        };
        for kind in Kind::ALL {
            assert_ne!(config(kind, &place, 1), config(kind, &place, 2));
        }
    }
}
