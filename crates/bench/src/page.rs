//! The page of results: made from what was measured last, never by hand.

mod tables;

use std::path::Path;

use crate::sheet::Sheet;
use crate::{edge, overload, proxy, results, runtimes};

/// What it is called by.
pub const NAME: &str = "page";
/// One sentence for the list.
pub const ABOUT: &str = "writes docs/benchmarks.md from the results kept under target/bench";

const PAGE: &str = "docs/benchmarks.md";

/// Longer tables are for the report only.
const ROWS_MAX: usize = 60;

/// Writes the page, or says that there is nothing to write.
pub fn page() -> Result<(), String> {
    let sheets = results::all()?;
    let sheets: Vec<Sheet> = sheets
        .into_iter()
        .filter(|sheet| !sheet.rows.is_empty())
        .collect();
    if sheets.is_empty() {
        return Err("nothing is measured yet: `cargo xtask bench`".to_owned());
    }
    let told = [
        (proxy::NAME, PROXY, proxy::page()?),
        (edge::NAME, EDGE, edge::page()?),
        (overload::NAME, OVERLOAD, overload::page()?),
        (runtimes::NAME, RUNTIMES, runtimes::page()?),
    ];
    let section = |sheet: &Sheet| {
        let own = told
            .iter()
            .find(|(name, _, table)| *name == sheet.name && table.is_some());
        match own {
            Some((_, words, Some(table))) => format!("{words}{}{table}", tables::when(sheet)),
            _ => tables::section(sheet, ROWS_MAX),
        }
    };
    let sections: Vec<String> = sheets.iter().map(section).collect();
    results::write(Path::new(PAGE), &text(&sheets, &sections))?;
    println!("{PAGE} is written");
    Ok(())
}

fn text(sheets: &[Sheet], sections: &[String]) -> String {
    let today = results::today();
    format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench page` on {today} from what `cargo xtask bench` measured; do not edit. The same\n\
         results, with plots and every config, are in `target/bench/report.html` after a run. Trust ratios and order,\n\
         not digits: the machine is shared.\n\n{}{}",
        tables::standing(sheets),
        sections.concat()
    )
}

const PROXY: &str = "
## What passing a request on costs

Processor time of the server's process, user and system mode, divided by the requests it answered meanwhile. The
server has one core for itself (nginx: one process, HAProxy: one thread, macronode: `--runtime single`); load and
origin share another. Rounds in turns; medians; ratios are medians of each round's own. macronode runs with routes, a
quota, the fair queue, the limit and metrics on. Instructions are those in user mode, counted by callgrind.

";

const EDGE: &str = "
## What a warm hit costs

Processor time as above. The same bytes from everybody, 64 connections kept: a gzipped vector tile of a pack from
macronode, a file from nginx (`sendfile`, `open_file_cache`), an object in memory from Varnish, and from a bare loop
over sockets that does nothing but find and send them, which is as much as the system allows.

";

const OVERLOAD: &str = "
## What is left when others ask for more than there is

An origin of 32 places and 20 ms a request (1,600 a second), first come first served, which goes on working for
clients that have left. Requests leave by the clock, whatever became of earlier ones; latency counts from the intended
instant; clients leave after 1.5 s. *Goodput*: answers in time, of all tenants. *Refusal p99*: how soon a refused
tenant knew. *Gave up*: requests without any answer in time. *Wasted*: the part of the origin's work whose client had
left. *Late*: how late the generator itself was at the 99th percentile; past 5 ms a row is marked invalid.
S8 to S11 came late, and nothing was tuned for them; S12 found faults that were mended; S13 to S19 came last of all.

";

const RUNTIMES: &str = "
## Which runtime, and one for each core

The gateway of the comparison above, on `--runtime single` and `--runtime multi`. On *one core* it has that core for
itself, load and origin have the other. On *two cores* it shares the second one with them, and they go first: one node
of two workers, or two nodes on `single`, each with a core and a listener (`SO_REUSEPORT`) of its own. Requests leave
by the clock on 64 connections and more; latency counts from the intended instant; *processor* is the server's time, a
request. Medians of rounds in turns; ratios are medians of each round's own. Who runs on the core of the load is woken
without a word to another core: part of what a node a core saves at small loads is that.

";

#[cfg(test)]
mod tests;
