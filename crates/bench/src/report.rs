//! How outcomes are shown: a line of JSON for machines, an aligned table with a bar for people.

use serde::Serialize;

use crate::frame::Outcome;

/// Cells of a bar that stands for the peer's cost.
const BAR_CELLS: usize = 20;
/// Where a bar is cut off, in peer's costs.
const BAR_MAX_RATIO: f64 = 2.0;

#[derive(Serialize)]
struct Line<'a> {
    bench: &'a str,
    metric: &'a str,
    ours: f64,
    peer: &'a str,
    theirs: f64,
    ratio: f64,
    unit: &'a str,
    rounds: usize,
    spread: f64,
}

/// One JSON object, without the line break.
pub fn json(bench: &str, outcome: &Outcome) -> String {
    let line = Line {
        bench,
        metric: outcome.metric,
        ours: rounded(outcome.ours),
        peer: outcome.peer,
        theirs: rounded(outcome.theirs),
        ratio: rounded(outcome.ratio),
        unit: outcome.unit,
        rounds: outcome.rounds,
        spread: rounded(outcome.spread),
    };
    serde_json::to_string(&line).expect("a flat struct of numbers and strings has a JSON form")
}

/// What stands above the lines of [`row`].
pub fn heading() -> String {
    format!(
        "{:<24} {:>12} {:>12}  {:<20} {:>6} {:>7}  ours, peer = {BAR_CELLS} cells",
        "metric", "ours", "theirs", "peer", "ratio", "spread"
    )
}

/// One line of the table.
pub fn row(outcome: &Outcome) -> String {
    format!(
        "{:<24} {:>12} {:>12}  {:<20} {:>6.2} {:>6.0}%  {}{}",
        outcome.metric,
        with_unit(outcome.ours, outcome.unit),
        with_unit(outcome.theirs, outcome.unit),
        outcome.peer,
        outcome.ratio,
        outcome.spread * 100.0,
        bar(outcome.ratio),
        if outcome.met { "" } else { " misses its goal" },
    )
}

fn with_unit(cost: f64, unit: &str) -> String {
    format!("{cost:.1} {unit}")
}

/// Our cost as a bar, with a mark where the peer's ends.
fn bar(ratio: f64) -> String {
    let shown = ratio.clamp(0.0, BAR_MAX_RATIO);
    let ours = (shown * BAR_CELLS as f64).round() as usize;
    (0..ours.max(BAR_CELLS + 1))
        .map(|cell| match cell {
            BAR_CELLS => '│',
            _ if cell < ours => '█',
            _ => '·',
        })
        .collect()
}

/// Three decimals are more than any of these measurements can promise.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests;
