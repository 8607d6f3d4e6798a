//! Finds citations in comments, and tells those above a test from the others.

use super::catalogue::{Entry, is_id};
use crate::workspace::Source;

/// How far below its comment a test may begin: other comments and attributes stand between.
const REACH_LINES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Requirement,
    Attack,
}

/// One id named in one comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Citation {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) path: String,
    pub(super) line: usize,
    /// Only what stands above a test, or in a model or bench, shows anything.
    pub(super) in_test: bool,
}

impl Citation {
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }

    /// The id and the keyword must agree: an attack cited with the other keyword is a slip.
    pub(super) fn means(&self, entry: &Entry) -> bool {
        let kind = if entry.area().len() == 1 {
            Kind::Attack
        } else {
            Kind::Requirement
        };
        self.id == entry.id && self.kind == kind
    }
}

/// Every citation, and the comments that look like one and are not.
pub(super) fn collect(sources: &[Source]) -> (Vec<Citation>, Vec<String>) {
    let mut citations = Vec::new();
    let mut malformed = Vec::new();
    for source in sources.iter().filter(|source| has_comments(&source.path)) {
        let lines: Vec<&str> = source.text.lines().collect();
        for at in 0..lines.len() {
            let Some((kind, ids)) = cited(lines[at]) else {
                continue;
            };
            let in_test = always_tests(&source.path) || above_a_test(&lines[at + 1..]);
            let (path, line) = (source.path.clone(), at + 1);
            match parsed(ids) {
                Ok(ids) => citations.extend(ids.into_iter().map(|id| {
                    let path = path.clone();
                    Citation { id, kind, path, line, in_test }
                })),
                Err(word) => malformed.push(format!(
                    "{path}:{line}: `{word}` is not an id; write each one out, parted by commas, and nothing else"
                )),
            }
        }
    }
    (citations, malformed)
}

fn has_comments(path: &str) -> bool {
    matches!(
        path.rsplit('.').next(),
        Some("rs" | "tla" | "py" | "sh" | "js" | "mjs")
    )
}

/// The list after the keyword of a comment.
fn cited(line: &str) -> Option<(Kind, &str)> {
    let line = line.trim();
    let comment = ["//", "\\*", "#"]
        .iter()
        .find_map(|marker| line.strip_prefix(marker))?;
    let comment = comment.trim_start_matches(['/', '!']).trim_start();
    let requirement = comment
        .strip_prefix("req:")
        .map(|ids| (Kind::Requirement, ids));
    requirement.or_else(|| {
        comment
            .strip_prefix("attack:")
            .map(|ids| (Kind::Attack, ids))
    })
}

fn parsed(ids: &str) -> Result<Vec<String>, String> {
    let one = |word: &str| {
        if is_id(word) {
            Ok(word.to_owned())
        } else {
            Err(word.to_owned())
        }
    };
    ids.split(',').map(|word| one(word.trim())).collect()
}

/// Files that hold nothing but tests, models and measurements.
fn always_tests(path: &str) -> bool {
    !path.ends_with(".rs")
        || path
            .split('/')
            .any(|part| matches!(part, "tests" | "bench" | "benches"))
}

/// Whether the first thing that is neither comment nor attribute belongs to a test.
fn above_a_test(below: &[&str]) -> bool {
    for line in below.iter().take(REACH_LINES).map(|line| line.trim()) {
        if is_test_attribute(line) || line.starts_with("proptest!") {
            return true;
        }
        if !(line.starts_with("//") || line.starts_with("#[")) {
            return false;
        }
    }
    false
}

/// `#[test]`, `#[tokio::test(...)]` and their like, whatever the path before `test`.
fn is_test_attribute(line: &str) -> bool {
    let Some(attribute) = line.strip_prefix("#[") else {
        return false;
    };
    let path = attribute.split(['(', ']']).next().unwrap_or_default();
    path.rsplit("::").next() == Some("test")
}
