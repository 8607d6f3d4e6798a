//! When, where and with what something was measured, for the head of its sheet.

use std::sync::{Mutex, OnceLock};

use crate::peers::Kind;
use crate::sheet::Sheet;
use crate::{catalogue, machine, results};

/// What this run was asked for, and whom it did not find.
#[derive(Debug, Default)]
struct Run {
    words: OnceLock<Vec<String>>,
    absent: Mutex<Vec<String>>,
}

static RUN: Run = Run {
    words: OnceLock::new(),
    absent: Mutex::new(Vec::new()),
};

/// Keeps the words of the command line, to be told beside the results.
pub fn asked(words: &[String]) {
    // The first word said is the one that counts; nobody asks twice.
    let _ = RUN.words.set(words.to_vec());
}

/// Says that somebody is missing from the measurement, on the spot and later in the report.
pub fn absent(sentence: &str) {
    let mut told = RUN
        .absent
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !told.iter().any(|earlier| earlier == sentence) {
        eprintln!("absent: {sentence}");
        told.push(sentence.to_owned());
    }
}

/// Everybody who was missing so far.
pub fn absentees() -> Vec<String> {
    RUN.absent
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .clone()
}

/// A sheet without results.
pub(crate) fn of(name: &str) -> Sheet {
    let entry = catalogue::find(name);
    let ours = match entry.is_some_and(|entry| entry.starts_servers()) {
        true => Kind::Macronode.version().ok(),
        false => None,
    };
    let ours = ours.unwrap_or_else(|| concat!("macronode ", env!("CARGO_PKG_VERSION")).to_owned());
    let peers = entry.map_or(&[][..], |entry| entry.peers);
    let versions = peers.iter().filter_map(|peer| peer.version().ok());
    let words = RUN.words.get().cloned().unwrap_or_default();
    Sheet {
        name: name.to_owned(),
        about: entry.map_or(String::new(), |entry| entry.about.to_owned()),
        date: results::today(),
        command: command(&words),
        machine: machine::class(),
        versions: std::iter::once(ours).chain(versions).collect(),
        absent: absentees(),
        ..Sheet::default()
    }
}

fn command(words: &[String]) -> String {
    let words = words.iter().map(String::as_str);
    let words: Vec<&str> = ["cargo xtask bench"].into_iter().chain(words).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_missing_is_told_once_and_stands_in_the_sheet() {
        absent("Caddy is left out: it is not installed");
        absent("Caddy is left out: it is not installed");
        let sheet = of("queue");
        let told = sheet.absent.iter().filter(|who| who.contains("Caddy"));
        assert_eq!(told.count(), 1);
        assert!(sheet.versions[0].starts_with("macronode "));
        assert!(!sheet.about.is_empty() && sheet.machine.contains("Linux"));
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["proxy".to_owned(), "--quick".to_owned()];
        assert_eq!(command(&words), "cargo xtask bench proxy --quick");
    }
}
