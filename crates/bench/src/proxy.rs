//! What it costs to pass a request on: processor time of the server alone, in turns with its peers.
//!
//! The server has a core for itself, load and origin share the next one. Only the server's own time
//! is counted, so that a slow generator costs requests a second but not a verdict.

mod case;
mod certificate;
mod h2;
mod handshake;
mod instructions;
mod row;
mod table;

use std::time::Duration;

use testkit::process::Port;

use crate::cores::{self, Rank};
use crate::frame::Effort;
use crate::load::closed::{self, Plan, Until};
use crate::load::tally::quantile_ms;
use crate::origin::start as start_origin;
use crate::peers::{Kind, Launch, OTHER_CORE, Place, Running, haproxy, macronode, nginx};
use crate::results::{self, Wanted};
use case::{Case, Drive};
use certificate::Certificate;
use row::Row;

/// What it is called by.
pub const NAME: &str = "proxy";
/// One sentence for the list.
pub const ABOUT: &str = "processor time a request through macronode, nginx and HAProxy";

/// How long and how often each server is measured.
#[derive(Clone, Copy, Debug)]
struct Turns {
    rounds: usize,
    length: Duration,
}

/// One turn of one server.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Of the case's unit, a request.
    each: f64,
    per_s: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    answers: u64,
    failures: u64,
}

/// What came of all turns of one server.
#[derive(Debug)]
struct Measured {
    kind: Kind,
    samples: Vec<Sample>,
    /// Lines it wrote meanwhile, where it was asked to.
    lines: Option<u64>,
}

/// Runs what is wanted, prints it and keeps it beside what was measured before.
pub fn proxy(
    effort: Effort,
    json: bool,
    wanted: &Wanted,
    count_instructions: bool,
) -> Result<(), String> {
    cores::go_first(Rank::Load);
    cores::pin(OTHER_CORE);
    let turns = match effort {
        Effort::Quick => Turns {
            rounds: 3,
            length: Duration::from_millis(500),
        },
        Effort::Full => Turns {
            rounds: 9,
            length: Duration::from_secs(1),
        },
    };
    let certificate = Certificate::make()?;
    for case in Case::ALL {
        if !wanted.has(&[case.name]) || (case.drive == Drive::Instructions && !count_instructions) {
            continue;
        }
        let rows = measured(case, turns, &certificate)?;
        if json {
            rows.iter()
                .for_each(|row| println!("{}", results::line(row)));
        } else {
            print!("{}", table::text(&rows));
        }
        results::keep(NAME, rows)?;
    }
    Ok(())
}

fn measured(case: &Case, turns: Turns, certificate: &Certificate) -> Result<Vec<Row>, String> {
    let origin_port = Port::reserve().map_err(|error| format!("no port is free: {error}"))?;
    let _origin = start_origin(&origin_port, OTHER_CORE)?;
    let stand = Stand {
        case,
        turns,
        certificate,
        origin: origin_port.addr(),
    };
    if case.drive == Drive::Instructions {
        let counted = Kind::ALL.map(|kind| (kind, instructions::count(&stand, kind)));
        let counted = told(counted).into_iter().map(|(kind, sample)| Measured {
            kind,
            samples: vec![sample],
            lines: None,
        });
        return Ok(row::rows(case, &counted.collect::<Vec<_>>()));
    }
    let started = Kind::ALL.map(|kind| (kind, stand.start(kind, &[])));
    Ok(row::rows(case, &stand.in_turns(told(started))))
}

/// Says what is missing and goes on with what is there.
fn told<T, const N: usize>(tried: [(Kind, Result<T, String>); N]) -> Vec<(Kind, T)> {
    let mut there = Vec::new();
    for (kind, tried) in tried {
        match tried {
            Ok(value) => there.push((kind, value)),
            Err(sentence) => eprintln!("{sentence}"),
        }
    }
    there
}

/// Everything a server is measured with.
struct Stand<'a> {
    case: &'a Case,
    turns: Turns,
    certificate: &'a Certificate,
    origin: std::net::SocketAddr,
}

impl Measured {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            samples: Vec::new(),
            lines: None,
        }
    }
}

impl Stand<'_> {
    fn start(&self, kind: Kind, under: &[&str]) -> Result<Running, String> {
        let port = Port::reserve().map_err(|error| format!("no port is free: {error}"))?;
        let place = Place {
            listen: port.addr(),
            origin: self.origin,
            door: self.case.door,
            access_log: self.case.access_log,
        };
        let config = match kind {
            Kind::Nginx => nginx::tuned(&place),
            Kind::Haproxy => haproxy::tuned(&place),
            Kind::Macronode => macronode::realistic(&place),
        };
        let launch = Launch {
            kind,
            config: &config,
            files: &self.certificate.files(),
            under,
        };
        launch.start(port)
    }

    /// Rounds over all servers. One that fails is left out from then on, and said to be.
    fn in_turns(&self, servers: Vec<(Kind, Running)>) -> Vec<Measured> {
        let fresh = |(kind, server)| (server, Measured::new(kind));
        let mut taking: Vec<(Running, Measured)> = servers.into_iter().map(fresh).collect();
        // The first turn pays for cold caches and fresh connections; it is nobody's cost.
        for round in 0..=self.turns.rounds {
            // Who begins changes, so that nobody always finds another's caches.
            let next = taking.len().min(1);
            taking.rotate_left(next);
            taking.retain_mut(|(server, measured)| match self.sample(server) {
                Ok(sample) => {
                    measured.samples.extend((round > 0).then_some(sample));
                    true
                }
                Err(error) => {
                    eprintln!("{} is left out: {error}", measured.kind.name());
                    false
                }
            });
        }
        let ended = |(server, mut measured): (Running, Measured)| {
            measured.lines = self.case.access_log.then(|| server.end_and_count_lines());
            measured
        };
        let mut all: Vec<Measured> = taking.into_iter().map(ended).collect();
        all.sort_unstable_by_key(|measured| measured.kind);
        all
    }

    fn sample(&self, server: &Running) -> Result<Sample, String> {
        match self.case.drive {
            Drive::Closed => self.closed(server, Until::Elapsed(self.turns.length)),
            Drive::H2load => h2::sample(server, self.turns.length),
            Drive::Handshakes { resumed } => {
                handshake::sample(server, self.certificate, resumed, self.turns.length)
            }
            Drive::Instructions => Err("instructions are counted in runs of their own".to_owned()),
        }
    }

    fn closed(&self, server: &Running, until: Until) -> Result<Sample, String> {
        let plan = Plan {
            target: server.address(),
            connections: self.case.connections,
            request: self.case.request(server.address()),
            warm_up: self.turns.length / 5,
            until,
        };
        let outcome =
            closed::run(&plan, || server.cpu_time()).map_err(|error| error.to_string())?;
        let micros = |quantile| Some(quantile_ms(&outcome.latency, quantile) * 1e3);
        Ok(Sample {
            each: outcome.micros_each(),
            per_s: outcome.answers as f64 / outcome.elapsed.as_secs_f64(),
            p50_us: micros(0.5),
            p99_us: micros(0.99),
            answers: outcome.answers,
            failures: outcome.failures,
        })
    }
}

/// The rows measured last, for the page.
pub(crate) fn page() -> Result<Option<String>, String> {
    let rows: Vec<Row> = results::kept(NAME)?;
    Ok((!rows.is_empty()).then(|| table::markdown(&rows)))
}

#[cfg(test)]
mod tests;
