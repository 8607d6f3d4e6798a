//! Overload, measured: what is left for a polite tenant when others ask for more than there is,
//! through each server with each of its known remedies.

mod contender;
mod judged;
mod picture;
mod row;
mod run;
mod scenario;
pub mod sweep;
mod table;

use std::time::Duration;

use crate::circumstances;
use crate::cores::{self, Rank};
use crate::frame::Effort;
use crate::origin::{PLACES, SERVICE};
use crate::peers::OTHER_CORE;
use crate::results::{self, Wanted};
use contender::Contender;
use row::Row;

/// What it is called by.
pub const NAME: &str = "overload";
/// One sentence for the list.
pub const ABOUT: &str =
    "noisy tenants through macronode, nginx and HAProxy: who is served, how soon";

/// What an origin of so many places can answer.
const CAPACITY_PER_S: f64 = PLACES as f64 * 1e3 / SERVICE.as_millis() as f64;
/// How long a client waits for its answer before it goes away.
const PATIENCE: Duration = Duration::from_millis(1_500);
const CONNECTIONS_MAX: usize = 8_000;

/// How long each row takes.
#[derive(Clone, Copy, Debug)]
struct Length {
    warm_up: Duration,
    counted: Duration,
}

/// Runs what is wanted, prints it, keeps it beside what was measured before, and draws.
pub fn overload(effort: Effort, json: bool, wanted: &Wanted) -> Result<(), String> {
    cores::go_first(Rank::Load);
    cores::pin(OTHER_CORE);
    let length = match effort {
        Effort::Quick => Length {
            warm_up: Duration::from_millis(300),
            counted: Duration::from_millis(1_200),
        },
        Effort::Full => Length {
            warm_up: Duration::from_secs(3),
            counted: Duration::from_secs(10),
        },
    };
    let chosen = chosen(effort, wanted);
    let rows = measured(length, json, chosen);
    if !json {
        print!("{}", table::text(&rows));
    }
    let all = results::keep(NAME, rows)?;
    results::draw("overload.svg", &picture::svg(&all))
}

/// A first impression needs the scenarios that promise something, and everybody alone to compare with.
fn chosen(effort: Effort, wanted: &Wanted) -> Wanted {
    match effort == Effort::Quick && *wanted == Wanted::default() {
        true => Wanted::parse("s0,s1,s7"),
        false => wanted.clone(),
    }
}

/// A contender that cannot be had is said to be missing, once, and left out.
fn measured(length: Length, json: bool, wanted: Wanted) -> Vec<Row> {
    let mut rows = Vec::new();
    for contender in Contender::ALL {
        for scenario in &scenario::ALL {
            if !scenario.suits(contender) || !wanted.has(&[contender.name(), scenario.name]) {
                continue;
            }
            eprintln!("{}: {}", contender.name(), scenario.name);
            match run::run(contender, scenario, length) {
                Ok(row) => {
                    if json {
                        println!("{}", results::line(&row));
                    }
                    rows.push(row);
                }
                Err(sentence) => {
                    circumstances::absent(&sentence);
                    break;
                }
            }
        }
    }
    rows
}

/// The rows measured last, for the page.
pub(crate) fn page() -> Result<Option<String>, String> {
    let rows: Vec<Row> = results::kept(NAME)?;
    Ok((!rows.is_empty()).then(|| table::markdown(&rows)))
}

#[cfg(test)]
mod tests;
