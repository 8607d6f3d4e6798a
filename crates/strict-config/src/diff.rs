//! What is different between two configurations, and whether a running node can take it over.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use serde_json::Value;

use crate::report::{join, quoted};
use crate::secret::Secret;
use crate::shape::{Kind, Reload, Shape};
use crate::toml_text::inline;

/// One key that differs. Values are as printed: secrets masked, absent ones `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The dotted key; a list of plain values, or a section or an item that appears or goes, counts as one.
    pub key: String,
    /// The value before.
    pub old: Option<Value>,
    /// The value after.
    pub new: Option<Value>,
    /// What it takes to have an effect.
    pub reload: Reload,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".into(), inline);
        match (shown(&self.old), shown(&self.new)) {
            (old, new) if old == new => write!(f, "{}: changed", self.key),
            (old, new) => write!(f, "{}: {old} -> {new}", self.key),
        }
    }
}

/// The keys among `changes` a running node must refuse.
pub fn restart_needed(changes: &[Change]) -> Vec<&str> {
    let refused = changes
        .iter()
        .filter(|change| change.reload == Reload::Restart);
    refused.map(|change| change.key.as_str()).collect()
}

/// A masked document with the secrets that belong in it.
type Side<'a> = (&'a Value, &'a BTreeMap<String, Secret>);

pub(crate) fn compare(shape: &Shape, old: Side<'_>, new: Side<'_>) -> Vec<Change> {
    let mut comparison = Comparison {
        old: old.1,
        new: new.1,
        changes: Vec::new(),
    };
    comparison.walk(shape, Some(old.0), Some(new.0), "");
    comparison.changes
}

struct Comparison<'a> {
    old: &'a BTreeMap<String, Secret>,
    new: &'a BTreeMap<String, Secret>,
    changes: Vec<Change>,
}

impl Comparison<'_> {
    fn walk(&mut self, shape: &Shape, old: Option<&Value>, new: Option<&Value>, path: &str) {
        match (&shape.kind, old, new) {
            (Kind::Table(keys), Some(old), Some(new)) => {
                for key in keys {
                    let below = join(path, &quoted(&key.name));
                    self.walk(&key.shape, old.get(&key.name), new.get(&key.name), &below);
                }
            }
            (Kind::Map(of), Some(old), Some(new)) => {
                let names = |side: &Value| {
                    side.as_object()
                        .into_iter()
                        .flat_map(|map| map.keys().cloned())
                        .collect::<Vec<_>>()
                };
                let mut all = [names(old), names(new)].concat();
                all.sort();
                all.dedup();
                for name in all {
                    self.walk(
                        of,
                        old.get(&name),
                        new.get(&name),
                        &join(path, &quoted(&name)),
                    );
                }
            }
            (Kind::List { of, .. }, Some(Value::Array(old)), Some(Value::Array(new)))
                if matches!(of.kind, Kind::Table(_)) =>
            {
                self.items(of, old, new, path);
            }
            _ if old != new || self.secrets_differ(shape, path, path) => {
                self.changes.push(Change {
                    key: path.into(),
                    old: old.cloned(),
                    new: new.cloned(),
                    reload: shape.strongest_reload(),
                })
            }
            _ => {}
        }
    }

    /// Compares what is left of two lists of tables without what they begin and end with alike, by index.
    fn items(&mut self, of: &Shape, old: &[Value], new: &[Value], path: &str) {
        let at = |index: usize| format!("{path}[{index}]");
        let same = |was: usize, is: usize| {
            old[was] == new[is] && !self.secrets_differ(of, &at(was), &at(is))
        };
        let shorter = old.len().min(new.len());
        let head = (0..shorter).take_while(|&index| same(index, index)).count();
        let tail = (1..=shorter - head)
            .take_while(|back| same(old.len() - back, new.len() - back))
            .count();
        let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
        for index in head..old.len().max(new.len()) {
            self.walk(of, old.get(index), new.get(index), &at(index));
        }
    }

    /// Compares the secrets at and below a path of each side, which look alike in the documents.
    fn secrets_differ(&self, shape: &Shape, old: &str, new: &str) -> bool {
        (shape.holds_secret() || shape.holds_url()) && below(self.old, old).ne(below(self.new, new))
    }
}

/// The secrets at and below `path`, by what follows it.
fn below<'a>(
    secrets: &'a BTreeMap<String, Secret>,
    path: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Secret)> {
    let from = secrets.range::<str, _>((Bound::Included(path), Bound::Unbounded));
    let under = from.map_while(move |(key, secret)| Some((key.strip_prefix(path)?, secret)));
    under.filter(|(rest, _)| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests;
