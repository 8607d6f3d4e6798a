//! How outcomes are shown: a line of JSON for machines, an aligned table with a bar for people.

use serde::Serialize;

use crate::frame::Outcome;
use crate::results;
use crate::sheet::{Plot, Row};

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

/// Rows of any benchmark for a terminal, with a line break at the end.
pub fn rows(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut metric = "";
    for row in rows {
        if row.metric != metric {
            metric = &row.metric;
            text += &format!("{metric}\n");
        }
        let goal = row.goal.as_ref().map(|goal| {
            let word = if goal.met { "reached" } else { "MISSED" };
            format!("{}: {word}", goal.words)
        });
        let words = row.ratios().into_iter().chain(row.wavers());
        let words: Vec<String> = words.chain(goal).chain(row.note.clone()).collect();
        text += &format!(
            "  {:<28}{:>16}  {}\n",
            row.subject,
            row.figure(),
            words.join("; ")
        );
    }
    text
}

/// Prints rows for people or for machines, and keeps them with their pictures.
pub fn tell(name: &str, json: bool, new: Vec<Row>, plots: Vec<Plot>) -> Result<(), String> {
    match json {
        true => new
            .iter()
            .for_each(|row| println!("{}", results::line(row))),
        false => print!("{}", rows(&new)),
    }
    results::keep_rows(name, new, plots)
}

/// The same for what makes promises: an error where one is not kept.
pub fn judge(name: &str, json: bool, new: Vec<Row>) -> Result<(), String> {
    let goals = new.iter().filter_map(|row| row.goal.as_ref());
    let broken = goals.filter(|goal| !goal.met).count();
    tell(name, json, new, Vec::new())?;
    match broken {
        0 => Ok(()),
        broken => Err(format!("{broken} promises are not kept")),
    }
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
