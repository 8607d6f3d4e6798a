//! Workers that die under load: what is lost with them, and how soon there are as many again.

mod framed;
mod watch;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use crate::catalogue::Ask;
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::{request, wire};
use crate::peers::{Door, Kind, Launch, macronode};
use crate::report;
use crate::sheet::{Row, by_metric};
use crate::stand::{Stand, reserve};
use watch::Watch;

/// What it is called by.
pub const NAME: &str = "kill";
/// One sentence for the list.
pub const ABOUT: &str =
    "workers killed under 4,000 requests a second, at both doors; wants a node built to be killed";

/// Of each pool.
const WORKERS: usize = 12;
/// Requests that may be repeated, and such that may not, a second.
const REPEATABLE_PER_S: u64 = 3_600;
const ONCE_PER_S: u64 = 400;
/// Long enough that a dying worker holds some.
const PATH: &str = "/work?ms=10";
const LENGTH: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_millis(250);
/// Half of the workers are killed once, so long after the beginning.
const HALF_AT: Duration = Duration::from_secs(1);
const HALF_LENGTH: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(5);
const TOKEN: &str = "whoever measures";

/// What became of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fate {
    asked: u64,
    /// Answered 5xx, or not at all.
    failed: u64,
}

/// What became of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Toll {
    repeatable: Fate,
    once: Fate,
}

/// How requests come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Http,
    Framed,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Framed => "frames",
        }
    }
}

/// A node with both doors.
struct Doors {
    http: SocketAddr,
    frames: SocketAddr,
    admin: SocketAddr,
}

/// Kills behind each door: one worker now and then, then half of them at once. Fails when a promise is not kept.
pub fn kill(ask: &Ask) -> Result<(), String> {
    let stand = Stand::new()?;
    stand.widen()?;
    let mut rows = Vec::new();
    for way in [Way::Http, Way::Framed] {
        if ask.wanted.has(&[way.name()]) {
            rows.extend(behind(&stand, way)?);
        }
    }
    report::judge(NAME, ask.json, by_metric(rows))
}

fn behind(stand: &Stand, way: Way) -> Result<Vec<Row>, String> {
    let mut rows = on_a_node(stand, |doors, watch| {
        let (toll, ()) = under_load(way, doors, LENGTH, || now_and_then(way, doors))?;
        watch.wait("ready", Instant::now(), PATIENCE)?;
        Ok(tolls(way, &toll, &watch.words()))
    })?;
    // On another one: who has just been killed many times comes back more slowly, as it should.
    let recovered = on_a_node(stand, |doors, watch| {
        let (toll, killed) = under_load(way, doors, HALF_LENGTH, || half(way, doors))?;
        let degraded = watch.wait("degraded", killed, PATIENCE)?;
        let back = watch.wait("ready", degraded, PATIENCE)? - killed;
        Ok(recovery(way, &toll, back))
    })?;
    rows.push(recovered);
    Ok(rows)
}

/// The same loads with nobody killed, for who watches it.
pub(crate) fn train(length: Duration) -> Result<(), String> {
    let stand = Stand::new()?;
    stand.widen()?;
    on_a_node(&stand, |doors, _| {
        over_http(doors.http, length)?;
        framed::load(doors.frames, length).map(drop)
    })
}

/// Does something to a node that is ready.
fn on_a_node<T>(
    stand: &Stand,
    show: impl FnOnce(&Doors, &Watch) -> Result<T, String>,
) -> Result<T, String> {
    let (port, frames, admin) = (reserve()?, reserve()?, reserve()?);
    let place = stand.place(port.addr(), Door::Plain);
    let doors = Doors {
        http: port.addr(),
        frames: frames.addr(),
        admin: admin.addr(),
    };
    let config = macronode::workers(&place, doors.frames, (doors.admin, TOKEN), WORKERS);
    let launch = Launch {
        kind: Kind::Macronode,
        config: &config,
        files: &[],
        // Where backtraces are on, the first panic reads the symbols of the whole program, which takes half a second.
        under: &["env", "RUST_BACKTRACE=0"],
    };
    let _server = launch.start(port)?;
    let watch = Watch::of_ready(doors.admin, PATIENCE)?;
    show(&doors, &watch)
}

/// Loads the door while something is done to the node, and says what became of both.
fn under_load<T: Send>(
    way: Way,
    doors: &Doors,
    length: Duration,
    disturb: impl FnOnce() -> Result<T, String> + Send,
) -> Result<(Toll, T), String> {
    std::thread::scope(|scope| {
        let disturbing = scope.spawn(disturb);
        let toll = match way {
            Way::Http => over_http(doors.http, length),
            Way::Framed => framed::load(doors.frames, length),
        };
        let disturbed = disturbing
            .join()
            .map_err(|_| "nobody was killed".to_owned());
        Ok((toll?, disturbed??))
    })
}

fn over_http(target: SocketAddr, length: Duration) -> Result<Toll, String> {
    let stream = |method: &str, rate: u64, host: u8| {
        Stream::steady(
            method,
            rate as f64,
            request(method, target, PATH, &[], b""),
            Ipv4Addr::new(127, 3, 0, host),
        )
    };
    let outcome = Outcome::of(&Plan {
        target,
        streams: vec![
            stream("GET", REPEATABLE_PER_S, 1),
            stream("POST", ONCE_PER_S, 2),
        ],
        warm_up: Duration::ZERO,
        length,
        patience: PATIENCE,
        connections_max: 8_000,
    });
    let outcome = outcome.map_err(|error| format!("the load could not be sent: {error}"))?;
    let fate = |at: usize| {
        let tally = &outcome.streams[at];
        Fate {
            asked: tally.intended,
            failed: tally.intended - tally.ok,
        }
    };
    Ok(Toll {
        repeatable: fate(0),
        once: fate(1),
    })
}

/// A tenth of the workers, rounded down to one, each quarter of a second.
fn now_and_then(way: Way, doors: &Doors) -> Result<(), String> {
    let began = Instant::now();
    while began.elapsed() + EVERY < LENGTH {
        std::thread::sleep(EVERY);
        kill_workers(way, doors, WORKERS / 10)?;
    }
    Ok(())
}

fn half(way: Way, doors: &Doors) -> Result<Instant, String> {
    std::thread::sleep(HALF_AT);
    let killed = Instant::now();
    kill_workers(way, doors, WORKERS / 2).map(|()| killed)
}

fn kill_workers(way: Way, doors: &Doors, workers: usize) -> Result<(), String> {
    let (target, path) = match way {
        Way::Http => (doors.http, format!("/chaos/kill?workers={workers}")),
        Way::Framed => (
            doors.admin,
            format!("/chaos/transport/kill?workers={workers}"),
        ),
    };
    let token = format!("Bearer {TOKEN}");
    let fields = [("Connection", "close"), ("Authorization", token.as_str())];
    match wire::exchange(target, &request("POST", target, &path, &fields, b"")) {
        Ok((200, _)) => Ok(()),
        other => Err(format!(
            "no worker was killed (is the node built with `--features chaos`?): {other:?}"
        )),
    }
}

fn percent(fate: Fate) -> f64 {
    fate.failed as f64 * 100.0 / fate.asked.max(1) as f64
}

fn tolls(way: Way, toll: &Toll, seen: &[String]) -> Vec<Row> {
    let all = Fate {
        asked: toll.repeatable.asked + toll.once.asked,
        failed: toll.repeatable.failed + toll.once.failed,
    };
    let changed = seen.starts_with(&["ready".to_owned(), "degraded".to_owned()]);
    let known = seen
        .iter()
        .all(|word| word == "ready" || word == "degraded");
    let states = Row::new(
        "states seen at /readyz",
        way.name(),
        seen.len() as f64,
        "states",
    );
    vec![
        Row::new("failed, of all", way.name(), percent(all), "%")
            .promised("at most 0.1 %", percent(all) <= 0.1)
            .noted(format!("{} of {}", all.failed, all.asked)),
        Row::new(
            "failed, of what may be repeated",
            way.name(),
            toll.repeatable.failed as f64,
            "requests",
        )
        .promised("none", toll.repeatable.failed == 0)
        .noted(format!("of {}", toll.repeatable.asked)),
        states.promised("ready, degraded and ready again", changed && known),
    ]
}

fn recovery(way: Way, toll: &Toll, back: Duration) -> Row {
    let millis = back.as_secs_f64() * 1e3;
    Row::new(
        "ready after half of the workers died",
        way.name(),
        millis,
        "ms",
    )
    .promised("within 1 s", back <= Duration::from_secs(1))
    .noted(format!(
        "{} of {} that may be repeated failed",
        toll.repeatable.failed, toll.repeatable.asked
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn kept(rows: &[Row]) -> Vec<bool> {
        let goals = rows.iter().filter_map(|row| row.goal.as_ref());
        goals.map(|goal| goal.met).collect()
    }

    // req: AC-04
    #[test]
    fn one_lost_request_that_may_be_repeated_breaks_a_promise_and_so_does_an_unready_node() {
        let fate = |asked, failed| Fate { asked, failed };
        let toll = Toll {
            repeatable: fate(36_000, 0),
            once: fate(4_000, 40),
        };
        let calm = words(&["ready", "degraded", "ready"]);
        assert_eq!(kept(&tolls(Way::Http, &toll, &calm)), [true, true, true]);
        let worse = Toll {
            repeatable: fate(36_000, 1),
            ..toll
        };
        let gone = words(&["ready", "degraded", "unready"]);
        let broken = kept(&tolls(Way::Framed, &worse, &gone));
        assert_eq!(broken, [false, false, false]);
        let unmoved = tolls(Way::Http, &toll, &words(&["ready"]));
        assert_eq!(kept(&unmoved), [true, true, false]);
    }

    // req: AC-04
    #[test]
    fn workers_that_are_back_after_more_than_a_second_break_the_promise() {
        let row = |ms| recovery(Way::Http, &Toll::default(), Duration::from_millis(ms));
        assert_eq!(kept(&[row(1_000), row(1_001)]), [true, false]);
    }
}
