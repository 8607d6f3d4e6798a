//! A run of named steps: a header and a time for each, a table at the end, the failing one with how to rerun it.

use crate::Outcome;
use crate::args::Args;
use crate::tally::Tally;
use std::time::{Duration, Instant};

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&mut Tally) -> Result<Done, String>,
}

/// How a step that did not fail ended.
pub(crate) enum Done {
    Passed,
    /// These tests of it passed on a second try only.
    Unsteady(Vec<String>),
    /// It cannot be done on this machine; the sentence says why and what to install.
    NotHere(String),
}

/// One command's steps.
pub(crate) struct Series {
    pub(crate) command: &'static str,
    pub(crate) steps: &'static [Step],
    /// Quick gates stop at the first failure; long ones report everything they found.
    pub(crate) stop_at_first: bool,
    /// Whether the last line is the number of tests.
    pub(crate) counts_tests: bool,
}

struct Row {
    name: &'static str,
    took: Duration,
    tally: Tally,
    result: Result<Done, String>,
}

impl Series {
    pub(crate) fn run(&self, mut args: Args) -> Outcome {
        let list = args.flag("--list");
        let only = args.value("--only")?;
        args.finish()?;
        if list {
            self.steps
                .iter()
                .for_each(|step| println!("{:14}  {}", step.name, step.about));
            return Ok(());
        }
        let rows = self.walk(&self.choose(only.as_deref())?);
        println!("\n{}", table(&rows));
        self.verdict(&rows)
    }

    fn choose(&self, only: Option<&str>) -> Result<Vec<&'static Step>, String> {
        let chosen: Vec<_> = self
            .steps
            .iter()
            .filter(|step| only.is_none_or(|name| step.name == name))
            .collect();
        if chosen.is_empty() {
            let names: Vec<_> = self.steps.iter().map(|step| step.name).collect();
            return Err(format!("no such step; there are: {}", names.join(", ")));
        }
        Ok(chosen)
    }

    fn walk(&self, steps: &[&'static Step]) -> Vec<Row> {
        let mut rows = Vec::new();
        for step in steps {
            println!("\n== {}: {}", step.name, step.about);
            let row = timed(step);
            println!(
                "== {} {} after {}",
                step.name,
                row.word(),
                seconds(row.took)
            );
            let failed = row.result.is_err();
            rows.push(row);
            if failed && self.stop_at_first {
                break;
            }
        }
        rows
    }

    /// The last word: the counted tests, and for each failed step why and how to run it again.
    fn verdict(&self, rows: &[Row]) -> Outcome {
        let failures: Vec<_> = rows
            .iter()
            .filter_map(|row| row.failure(self.command))
            .collect();
        if self.counts_tests {
            let Tally { passed, failed } = total(rows);
            // A step can fail without a failing test, by not compiling say; the count must not look clean then.
            println!(
                "{passed} passed, {} failed",
                failed.max(failures.len() as u64)
            );
        }
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures.join("\n"))
        }
    }
}

impl Row {
    fn word(&self) -> &'static str {
        match self.result {
            Ok(Done::Passed) => "passed",
            Ok(Done::Unsteady(_)) => "passed, unsteadily",
            Ok(Done::NotHere(_)) => "not possible here",
            Err(_) => "FAILED",
        }
    }

    fn result(&self) -> String {
        match &self.result {
            Ok(Done::NotHere(why)) => format!("not possible here: {why}"),
            Ok(Done::Unsteady(names)) => format!(
                "passed ({} tests; on a second try, alone: {})",
                self.tally.passed,
                names.join(", ")
            ),
            _ if self.tally == Tally::default() => self.word().to_owned(),
            _ => format!(
                "{} ({} tests passed, {} failed)",
                self.word(),
                self.tally.passed,
                self.tally.failed
            ),
        }
    }

    fn failure(&self, command: &str) -> Option<String> {
        let reason = self.result.as_ref().err()?;
        Some(format!(
            "{}: {reason}\nrerun it: cargo xtask {command} --only {}",
            self.name, self.name
        ))
    }
}

fn timed(step: &Step) -> Row {
    let started = Instant::now();
    let mut tally = Tally::default();
    let result = (step.run)(&mut tally);
    Row {
        name: step.name,
        took: started.elapsed(),
        tally,
        result,
    }
}

fn total(rows: &[Row]) -> Tally {
    rows.iter().fold(Tally::default(), |mut sum, row| {
        sum.add(row.tally);
        sum
    })
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{:14} {:>9}  result\n", "step", "time");
    for row in rows {
        text.push_str(&format!(
            "{:14} {:>9}  {}\n",
            row.name,
            seconds(row.took),
            row.result()
        ));
    }
    text
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests;
