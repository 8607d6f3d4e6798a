//! A cold cache before an origin: one flight for all who want the same, and how many fills a second.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::{Effort, Quantiles};
use crate::load::request;
use crate::load::sequence;
use crate::load::wire::ask as get;
use crate::peers::{Door, Kind, Launch, Running, macronode, nginx, varnish};
use crate::report;
use crate::sheet::Row;
use crate::stand::{Stand, reserve};
use crate::turns::median;

/// What it is called by.
pub const NAME: &str = "fill";
/// One sentence for the list.
pub const ABOUT: &str = "a cold cache: fetches for a crowd that wants the same, cost of a fill";

const SERVERS: [Kind; 3] = [Kind::Nginx, Kind::Varnish, Kind::Macronode];
const BYTES: usize = 10 * 1024;
const CROWD: usize = 64;
/// What the origin answers work with.
const SLOW_BYTES: usize = 64;
const CLIENTS: u64 = 4;
const FLIGHT: &str = "fetches for a crowd of 64 that wants the same";
const COST: &str = "processor time a fill, 10 KiB";
const RATE: &str = "fills a second, 10 KiB";

/// What one round of one server came to.
#[derive(Clone, Copy, Debug)]
struct Turn {
    fetches: u64,
    micros_each: f64,
    per_s: f64,
}

/// Every server in turns, each time with names nobody has asked for before.
pub fn fill(ask: &Ask) -> Result<(), String> {
    let (rounds, fills) = match ask.effort {
        Effort::Quick => (5, 2_000),
        Effort::Full => (9, 20_000),
    };
    let stand = Stand::new()?;
    let mut servers = Vec::new();
    for kind in SERVERS {
        match start(&stand, kind) {
            Ok(server) => servers.push((kind, server, Vec::new())),
            Err(sentence) => circumstances::absent(&sentence),
        }
    }
    for round in 0..rounds {
        for (kind, server, turns) in &mut servers {
            turns.push(turn(&stand, *kind, server, round, fills)?);
        }
    }
    let turns: Vec<(Kind, Vec<Turn>)> = servers
        .into_iter()
        .map(|(kind, _, turns)| (kind, turns))
        .collect();
    report::tell(NAME, ask.json, rows(&turns), Vec::new())
}

fn start(stand: &Stand, kind: Kind) -> Result<Running, String> {
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let config = match kind {
        Kind::Nginx => nginx::cache(&place),
        Kind::Varnish => varnish::cache(place.origin),
        _ => macronode::cache(&place),
    };
    let launch = Launch {
        kind,
        config: &config,
        files: &[],
        under: &[],
    };
    launch.start(port)
}

/// Where a server has what no earlier name stands for.
fn path(kind: Kind, round: u64, number: u64) -> String {
    let mount = mount(kind);
    format!("{mount}/bytes/{BYTES}?fresh=1&n={round}-{number}")
}

/// Slow enough that all of a crowd come before it is there.
fn slow_path(kind: Kind, round: u64) -> String {
    let mount = mount(kind);
    format!("{mount}/work?ms=100&fresh=1&n={round}")
}

fn mount(kind: Kind) -> &'static str {
    if kind == Kind::Macronode { "/o" } else { "" }
}

fn turn(
    stand: &Stand,
    kind: Kind,
    server: &Running,
    round: u64,
    fills: u64,
) -> Result<Turn, String> {
    let target = server.address();
    let fetches = flight(stand, target, &slow_path(kind, round))?;
    let asked = stand.bytes_asked()?;
    let (began, before) = (Instant::now(), server.cpu_time());
    let each = |client: u64| {
        let numbers = client * fills / CLIENTS..(client + 1) * fills / CLIENTS;
        sequence::run(target, numbers, BYTES, |number| {
            request("GET", target, &path(kind, round, number), &[], b"")
        })
    };
    let sent = in_threads(CLIENTS, each);
    sent.map_err(|error| format!("{}: {error}", kind.name()))?;
    let (took, spent) = (began.elapsed(), server.cpu_time().saturating_sub(before));
    let fetched = stand.bytes_asked()? - asked;
    if fetched != fills {
        return Err(format!(
            "{} fetched {fetched} times for {fills} names",
            kind.name()
        ));
    }
    Ok(Turn {
        fetches,
        micros_each: spent.as_secs_f64() * 1e6 / fills as f64,
        per_s: fills as f64 / took.as_secs_f64(),
    })
}

/// How often the origin is asked when a crowd asks at once for what nobody has yet.
fn flight(stand: &Stand, target: SocketAddr, path: &str) -> Result<u64, String> {
    let before = stand.work_done()?;
    let right = AtomicU64::new(0);
    let answered = in_threads(CROWD as u64, |_| {
        let (status, body) = get(target, path)?;
        let good = status == 200 && body.len() == SLOW_BYTES;
        right.fetch_add(u64::from(good), Ordering::Relaxed);
        Ok(())
    });
    answered.map_err(|error| error.to_string())?;
    match right.into_inner() == CROWD as u64 {
        true => Ok(stand.work_done()? - before),
        false => Err("not everybody in the crowd was answered rightly".to_owned()),
    }
}

fn in_threads(count: u64, each: impl Fn(u64) -> std::io::Result<()> + Sync) -> std::io::Result<()> {
    std::thread::scope(|scope| {
        let (each, mut threads) = (&each, Vec::new());
        // All of them begin before the first is waited for.
        for index in 0..count {
            threads.push(scope.spawn(move || each(index)));
        }
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(std::io::Error::other("a client panicked")))
        });
        ended.collect()
    })
}

fn rows(turns: &[(Kind, Vec<Turn>)]) -> Vec<Row> {
    let some = || turns.iter().filter(|(_, turns)| !turns.is_empty());
    let flights = some().map(|(kind, turns)| {
        let most = turns.iter().map(|turn| turn.fetches).max().unwrap_or(0);
        let row = Row::new(FLIGHT, kind.name(), most as f64, "fetches").over(turns.len(), None);
        match kind {
            Kind::Macronode => row.promised("one", most == 1),
            _ => row,
        }
    });
    let costs =
        some().map(|(kind, own)| compared(COST, "µs", *kind, own, turns, |turn| turn.micros_each));
    let rates =
        some().map(|(kind, own)| compared(RATE, "/s", *kind, own, turns, |turn| turn.per_s));
    flights.chain(costs).chain(rates).collect()
}

fn compared(
    metric: &str,
    unit: &str,
    kind: Kind,
    own: &[Turn],
    all: &[(Kind, Vec<Turn>)],
    value: fn(&Turn) -> f64,
) -> Row {
    let values = Quantiles::of(own.iter().map(value));
    let spread = (values.at(0.9) - values.at(0.1)) / values.at(0.5);
    let mut row = Row::new(metric, kind.name(), values.at(0.5), unit).over(own.len(), Some(spread));
    for (other, theirs) in all.iter().filter(|(other, _)| *other != kind) {
        let ratios = own.iter().zip(theirs).map(|(a, b)| value(a) / value(b));
        row = row.beside(other.name(), median(ratios));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_fetch_for_the_same_crowd_breaks_the_promise() {
        let turn = |fetches, micros_each| Turn {
            fetches,
            micros_each,
            per_s: 1e6 / micros_each,
        };
        let all = [
            (Kind::Nginx, vec![turn(1, 100.0), turn(1, 100.0)]),
            (Kind::Varnish, Vec::new()),
            (Kind::Macronode, vec![turn(1, 50.0), turn(2, 50.0)]),
        ];
        let rows = rows(&all);
        assert_eq!(rows.len(), 6);
        assert!(rows[1].goal.as_ref().is_some_and(|goal| !goal.met));
        assert_eq!(rows[3].beside[0].ratio, 0.5);
        assert_eq!(rows[5].beside[0].ratio, 2.0);
    }

    #[test]
    fn no_name_comes_twice() {
        assert_ne!(path(Kind::Nginx, 0, 1), path(Kind::Nginx, 1, 1));
        assert_ne!(path(Kind::Nginx, 0, 1), path(Kind::Nginx, 0, 11));
        assert!(path(Kind::Macronode, 0, 1).starts_with("/o/bytes/"));
    }
}
