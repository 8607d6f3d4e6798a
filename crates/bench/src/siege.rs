//! What others notice of peers that mean harm: floods of HTTP/2 frames, and thousands of heads that never end.

mod floods;
mod heads;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::catalogue::Ask;
use crate::cores::{self, Rank};
use crate::frame::{Effort, Quantiles};
use crate::load::idle;
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::quantile_ms;
use crate::peers::{Door, Kind, Launch, Running, macronode};
use crate::report;
use crate::sheet::Row;
use crate::stand::{Stand, reserve};
use crate::turns::median;
use floods::Named;

/// What it is called by.
pub const NAME: &str = "siege";
/// One sentence for the list.
pub const ABOUT: &str =
    "floods of HTTP/2 frames and heads that never end: how soon they are over, what others notice";

const RATE_PER_S: f64 = 1_000.0;
const OTHERS: &str = "p99 of others";
const FLOOD_OVER: &str = "until the longest flood is over";
const HEADS_CLOSED: &str = "until the last head that never ends is closed";
const FLOOD_GOAL_MS: f64 = 100.0;
const HEADS_GOAL_S: f64 = 5.5;
/// Of what it is without them.
const BESIDE_FLOODS: f64 = 1.2;
const BESIDE_HEADS: f64 = 1.5;
/// Between one head that never ends and the next to begin.
const PACE: Duration = Duration::from_micros(200);

/// How much of it.
#[derive(Clone, Copy)]
struct Extent {
    rounds: usize,
    length: Duration,
    heads: usize,
}

/// What was seen in one round.
struct Round {
    alone_ms: f64,
    beside_floods_ms: f64,
    beside_heads_ms: f64,
    /// As many connections, all as soon as they can.
    beside_storm_ms: f64,
    floods: floods::Seen,
    heads: heads::Seen,
}

/// In turns: others alone, beside floods, beside heads.
pub fn siege(ask: &Ask) -> Result<(), String> {
    let extent = match ask.effort {
        Effort::Quick => Extent {
            rounds: 2,
            length: Duration::from_secs(3),
            heads: 2_000,
        },
        Effort::Full => Extent {
            rounds: 5,
            length: Duration::from_secs(7),
            heads: 10_000,
        },
    };
    idle::most(); // Asks for as many descriptors as there may be.
    let stand = Stand::new()?;
    let floods = floods::wanted(&ask.wanted)?;
    let rounds: Result<Vec<Round>, String> = (0..extent.rounds)
        .map(|_| round(&stand, extent, &floods))
        .collect();
    report::tell(
        NAME,
        ask.json,
        rows(&rounds?, extent.heads, floods.len()),
        Vec::new(),
    )
}

fn round(stand: &Stand, extent: Extent, floods: &[Named]) -> Result<Round, String> {
    let port = reserve()?;
    let config = macronode::realistic(&stand.place(port.addr(), Door::Plain));
    let launch = Launch {
        kind: Kind::Macronode,
        config: &config,
        files: &[],
        under: &[],
    };
    let server = launch.start(port)?;
    let target = server.address();
    let alone_ms = others(&server, extent.length)?;
    let (beside_floods_ms, floods) = beside(&server, extent.length, |over| {
        floods::until(over, target, floods).map_err(|error| format!("the floods: {error}"))
    })?;
    let heads = |pace| {
        beside(&server, extent.length, |_| {
            heads::until_closed(target, extent.heads, pace)
                .map_err(|error| format!("the heads: {error}"))
        })
    };
    let (beside_heads_ms, heads_seen) = heads(PACE)?;
    let (beside_storm_ms, _) = heads(Duration::ZERO)?;
    Ok(Round {
        alone_ms,
        beside_floods_ms,
        beside_heads_ms,
        beside_storm_ms,
        floods,
        heads: heads_seen,
    })
}

/// What others measure while somebody means harm, and what became of that.
fn beside<S: Send>(
    server: &Running,
    length: Duration,
    harm: impl FnOnce(&AtomicBool) -> Result<S, String> + Send,
) -> Result<(f64, S), String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let harming = scope.spawn(|| {
            // Behind the others, who have the same core: it is the node that is measured.
            cores::go_first(Rank::Server);
            harm(&over)
        });
        let p99 = others(server, length);
        over.store(true, Ordering::Relaxed);
        let seen = harming.join().map_err(|_| "the harm ended".to_owned())??;
        Ok((p99?, seen))
    })
}

/// The p99 of who asks by the clock, in milliseconds; everybody has to be answered.
fn others(server: &Running, length: Duration) -> Result<f64, String> {
    let target = server.address();
    let plan = Plan {
        target,
        streams: vec![Stream::steady(
            "others",
            RATE_PER_S,
            request("GET", target, "/bytes/1024", &[("X-Tenant", "others")], b""),
            Ipv4Addr::new(127, 4, 0, 1),
        )],
        warm_up: length / 10,
        length,
        patience: Duration::from_millis(1_500),
        connections_max: 4_000,
    };
    let outcome = Outcome::of(&plan).map_err(|error| format!("the load: {error}"))?;
    let tally = &outcome.streams[0];
    match tally.intended - tally.ok {
        0 => Ok(quantile_ms(&tally.latency, 0.99)),
        lost => Err(format!("{lost} of {} others got no answer", tally.intended)),
    }
}

fn rows(rounds: &[Round], heads: usize, kinds: usize) -> Vec<Row> {
    let of = |pick: fn(&Round) -> f64| rounds.iter().map(pick).collect::<Vec<f64>>();
    let alone = of(|round| round.alone_ms);
    let row = |subject: &str, p99s: &[f64]| {
        let all = Quantiles::of(p99s.iter().copied());
        let spread = (all.at(0.9) - all.at(0.1)) / all.at(0.5);
        Row::new(OTHERS, subject, all.at(0.5), "ms").over(p99s.len(), Some(spread))
    };
    let with = |subject: &str, p99s: &[f64], most: f64| {
        let ratios = p99s
            .iter()
            .zip(&alone)
            .map(|(with, without)| with / without);
        row(subject, p99s)
            .beside("alone", median(ratios))
            .at_most(most)
    };
    let worst = |p: fn(&Round) -> f64| rounds.iter().map(p).fold(0.0, f64::max);
    let (flood_ms, heads_s) = (worst(|r| r.floods.longest_ms), worst(|r| r.heads.last_s));
    let count: usize = rounds.iter().map(|round| round.floods.count).sum();
    let longest = rounds
        .iter()
        .max_by(|a, b| a.floods.longest_ms.total_cmp(&b.floods.longest_ms));
    let longest = longest.map_or("", |round| round.floods.longest);
    vec![
        row("alone", &alone),
        with("beside floods", &of(|r| r.beside_floods_ms), BESIDE_FLOODS),
        with(
            "beside heads that never end",
            &of(|r| r.beside_heads_ms),
            BESIDE_HEADS,
        )
        .noted(format!(
            "{heads} of them, {:.0} a second",
            1.0 / PACE.as_secs_f64()
        )),
        row(
            "beside as many connections at once",
            &of(|r| r.beside_storm_ms),
        ),
        Row::new(FLOOD_OVER, Kind::Macronode.name(), flood_ms, "ms")
            .promised("at most 100 ms", flood_ms <= FLOOD_GOAL_MS)
            .noted(format!("of {count} floods of {} kinds: {longest}", kinds)),
        Row::new(HEADS_CLOSED, Kind::Macronode.name(), heads_s, "s")
            .promised("at most 5.5 s", heads_s <= HEADS_GOAL_S)
            .noted(format!("of {heads}, each from its own beginning")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(alone_ms: f64, longest_ms: f64, last_s: f64) -> Round {
        Round {
            alone_ms,
            beside_floods_ms: alone_ms * 1.1,
            beside_heads_ms: alone_ms * 2.0,
            beside_storm_ms: alone_ms * 9.0,
            floods: floods::Seen {
                count: 7,
                longest: "pings",
                longest_ms,
            },
            heads: heads::Seen { last_s },
        }
    }

    #[test]
    fn the_worst_of_all_rounds_is_told_and_ratios_are_those_of_the_rounds() {
        let rows = rows(&[seen(1.0, 20.0, 5.2), seen(3.0, 120.0, 5.1)], 100, 3);
        let met: Vec<bool> = rows
            .iter()
            .filter_map(|row| row.goal.as_ref())
            .map(|goal| goal.met)
            .collect();
        assert_eq!(met, [true, false, false, true]);
        assert_eq!((rows[4].value, rows[5].value), (120.0, 5.2));
        assert!(
            rows[4]
                .note
                .as_ref()
                .is_some_and(|note| note.contains("14 floods"))
        );
    }
}
