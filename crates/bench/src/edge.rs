//! What a warm hit costs: processor time of the server alone, in turns with servers of files and with a cache.
//!
//! Everybody sends the same bytes. The server has a core for itself, load and the cache's origin share the next one;
//! the bare loop over sockets shows what the system takes for itself.

mod case;
mod content;
mod fills;
mod row;

use testkit::process::Port;

use crate::cores::{self, Rank};
use crate::frame::Effort;
use crate::instructions;
use crate::load::closed::{Plan, Until};
use crate::load::wire::exchange;
use crate::origin::start as start_origin;
use crate::peers::{Kind, Launch, OTHER_CORE, Running, macronode, nginx, varnish};
use crate::results::{self, Wanted};
use crate::turns::{self, Measured, Sample, Turns, told};
use case::Case;
use content::Content;
use row::Row;

/// What it is called by.
pub const NAME: &str = "edge";
/// One sentence for the list.
pub const ABOUT: &str = "processor time of a warm hit on macronode, nginx, Varnish and a bare loop";

const SERVERS: [Kind; 4] = [Kind::Nginx, Kind::Varnish, Kind::Bare, Kind::Macronode];

/// Runs what is wanted, prints it and keeps it beside what was measured before.
pub fn edge(
    effort: Effort,
    json: bool,
    wanted: &Wanted,
    count_instructions: bool,
) -> Result<(), String> {
    cores::go_first(Rank::Load);
    cores::pin(OTHER_CORE);
    let turns = Turns::of(effort);
    let show = |rows: Vec<Row>| {
        if json {
            rows.iter()
                .for_each(|row| println!("{}", results::line(row)));
        } else {
            print!("{}", row::text(&rows));
        }
        results::keep(NAME, rows)
    };
    for case in Case::ALL {
        if !wanted.has(&[case.name]) || (case.instructions && !count_instructions) {
            continue;
        }
        show(measured(case, turns, &SERVERS)?)?;
    }
    if wanted.has(&[fills::NAME]) {
        show(fills::measured(turns)?)?;
    }
    Ok(())
}

/// Every kind of hit on ours alone, for who watches it.
pub(crate) fn train(turns: Turns) -> Result<(), String> {
    let timed = Case::ALL.iter().filter(|case| !case.instructions);
    timed
        .into_iter()
        .try_for_each(|case| measured(case, turns, &[Kind::Macronode]).map(drop))
}

fn measured(case: &Case, turns: Turns, servers: &[Kind]) -> Result<Vec<Row>, String> {
    let origin_port = Port::reserve().map_err(|error| format!("no port is free: {error}"))?;
    let _origin = start_origin(&origin_port, OTHER_CORE)?;
    let stand = Stand {
        case,
        turns,
        content: Content::of(case.bytes)?,
        origin: origin_port.addr(),
    };
    if case.instructions {
        let counted = servers.iter().map(|&kind| (kind, stand.instructions(kind)));
        let counted = told(counted).into_iter();
        let counted: Vec<Measured> = counted
            .map(|(kind, sample)| Measured::once(kind, sample))
            .collect();
        return Ok(row::rows(case, &counted));
    }
    let started = servers.iter().map(|&kind| (kind, stand.start(kind, &[])));
    let plan_until = Until::Elapsed(turns.length);
    let taken = turns.take(told(started), |kind, server| {
        stand.sample(kind, server, plan_until)
    });
    let all: Vec<Measured> = taken.into_iter().map(|(_, measured)| measured).collect();
    Ok(row::rows(case, &all))
}

/// Everything a server is measured with.
struct Stand<'a> {
    case: &'a Case,
    turns: Turns,
    content: Content,
    origin: std::net::SocketAddr,
}

impl Stand<'_> {
    /// Started, asked once, and found to answer with as many bytes as the others.
    fn start(&self, kind: Kind, under: &[&str]) -> Result<Running, String> {
        let port = Port::reserve().map_err(|error| format!("no port is free: {error}"))?;
        let config = match kind {
            Kind::Nginx => nginx::files(port.addr()),
            Kind::Varnish => varnish::cache(self.origin),
            Kind::Earlier | Kind::Macronode => macronode::packs(port.addr(), &[content::PACK]),
            Kind::Bare => String::new(),
            Kind::Haproxy => return Err(format!("{} serves no files", kind.name())),
        };
        let launch = Launch {
            kind,
            config: &config,
            files: &self.content.files(),
            under,
        };
        let server = launch.start(port)?;
        let answer = exchange(server.address(), &self.request(kind, &server));
        let (status, body) = answer.map_err(|error| format!("{}: {error}", kind.name()))?;
        match (status, body.len() == self.case.bytes) {
            (200, true) => Ok(server),
            _ => Err(format!(
                "{} answers {status} with {} bytes",
                kind.name(),
                body.len()
            )),
        }
    }

    fn sample(&self, kind: Kind, server: &Running, until: Until) -> Result<Sample, String> {
        let plan = Plan {
            target: server.address(),
            connections: self.case.connections,
            request: self.request(kind, server),
            warm_up: self.turns.length / 5,
            until,
        };
        turns::closed(server, &plan)
    }

    fn request(&self, kind: Kind, server: &Running) -> Vec<u8> {
        self.case
            .request(server.address(), &self.content.path(kind))
    }

    fn instructions(&self, kind: Kind) -> Result<Sample, String> {
        if kind == Kind::Varnish {
            return Err(
                "Varnish works in a process of its own making, which is not counted".to_owned(),
            );
        }
        if kind == Kind::Bare {
            return Err("the bare loop waits by a call that valgrind does not know".to_owned());
        }
        instructions::count(
            kind,
            |under| self.start(kind, under),
            |server, until| self.sample(kind, server, until),
        )
    }
}

/// The rows measured last, for the page.
pub(crate) fn page() -> Result<Option<String>, String> {
    let rows: Vec<Row> = results::kept(NAME)?;
    Ok((!rows.is_empty()).then(|| row::markdown(&rows)))
}

#[cfg(test)]
mod tests;
