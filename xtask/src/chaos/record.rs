//! What a show printed, kept until the page of acceptance is written.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::Outcome;
use crate::shell::Invocation;
use crate::workspace;

const PAGE: &str = "docs/acceptance.md";
/// Lines of one part of a show at most: the last ones, where sums stand.
const LINES_MAX: usize = 24;

/// What was printed so far.
#[derive(Default)]
pub(super) struct Record {
    text: String,
}

impl Record {
    /// Runs a command and keeps what it prints.
    pub(super) fn said(&mut self, what: String, command: &Invocation) -> Outcome {
        self.heard(what, command, |_| ())
    }

    /// The same, for somebody who listens too.
    pub(super) fn heard(
        &mut self,
        what: String,
        command: &Invocation,
        mut listen: impl FnMut(&str),
    ) -> Outcome {
        let mut lines = Vec::new();
        let outcome = command.stream(|line| {
            listen(line);
            lines.extend(figure(line).map(str::to_owned));
        });
        let shown = &lines[lines.len().saturating_sub(LINES_MAX)..];
        let _ = write!(
            self.text,
            "\n{what}\n\n```text\n{}\n```\n",
            shown.join("\n")
        );
        outcome
    }

    /// Leaves it for the page, and says how it went.
    pub(super) fn keep(&self, name: &str, outcome: &Outcome, took: Duration) -> Outcome {
        let word = match outcome {
            Ok(()) => "kept",
            Err(_) => "NOT KEPT",
        };
        let seconds = took.as_secs();
        println!("\n{name}: {word}, after {seconds} s");
        let today = Invocation::new("date", &["-u", "+%F"]).output()?;
        let today = today.trim();
        let text = format!("**{word}**, {today}, after {seconds} s.\n{}", self.text);
        let file = file(name);
        let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder
            .and_then(|()| std::fs::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()))
    }
}

fn file(name: &str) -> PathBuf {
    workspace::target().join(format!("chaos/{name}.md"))
}

/// What the harness says of itself is none; what a test says first stands on the harness's line.
fn figure(line: &str) -> Option<&str> {
    let line = line.trim();
    let told = match line.strip_prefix("test ") {
        Some(result) if result.starts_with("result: ") => line,
        Some(test) => test.split_once(" ... ").map_or("", |(_, told)| told),
        None => line,
    };
    let noise = told.is_empty() || told == "ok" || told.starts_with("running ");
    (!noise).then_some(told)
}

/// Writes the page from the last run of each; what was never run is said to be so.
pub(super) fn page<'a>(shows: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Outcome {
    let mut page = format!(
        "# Acceptance\n\nWritten by `cargo xtask chaos page` from what each command printed last; do not edit.\n\
         Machine: {}.\n",
        machine()
    );
    for (name, ids, about) in shows {
        let last = std::fs::read_to_string(file(name));
        let last = last.unwrap_or_else(|_| "Not run since.\n".to_owned());
        let _ = write!(
            page,
            "\n## {ids}: {name}\n\n{about}; `cargo xtask chaos {name}`.\n\n{last}"
        );
    }
    let path = workspace::root().join(PAGE);
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{PAGE} is written");
    Ok(())
}

/// By its class, not its name.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = cpus
        .lines()
        .filter_map(|line| line.strip_prefix("model name\t: "));
    let models: Vec<&str> = models.collect();
    let model = models.first().copied().unwrap_or("an unknown processor");
    format!("{} × {model}", models.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_from_what_the_harness_says() {
        let told = "40 drains, p95 211 ms";
        let after_name = format!("test a_law_holds ... {told}");
        assert_eq!(figure(told), Some(told));
        assert_eq!(figure(&after_name), Some(told));
        let sum = "test result: ok. 3 passed; 0 failed";
        assert_eq!(figure(sum), Some(sum));
        for line in ["", "ok", "running 3 tests", "test a_law_holds ... ok"] {
            assert_eq!(figure(line), None, "{line}");
        }
    }
}
