//! Mistakes as they are found, before they are put in order and given line, column and excerpt.

use std::ops::Range;

use crate::given::{Body, Given};
use crate::mistake::{Mistake, Mistakes, Origin, SHOWN};
use crate::place::{Lines, Place};
use crate::read::SourceFile;
use crate::shape::{Kind, Shape};

/// How many are remembered; a hostile file can contain a mistake per byte.
const KEPT: usize = 10 * SHOWN;

#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) given: Option<String>,
    pub(crate) what: String,
    pub(crate) allowed: String,
    pub(crate) remedy: Option<String>,
    /// The text could not be read there, so it is unknown which parts of the line are secret.
    pub(crate) unreadable: bool,
}

impl Finding {
    pub(crate) fn new(place: Place, key: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place,
            key: key.into(),
            given: None,
            what: what.into(),
            allowed: String::new(),
            remedy: None,
            unreadable: false,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    more: usize,
    /// Parts of the file no excerpt may show.
    hidden: Vec<Range<usize>>,
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding) {
        if self.list.len() < KEPT {
            self.list.push(finding);
        } else {
            self.more += 1;
        }
    }

    /// Keeps every value of `given` out of the excerpts; names of keys may be shown.
    pub(crate) fn hide(&mut self, given: &Given) {
        match &given.body {
            Body::Table(entries) => entries.values().for_each(|entry| self.hide(&entry.value)),
            _ => self.hidden.extend(given.place.span()),
        }
    }

    /// Forgets what was found in the file unless it ends before `offset`.
    pub(crate) fn forget_from(&mut self, offset: usize) {
        self.list
            .retain(|finding| finding.place.span().is_none_or(|span| span.end < offset));
    }

    /// Whether `key`, something above it or something below it is already known to be wrong. Items of a
    /// list stand or fall together: with one taken out, the type counts the others differently.
    pub(crate) fn taints(&self, key: &str) -> bool {
        let key = key.split('[').next().unwrap_or(key);
        self.list
            .iter()
            .any(|finding| covers(&finding.key, key) || covers(key, &finding.key))
    }

    /// The report, or nothing when nothing was found.
    pub(crate) fn into_mistakes(
        mut self,
        file: Option<&SourceFile>,
        shape: &Shape,
    ) -> Option<Mistakes> {
        if self.list.is_empty() {
            return None;
        }
        self.list
            .sort_by(|a, b| (&a.place, &a.key, &a.what).cmp(&(&b.place, &b.key, &b.what)));
        self.list
            .dedup_by(|a, b| (&a.place, &a.key, &a.what) == (&b.place, &b.key, &b.what));
        let more = self.more + self.list.len().saturating_sub(SHOWN);
        let lines = Lines::of(file.map_or("", SourceFile::text));
        let names = names(shape);
        let hidden = self.hidden;
        let shown = self.list.into_iter().take(SHOWN).map(|finding| {
            let excerpt = finding.place.span().and_then(|span| {
                if finding.unreadable {
                    lines.head(span.start, |part| names.contains(&part))
                } else {
                    Some(lines.excerpt(span, &hidden))
                }
            });
            Mistake {
                origin: origin(&finding.place, file, &lines),
                key: finding.key,
                given: finding.given,
                what: finding.what,
                allowed: finding.allowed,
                remedy: finding.remedy,
                excerpt,
            }
        });
        Some(Mistakes {
            shown: shown.collect(),
            more,
        })
    }
}

pub(crate) fn origin(place: &Place, file: Option<&SourceFile>, lines: &Lines<'_>) -> Origin {
    match (place, file) {
        (Place::File { start, .. }, Some(file)) => {
            let (line, column) = lines.position(*start);
            Origin::File {
                path: file.path().into(),
                line,
                column,
            }
        }
        (Place::Env(name), _) => Origin::Env(name.clone()),
        (Place::Flag { key, .. }, _) => Origin::Flag(key.clone()),
        (Place::File { .. } | Place::Default, _) => Origin::Default,
    }
}

fn covers(above: &str, key: &str) -> bool {
    let rest = key.strip_prefix(above);
    rest.is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

fn names(shape: &Shape) -> Vec<&str> {
    match &shape.kind {
        Kind::Table(keys) => keys
            .iter()
            .flat_map(|key| std::iter::once(key.name.as_str()).chain(names(&key.shape)))
            .collect(),
        Kind::Map(of) | Kind::List { of, .. } => names(of),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
