//! How a server ends under load: what it loses of what it had taken, and how long it takes.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::{Effort, Quantiles};
use crate::load::open::{Outcome, Plan, Stream};
use crate::load::request;
use crate::load::tally::{MOMENT, Moment};
use crate::peers::{Door, Kind, Launch, Running, haproxy, macronode, nginx};
use crate::report;
use crate::sheet::{Axis, Plot, Row, Series, by_metric};
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "drain";
/// One sentence for the list.
pub const ABOUT: &str =
    "SIGTERM under load: requests lost and time to the end, beside nginx and HAProxy";

/// Requests of 200 ms each: eighty are under way when the signal comes.
const RATE_PER_S: f64 = 400.0;
const PATH: &str = "/work?ms=200";
/// At the edge between two moments.
const SIGNAL_AT: Duration = Duration::from_millis(1_000);
/// What is meant for before the edge has truly left by then, and is the server's to answer.
const SLACK: Duration = Duration::from_millis(20);
const LENGTH: Duration = Duration::from_millis(2_000);
const END_LIMIT: Duration = Duration::from_secs(10);

/// A server and the word that ends it.
struct Contender {
    name: &'static str,
    kind: Kind,
    signal: i32,
}

const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "nginx, QUIT",
        kind: Kind::Nginx,
        signal: libc::SIGQUIT,
    },
    Contender {
        name: "nginx, TERM",
        kind: Kind::Nginx,
        signal: libc::SIGTERM,
    },
    Contender {
        name: "HAProxy, USR1",
        kind: Kind::Haproxy,
        signal: libc::SIGUSR1,
    },
    Contender {
        name: "HAProxy, TERM",
        kind: Kind::Haproxy,
        signal: libc::SIGTERM,
    },
    Contender {
        name: "macronode, TERM",
        kind: Kind::Macronode,
        signal: libc::SIGTERM,
    },
];

/// One end.
struct Ending {
    taken: u64,
    lost: u64,
    took: Option<Duration>,
    moments: Vec<Moment>,
}

/// Ends every server by each of its words, in turns.
pub fn drain(ask: &Ask) -> Result<(), String> {
    let rounds = match ask.effort {
        Effort::Quick => 2,
        Effort::Full => 7,
    };
    let stand = Stand::new()?;
    stand.widen()?;
    let mut endings: Vec<Vec<Ending>> = CONTENDERS.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (contender, endings) in CONTENDERS.iter().zip(&mut endings) {
            if !ask.wanted.has(&[contender.name]) {
                continue;
            }
            match end(&stand, contender) {
                Ok(ending) => endings.push(ending),
                Err(sentence) => circumstances::absent(&sentence),
            }
        }
    }
    let all: Vec<(&Contender, Vec<Ending>)> = CONTENDERS.iter().zip(endings).collect();
    let rows = all.iter().flat_map(|(who, endings)| rows(who, endings));
    report::tell(NAME, ask.json, by_metric(rows.collect()), vec![plot(&all)])
}

fn end(stand: &Stand, contender: &Contender) -> Result<Ending, String> {
    let server = start(stand, contender.kind)?;
    let plan = Plan {
        target: server.address(),
        streams: vec![Stream::steady(
            "all",
            RATE_PER_S,
            request("GET", server.address(), PATH, &[("X-Tenant", "all")], b""),
            Ipv4Addr::new(127, 3, 0, 1),
        )],
        warm_up: Duration::ZERO,
        length: LENGTH,
        patience: Duration::from_millis(1_500),
        connections_max: 4_000,
    };
    let (outcome, took) = std::thread::scope(|scope| {
        let ending = scope.spawn(|| {
            std::thread::sleep(SIGNAL_AT + SLACK);
            let signalled = Instant::now();
            server.signal(contender.signal)?;
            let ended = server.ended(END_LIMIT);
            Ok::<_, String>(ended.map(|ended| ended - signalled))
        });
        let outcome = Outcome::of(&plan).map_err(|error| error.to_string());
        let took = ending
            .join()
            .map_err(|_| "the signal was not sent".to_owned());
        (outcome, took)
    });
    let moments = outcome?.streams.swap_remove(0).moments;
    let before = &moments[..edge().min(moments.len())];
    Ok(Ending {
        taken: before.iter().map(|m| m.ok + m.refused + m.lost).sum(),
        lost: before.iter().map(|m| m.refused + m.lost).sum(),
        took: took??,
        moments,
    })
}

fn start(stand: &Stand, kind: Kind) -> Result<Running, String> {
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let config = match kind {
        // Only with a master does nginx know a gentle end.
        Kind::Nginx => nginx::reloading(&place, 0),
        Kind::Haproxy => haproxy::tuned(&place),
        _ => macronode::realistic(&place),
    };
    let launch = Launch {
        kind,
        config: &config,
        files: &[],
        under: &[],
    };
    launch.start(port)
}

/// The moment in which the signal comes.
fn edge() -> usize {
    (SIGNAL_AT.as_millis() / MOMENT.as_millis()) as usize
}

fn rows(who: &Contender, endings: &[Ending]) -> Vec<Row> {
    if endings.is_empty() {
        return Vec::new();
    }
    let sum = |of: fn(&Ending) -> u64| endings.iter().map(of).sum::<u64>();
    let (taken, lost) = (sum(|ending| ending.taken), sum(|ending| ending.lost));
    let lost_row = Row::new(
        "lost of what it had taken",
        who.name,
        lost as f64,
        "requests",
    )
    .over(endings.len(), None)
    .noted(format!("of {taken}"));
    let lost_row = match who.kind {
        Kind::Macronode => lost_row.promised("none", lost == 0),
        _ => lost_row,
    };
    let millis = |took: Duration| took.as_secs_f64() * 1e3;
    let took = endings.iter().filter_map(|ending| ending.took).map(millis);
    let took: Vec<f64> = took.collect();
    if took.is_empty() {
        return vec![lost_row.noted(format!("of {taken}; it did not end within 10 s"))];
    }
    let count = took.len();
    let took = Quantiles::of(took.into_iter());
    let spread = (took.at(0.9) - took.at(0.1)) / took.at(0.5);
    let end_row = Row::new("until it has ended", who.name, took.at(0.5), "ms");
    vec![lost_row, end_row.over(count, Some(spread))]
}

fn plot(all: &[(&Contender, Vec<Ending>)]) -> Plot {
    let line = |(who, endings): &(&Contender, Vec<Ending>)| {
        let last = endings.last()?;
        let at = |index: usize| (index as f64 - edge() as f64) * MOMENT.as_secs_f64();
        let points = last.moments.iter().enumerate();
        Some(Series {
            name: who.name.to_owned(),
            points: points.map(|(index, m)| (at(index), m.ok as f64)).collect(),
        })
    };
    Plot {
        title: "A server ends under load".to_owned(),
        note: "requests answered, by the tenth of a second they were sent in; later ones find the door closed"
            .to_owned(),
        x: Axis::linear("seconds after the signal"),
        y: Axis::linear("answered"),
        lines: all.iter().filter_map(line).collect(),
        marks: vec![(0.0, "signal".to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(lost: u64, took_ms: Option<u64>) -> Ending {
        let moment = Moment {
            ok: 40,
            ..Moment::default()
        };
        Ending {
            taken: 400,
            lost,
            took: took_ms.map(Duration::from_millis),
            moments: vec![moment; 12],
        }
    }

    #[test]
    fn one_lost_request_breaks_the_promise() {
        let ours = &CONTENDERS[4];
        let kept = rows(ours, &[ending(0, Some(200)), ending(0, Some(210))]);
        assert!(kept[0].goal.as_ref().is_some_and(|goal| goal.met));
        assert_eq!((kept[1].value, kept[1].rounds), (205.0, 2));
        let broken = rows(ours, &[ending(0, None), ending(1, None)]);
        assert!(broken[0].goal.as_ref().is_some_and(|goal| !goal.met));
        let note = broken[0].note.as_deref();
        assert_eq!(note, Some("of 800; it did not end within 10 s"));
        assert!(rows(ours, &[]).is_empty());
    }

    #[test]
    fn the_picture_counts_from_the_signal() {
        let all = [(&CONTENDERS[0], vec![ending(0, None)])];
        let drawn = plot(&all);
        assert_eq!(drawn.lines[0].points[0], (-1.0, 40.0));
        assert_eq!(drawn.lines[0].points[10].0, 0.0);
    }
}
