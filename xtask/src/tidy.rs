//! `tidy`: what this repository asks of its text and no other tool checks.

mod links;
mod manifests;
mod rust;
mod text;

use crate::Outcome;
use crate::args::Args;
use crate::workspace::{self, Source};
use std::fmt;

/// A broken rule and where.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    path: String,
    /// Counted from 1; 0 is the file as a whole.
    line: usize,
    rule: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.rule),
            line => write!(f, "{}:{line}: {}", self.path, self.rule),
        }
    }
}

pub(crate) fn run(args: Args) -> Outcome {
    args.finish()?;
    check()
}

pub(crate) fn check() -> Outcome {
    let sources = workspace::sources()?;
    if sources.is_empty() {
        return Err("git lists no file here, so nothing was checked".to_owned());
    }
    let exists = |path: &str| workspace::root().join(path).exists();
    let mut faults: Vec<Fault> = sources
        .iter()
        .flat_map(|source| file_faults(source, &exists))
        .collect();
    faults.extend(rust::stale_exceptions(&sources));
    if faults.is_empty() {
        println!("{} files are tidy", sources.len());
        return Ok(());
    }
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    Err(format!("{}\n{} faults", lines.join("\n"), faults.len()))
}

/// All faults of one file. `exists` answers for paths from the root.
fn file_faults(source: &Source, exists: &dyn Fn(&str) -> bool) -> Vec<Fault> {
    if is_sample(&source.path) {
        return Vec::new();
    }
    let mut faults = text::faults(source);
    match source.path.rsplit('.').next() {
        Some("rs") => faults.extend(rust::faults(source)),
        Some("md") => faults.extend(links::faults(source, exists)),
        Some("toml" | "lock") => faults.extend(manifests::faults(source)),
        _ => (),
    }
    faults
}

/// Files kept for being broken or foreign: what a fuzzer found, what a parser must survive.
fn is_sample(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "corpus" | "fixtures" | "proptest-regressions"))
}

fn fault(source: &Source, line: usize, rule: impl Into<String>) -> Fault {
    Fault {
        path: source.path.clone(),
        line,
        rule: rule.into(),
    }
}

/// Faults of single lines: `rule` sees each line and names what is wrong with it.
fn line_faults<'a>(
    source: &'a Source,
    rule: impl Fn(&str) -> Option<String> + 'a,
) -> impl Iterator<Item = Fault> + 'a {
    let lines = source.text.lines().enumerate();
    lines.filter_map(move |(at, line)| rule(line).map(|what| fault(source, at + 1, what)))
}

#[cfg(test)]
mod tests;
