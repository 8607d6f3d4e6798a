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
    failures: u64,
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
        return Ok(row::rows(case, told(counted)));
    }
    let started = Kind::ALL.map(|kind| (kind, stand.start(kind, &[])));
    Ok(row::rows(case, stand.in_turns(told(started))))
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
    fn in_turns(&self, mut servers: Vec<(Kind, Running)>) -> Vec<(Kind, Vec<Sample>)> {
        let mut samples: Vec<(Kind, Vec<Sample>)> = Vec::new();
        samples.extend(servers.iter().map(|(kind, _)| (*kind, Vec::new())));
        // The first turn pays for cold caches and fresh connections; it is nobody's cost.
        for round in 0..=self.turns.rounds {
            // Who begins changes, so that nobody always finds another's caches.
            let next = servers.len().min(1);
            servers.rotate_left(next);
            servers.retain(|(kind, server)| {
                let sample = self.sample(server);
                let own = samples.iter_mut().find(|(other, _)| other == kind);
                match (sample, own) {
                    (Ok(sample), Some((_, own))) if round > 0 => own.push(sample),
                    (Ok(_), _) => {}
                    (Err(error), _) => {
                        eprintln!("{} is left out: {error}", kind.name());
                        samples.retain(|(other, _)| other != kind);
                        return false;
                    }
                }
                true
            });
        }
        samples
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
