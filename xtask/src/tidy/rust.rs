//! Rules for Rust files: length, the opening sentence, leftovers.

use super::{Fault, fault, line_faults};
use crate::workspace::Source;

const LINES_MAX: usize = 450;
const COLUMNS_MAX: usize = 120;
const OPENING_MIN: usize = 10;

/// Files that are one idea and longer than the limit: path and why.
const LONG_FILES: &[(&str, &str)] = &[];

const LEFTOVER_MACROS: &[&str] = &[
    concat!("to", "do!"),
    concat!("db", "g!"),
    concat!("unimpl", "emented!"),
];
const LEFTOVER_WORDS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

pub(super) fn faults(source: &Source) -> Vec<Fault> {
    let whole = [too_long(source), module_file(source), opening(source)];
    let whole = whole
        .into_iter()
        .flatten()
        .map(|rule| fault(source, 0, rule));
    let lines = line_faults(source, wide)
        .chain(line_faults(source, leftover))
        .chain(line_faults(source, silent_ignore));
    whole.chain(lines).collect()
}

/// Exceptions whose file is gone or short again.
pub(super) fn stale_exceptions(sources: &[Source]) -> Vec<Fault> {
    let is_long = |path: &str| {
        let file = sources.iter().find(|source| source.path == path);
        file.is_some_and(|source| source.text.lines().count() > LINES_MAX)
    };
    let stale = LONG_FILES.iter().filter(|(path, _)| !is_long(path));
    stale
        .map(|(path, _)| Fault {
            path: (*path).to_owned(),
            line: 0,
            rule: "listed as long, but is not".to_owned(),
        })
        .collect()
}

fn too_long(source: &Source) -> Option<String> {
    let lines = source.text.lines().count();
    let excepted = LONG_FILES.iter().any(|(path, _)| *path == source.path);
    (lines > LINES_MAX && !excepted)
        .then(|| format!("{lines} lines; past {LINES_MAX} a file is two ideas, split it"))
}

fn module_file(source: &Source) -> Option<String> {
    let name = source.path.rsplit('/').next()?;
    (name == "mod.rs").then(|| "name the file after its module, beside its directory".to_owned())
}

/// The first line of a file is the sentence a reader chooses files by; tests are found through what they test.
fn opening(source: &Source) -> Option<String> {
    if is_test_module(&source.path) {
        return None;
    }
    let first = source.text.lines().next().unwrap_or_default();
    let sentence = first.strip_prefix("//!").unwrap_or_default().trim();
    let empty = sentence.len() < OPENING_MIN;
    empty.then(|| "begin with one `//!` sentence that says what the file is".to_owned())
}

fn is_test_module(path: &str) -> bool {
    path.ends_with("/tests.rs") || (path.contains("/src/") && path.contains("/tests/"))
}

fn wide(line: &str) -> Option<String> {
    let columns = line.chars().count();
    (columns > COLUMNS_MAX).then(|| format!("{columns} columns, at most {COLUMNS_MAX}"))
}

fn leftover(line: &str) -> Option<String> {
    let word = |part: &str| LEFTOVER_WORDS.contains(&part);
    let has_word = line
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(word);
    let found = has_word || LEFTOVER_MACROS.iter().any(|name| line.contains(name));
    found.then(|| "unfinished work left behind".to_owned())
}

fn silent_ignore(line: &str) -> Option<String> {
    let bare = line.trim_start().starts_with(concat!("#[ig", "nore]"));
    bare.then(|| "say why the test is ignored: #[ignore = \"...\"]".to_owned())
}
