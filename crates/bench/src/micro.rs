//! Runs a benchmark of small parts: metric by metric, ours and theirs in turn.

use std::io::{IsTerminal, Write};

use crate::catalogue::Ask;
use crate::frame::{Outcome, measure_within};
use crate::sheet::Row;
use crate::{ALL, report, results};

/// Measures every wanted metric, prints it and keeps it.
pub fn micro(ask: &Ask) -> Result<(), String> {
    let bench = ALL.iter().find(|bench| bench.name == ask.name);
    let bench = bench.ok_or_else(|| format!("no benchmark is called {}", ask.name))?;
    if !ask.json {
        println!("{}", report::heading());
    }
    let mut rows = Vec::new();
    for metric in (bench.metrics)(ask.effort) {
        if !ask.wanted.has(&[metric.name]) {
            continue;
        }
        let progress = Progress::of(metric.name, ask.effort.rounds());
        let goal_ratio = metric.goal_ratio;
        let (rounds, limit) = (ask.effort.rounds(), ask.effort.limit());
        let outcome = measure_within(metric, rounds, limit, |round| progress.show(round));
        progress.clear();
        match ask.json {
            true => println!("{}", report::json(bench.name, &outcome)),
            false => println!("{}", report::row(&outcome)),
        }
        rows.push(row(&outcome, goal_ratio));
    }
    results::keep_rows(bench.name, rows, Vec::new())
}

pub(crate) fn row(outcome: &Outcome, goal_ratio: f64) -> Row {
    let peer = format!("{} of {:.1} {}", outcome.peer, outcome.theirs, outcome.unit);
    Row::new(outcome.metric, "ours", outcome.ours, outcome.unit)
        .beside(&peer, Some(outcome.ratio))
        .over(outcome.rounds, Some(outcome.spread))
        .at_most(goal_ratio)
}

/// One line on stderr, rewritten in place; nothing when nobody watches.
struct Progress {
    metric: &'static str,
    rounds: usize,
    watched: bool,
}

impl Progress {
    fn of(metric: &'static str, rounds: usize) -> Self {
        Self {
            metric,
            rounds,
            watched: std::io::stderr().is_terminal(),
        }
    }

    fn show(&self, round: usize) {
        self.write(&format!(
            "{}: round {round} of {}",
            self.metric, self.rounds
        ));
    }

    fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.watched {
            let mut stderr = std::io::stderr().lock();
            // A progress line that cannot be written is no reason to stop measuring.
            let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_judges_the_ratio_by_the_goal_of_its_metric() {
        let outcome = Outcome {
            metric: "ping",
            ours: 12.0,
            peer: "them",
            theirs: 10.0,
            ratio: 1.2,
            unit: "ns",
            rounds: 5,
            spread: 0.1,
            met: true,
        };
        let loose = row(&outcome, 1.5);
        assert_eq!(loose.beside[0].peer, "them of 10.0 ns");
        assert!(loose.goal.is_some_and(|goal| goal.met));
        assert!(row(&outcome, 1.0).goal.is_some_and(|goal| !goal.met));
    }
}
