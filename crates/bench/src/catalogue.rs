//! Every benchmark by its name, in the order in which all of them run.

use crate::frame::Effort;
use crate::overload::sweep;
use crate::peers::Kind;
use crate::results::Wanted;
use crate::{
    ALL, admission, drain, edge, fairness, fill, kill, memory, micro, overload, overload_sim,
    proxy, reload, round_trips, runtimes, scaling, siege, startup,
};

/// A benchmark that can be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is called by.
    pub name: &'static str,
    /// One sentence for the list.
    pub about: &'static str,
    /// Who is measured beside ours.
    pub peers: &'static [Kind],
    /// Whether another one measures the same, so that who runs all does not run it.
    pub is_part: bool,
    /// Measures, prints, keeps.
    pub run: fn(&Ask) -> Result<(), String>,
}

impl Entry {
    /// Whether it is servers that are measured, in processes of their own.
    pub fn starts_servers(&self) -> bool {
        let alone = [scaling::NAME, runtimes::NAME, siege::NAME, admission::NAME];
        !self.peers.is_empty() || alone.contains(&self.name)
    }
}

/// What is asked of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The benchmark's name.
    pub name: &'static str,
    /// How much patience there is.
    pub effort: Effort,
    /// Whether machines read what is printed.
    pub json: bool,
    /// Which rows.
    pub wanted: Wanted,
    /// Whether instructions are counted too.
    pub instructions: bool,
}

const PROXIES: &[Kind] = &[Kind::Nginx, Kind::Haproxy];
const CACHES: &[Kind] = &[Kind::Nginx, Kind::Varnish];

/// All of them: the small parts first, then servers beside servers.
pub fn all() -> Vec<Entry> {
    let small = ALL.iter().map(|bench| Entry {
        name: bench.name,
        about: bench.about,
        peers: &[],
        is_part: false,
        run: micro::micro,
    });
    small.chain(SERVERS.iter().copied()).collect()
}

/// The one of this name.
pub fn find(name: &str) -> Option<Entry> {
    all().into_iter().find(|entry| entry.name == name)
}

const SERVERS: &[Entry] = &[
    Entry {
        name: overload_sim::NAME,
        about: overload_sim::ABOUT,
        peers: &[],
        is_part: false,
        run: |ask| overload_sim::overload_sim(ask.effort, ask.json),
    },
    Entry {
        name: proxy::NAME,
        about: proxy::ABOUT,
        peers: PROXIES,
        is_part: false,
        run: |ask| proxy::proxy(ask.effort, ask.json, &ask.wanted, ask.instructions),
    },
    Entry {
        name: "tls",
        about: "the handshakes among the proxy's cases",
        peers: PROXIES,
        is_part: true,
        run: |ask| part_of_proxy(ask, "tls"),
    },
    Entry {
        name: "h2",
        about: "HTTP/2 among the proxy's cases",
        peers: PROXIES,
        is_part: true,
        run: |ask| part_of_proxy(ask, "http/2"),
    },
    Entry {
        name: edge::NAME,
        about: edge::ABOUT,
        peers: CACHES,
        is_part: false,
        run: |ask| edge::edge(ask.effort, ask.json, &ask.wanted, ask.instructions),
    },
    Entry {
        name: overload::NAME,
        about: overload::ABOUT,
        peers: PROXIES,
        is_part: false,
        run: |ask| overload::overload(ask.effort, ask.json, &ask.wanted),
    },
    beside(sweep::NAME, sweep::ABOUT, PROXIES, sweep::sweep),
    beside(fill::NAME, fill::ABOUT, CACHES, fill::fill),
    beside(fairness::NAME, fairness::ABOUT, PROXIES, fairness::fairness),
    beside(drain::NAME, drain::ABOUT, PROXIES, drain::drain),
    beside(reload::NAME, reload::ABOUT, PROXIES, reload::reload),
    beside(startup::NAME, startup::ABOUT, PROXIES, startup::startup),
    beside(memory::NAME, memory::ABOUT, PROXIES, memory::memory),
    beside(scaling::NAME, scaling::ABOUT, &[], scaling::scaling),
    beside(
        round_trips::NAME,
        round_trips::ABOUT,
        &[],
        round_trips::round_trips,
    ),
    beside(runtimes::NAME, runtimes::ABOUT, &[], runtimes::runtimes),
    beside(siege::NAME, siege::ABOUT, &[], siege::siege),
    beside(admission::NAME, admission::ABOUT, &[], admission::admission),
    // Not among all: it wants an earlier build.
    Entry {
        name: proxy::progress::NAME,
        about: proxy::progress::ABOUT,
        peers: &[Kind::Earlier],
        is_part: true,
        run: proxy::progress::progress,
    },
    // Not among all: they measure the node as people run it.
    Entry {
        name: kill::NAME,
        about: kill::ABOUT,
        peers: &[],
        is_part: true,
        run: kill::kill,
    },
];

const fn beside(
    name: &'static str,
    about: &'static str,
    peers: &'static [Kind],
    run: fn(&Ask) -> Result<(), String>,
) -> Entry {
    Entry {
        name,
        about,
        peers,
        is_part: false,
        run,
    }
}

/// Measures some cases of the proxy's, and leaves their rows under this name too.
fn part_of_proxy(ask: &Ask, word: &str) -> Result<(), String> {
    let wanted = Wanted::parse(word);
    proxy::proxy(ask.effort, ask.json, &wanted, ask.instructions)?;
    let whole = crate::results::sheet(proxy::NAME)?.unwrap_or_default();
    let rows = whole.rows.into_iter();
    let rows = rows.filter(|row| wanted.has(&[&row.metric])).collect();
    crate::results::keep_rows(ask.name, rows, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_has_a_name_of_its_own_and_a_sentence() {
        let mut names: Vec<&str> = all().iter().map(|entry| entry.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(all().iter().all(|entry| !entry.about.is_empty()));
    }
}
