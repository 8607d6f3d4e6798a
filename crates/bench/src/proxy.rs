//! What it costs to pass a request on: processor time of the server alone, in turns with its peers.
//!
//! The server has a core for itself, load and origin share the next one. Only the server's own time
//! is counted, so that a slow generator costs requests a second but not a verdict.

mod case;
pub(crate) mod certificate;
pub(crate) mod h2;
mod handshake;
pub(crate) mod progress;
mod row;
mod table;

use testkit::process::Port;

use crate::cores::{self, Rank};
use crate::frame::Effort;
use crate::instructions;
use crate::load::closed::{Plan, Until};
use crate::origin::start as start_origin;
use crate::peers::{Kind, Launch, OTHER_CORE, Place, Running, haproxy, macronode, nginx};
use crate::results::{self, Wanted};
use crate::turns::{self, Measured, Sample, Turns, told};
use case::{Case, Drive};
use certificate::Certificate;
use row::Row;

/// What it is called by.
pub const NAME: &str = "proxy";
/// One sentence for the list.
pub const ABOUT: &str = "processor time a request through macronode, nginx and HAProxy";

/// Runs what is wanted, prints it and keeps it beside what was measured before.
pub fn proxy(
    effort: Effort,
    json: bool,
    wanted: &Wanted,
    count_instructions: bool,
) -> Result<(), String> {
    cores::go_first(Rank::Load);
    cores::pin(OTHER_CORE);
    let turns = Turns::of(effort);
    let certificate = Certificate::make()?;
    for case in Case::ALL {
        if !wanted.has(&[case.name]) || (case.drive == Drive::Instructions && !count_instructions) {
            continue;
        }
        let rows = row::rows(case, &measured(case, turns, &certificate, &Kind::ALL)?);
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

/// Every kind of request through ours alone, for who watches it.
pub(crate) fn train(turns: Turns) -> Result<(), String> {
    let certificate = Certificate::make()?;
    let timed = |case: &&Case| case.drive != Drive::Instructions;
    Case::ALL
        .iter()
        .filter(timed)
        .try_for_each(|case| measured(case, turns, &certificate, &[Kind::Macronode]).map(drop))
}

fn measured(
    case: &Case,
    turns: Turns,
    certificate: &Certificate,
    kinds: &[Kind],
) -> Result<Vec<Measured>, String> {
    let origin_port = Port::reserve().map_err(|error| format!("no port is free: {error}"))?;
    let _origin = start_origin(&origin_port, OTHER_CORE)?;
    let stand = Stand {
        case,
        turns,
        certificate,
        origin: origin_port.addr(),
    };
    if case.drive == Drive::Instructions {
        let counted = kinds.iter().map(|&kind| (kind, stand.instructions(kind)));
        let counted = told(counted).into_iter();
        return Ok(counted
            .map(|(kind, sample)| Measured::once(kind, sample))
            .collect());
    }
    let started = kinds.iter().map(|&kind| (kind, stand.start(kind, &[])));
    Ok(stand.in_turns(told(started)))
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
            Kind::Earlier | Kind::Macronode => macronode::realistic(&place),
            Kind::Varnish | Kind::Bare => return Err(format!("{} is no proxy", kind.name())),
        };
        let launch = Launch {
            kind,
            config: &config,
            files: &self.certificate.files(),
            under,
        };
        launch.start(port)
    }

    fn in_turns(&self, servers: Vec<(Kind, Running)>) -> Vec<Measured> {
        let taken = self.turns.take(servers, |_, server| self.sample(server));
        let ended = |(server, mut measured): (Running, Measured)| {
            measured.lines = self.case.access_log.then(|| server.end_and_count_lines());
            measured
        };
        taken.into_iter().map(ended).collect()
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

    fn instructions(&self, kind: Kind) -> Result<Sample, String> {
        instructions::count(
            kind,
            |under| self.start(kind, under),
            |server, until| self.closed(server, until),
        )
    }

    fn closed(&self, server: &Running, until: Until) -> Result<Sample, String> {
        let plan = Plan {
            target: server.address(),
            connections: self.case.connections,
            request: self.case.request(server.address()),
            warm_up: self.turns.length / 5,
            until,
        };
        turns::closed(server, &plan)
    }
}

/// The rows measured last, for the page.
pub(crate) fn page() -> Result<Option<String>, String> {
    let rows: Vec<Row> = results::kept(NAME)?;
    Ok((!rows.is_empty()).then(|| table::markdown(&rows)))
}

#[cfg(test)]
mod tests;
