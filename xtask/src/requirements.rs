//! `requirements`: ties every promise in the documentation to the tests that show it.

mod catalogue;
mod citations;

use crate::Outcome;
use crate::args::Args;
use crate::workspace::{self, Source};
use catalogue::Entry;
use citations::Citation;

const LISTS: &[&str] = &["docs/requirements.md", "docs/attacks.md"];

/// Areas in which every id has its test; from then on an uncited one is a failure.
const FINISHED: &[&str] = &[
    "KN", "GT", "FQ", "GW", "ED", "TR", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L",
];

pub(crate) fn run(mut args: Args) -> Outcome {
    let list = args.flag("--list");
    args.finish()?;
    let ledger = Ledger::read(&workspace::sources()?)?;
    if list {
        print!("{}", ledger.table());
    }
    ledger.settle()
}

pub(crate) fn check() -> Outcome {
    Ledger::read(&workspace::sources()?)?.settle()
}

/// What is promised, and what the tests say they show.
struct Ledger {
    entries: Vec<Entry>,
    citations: Vec<Citation>,
    malformed: Vec<String>,
}

impl Ledger {
    fn read(sources: &[Source]) -> Result<Self, String> {
        let mut entries = Vec::new();
        for list in LISTS {
            let source = sources.iter().find(|source| source.path == *list);
            let source = source.ok_or_else(|| format!("{list} is missing"))?;
            entries.extend(catalogue::entries(&source.text));
        }
        let (citations, malformed) = citations::collect(sources);
        Ok(Self {
            entries,
            citations,
            malformed,
        })
    }

    fn settle(&self) -> Outcome {
        print!("{}", self.coverage());
        let faults = self.faults(FINISHED);
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults.join("\n"))
        }
    }

    fn faults(&self, finished: &[&str]) -> Vec<String> {
        let mut faults = self.malformed.clone();
        faults.extend(
            catalogue::duplicates(&self.entries)
                .map(|id| format!("{id} is listed twice; an id is permanent")),
        );
        faults.extend(
            self.unknown()
                .map(|citation| format!("{}: no such id {}", citation.place(), citation.id)),
        );
        let due = self
            .entries
            .iter()
            .filter(|entry| finished.contains(&entry.area()));
        faults.extend(due.filter_map(|entry| self.uncited(entry)));
        faults
    }

    fn unknown(&self) -> impl Iterator<Item = &Citation> {
        self.citations
            .iter()
            .filter(|citation| !self.entries.iter().any(|entry| citation.means(entry)))
    }

    fn uncited(&self, entry: &Entry) -> Option<String> {
        if self.shown_by(entry).next().is_some() {
            return None;
        }
        let stray: Vec<_> = self
            .citations
            .iter()
            .filter(|citation| citation.means(entry))
            .map(Citation::place)
            .collect();
        let hint = if stray.is_empty() {
            String::new()
        } else {
            format!(" ({} is not above a test)", stray.join(", "))
        };
        Some(format!(
            "{} is cited by no test{hint}: {}",
            entry.id, entry.title
        ))
    }

    fn shown_by<'a>(&'a self, entry: &'a Entry) -> impl Iterator<Item = &'a Citation> {
        self.citations
            .iter()
            .filter(move |citation| citation.in_test && citation.means(entry))
    }

    fn table(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let places: Vec<_> = self.shown_by(entry).map(Citation::place).collect();
            let places = if places.is_empty() {
                "-".to_owned()
            } else {
                places.join("\n       ")
            };
            text.push_str(&format!("{:6} {places}\n", entry.id));
        }
        text
    }

    /// One line per area: how many ids have a test.
    fn coverage(&self) -> String {
        let mut text = String::new();
        for area in catalogue::areas(&self.entries) {
            let of_area = || self.entries.iter().filter(|entry| entry.area() == area);
            let shown = of_area()
                .filter(|entry| self.shown_by(entry).next().is_some())
                .count();
            let state = if FINISHED.contains(&area) {
                "finished"
            } else {
                "open"
            };
            text.push_str(&format!(
                "{area:3} {shown:3} of {:3} shown, {state}\n",
                of_area().count()
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests;
