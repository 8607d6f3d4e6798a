//! The page of results: made from what was measured last, never by hand.

use std::path::Path;

use crate::peers::Kind;
use crate::{edge, machine, overload, proxy, results};

/// What it is called by.
pub const NAME: &str = "page";
/// One sentence for the list.
pub const ABOUT: &str = "writes docs/benchmarks.md from the results kept under target/bench";

const PAGE: &str = "docs/benchmarks.md";

/// Writes the page, or says that there is nothing to write.
pub fn page() -> Result<(), String> {
    let parts = [
        (PROXY, proxy::page()?),
        (EDGE, edge::page()?),
        (OVERLOAD, overload::page()?),
    ];
    if parts.iter().all(|(_, table)| table.is_none()) {
        return Err(
            "nothing is measured yet: `cargo xtask bench proxy`, `edge` or `overload`".to_owned(),
        );
    }
    let servers = Kind::ALL.into_iter().chain([Kind::Varnish]);
    let versions = servers.filter_map(|kind| kind.version().ok());
    let versions = versions.collect::<Vec<_>>().join(", ");
    let text = text(&machine::class(), &versions, &parts);
    results::write(Path::new(PAGE), &text)?;
    println!("{PAGE} is written");
    Ok(())
}

/// Parts that were not measured are left out.
fn text(machine: &str, versions: &str, parts: &[(&str, Option<String>)]) -> String {
    let today = results::today();
    let mut page = format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench page` from what `cargo xtask bench proxy`, \
         `cargo xtask bench edge` and `cargo xtask bench overload` measured; do not edit.\n\
         {today}, {machine}; {versions}. Trust ratios and order, not digits: the machine is shared.\n"
    );
    for (words, table) in parts {
        if let Some(table) = table {
            page.push_str(words);
            page.push_str(table);
        }
    }
    page
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
S8 to S11 came last, and nothing was tuned for them.

";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_was_not_measured_is_not_promised() {
        let parts = [(PROXY, Some("| proxy |\n".to_owned())), (OVERLOAD, None)];
        let page = text("2 cores", "nginx 1", &parts);
        assert!(page.contains("| proxy |") && page.contains("2 cores; nginx 1."));
        assert!(!page.contains("What is left"));
    }
}
