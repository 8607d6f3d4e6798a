//! Rules for any text: blanks, machine paths, talk about how the work was done.

use super::{Fault, line_faults};
use crate::workspace::Source;

// Written in halves here and below, so that the rules do not find themselves.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

const WORK_TALK: &[&str] = &[
    concat!("sub", "agent"),
    concat!("sub-", "agent"),
    concat!("this ", "session"),
    concat!("previous ", "session"),
    concat!("language ", "model"),
    concat!("ai ", "assistant"),
    concat!("co-authored", "-by:"),
    concat!("the bri", "ef asks"),
];

pub(super) fn faults(source: &Source) -> Vec<Fault> {
    line_faults(source, blanks)
        .chain(line_faults(source, machine_path))
        .chain(line_faults(source, work_talk))
        .collect()
}

fn blanks(line: &str) -> Option<String> {
    if line.contains('\t') {
        return Some("a tab; indent with spaces".to_owned());
    }
    line.ends_with([' ', '\r'])
        .then(|| "blanks at the end of the line".to_owned())
}

fn machine_path(line: &str) -> Option<String> {
    let found = MACHINE_PATHS
        .iter()
        .find(|path| starts_a_path(line, path))?;
    Some(format!("a path of one machine, {found}"))
}

/// Whether `path` occurs where a path begins: `a/b/` inside `x/a/b/` is somebody else's.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "_-.}~*".contains(c)))
    })
}

fn work_talk(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let found = WORK_TALK.iter().find(|phrase| lower.contains(*phrase))?;
    Some(format!(
        "`{found}`: text here speaks of the project, not of how it was made"
    ))
}
