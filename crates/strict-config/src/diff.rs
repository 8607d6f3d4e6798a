//! What is different between two configurations, and whether a running node can take it over.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::report::{join, quoted};
use crate::secret::Secret;
use crate::shape::{Kind, Reload, Shape};
use crate::toml_text::inline;

/// One key that differs. Values are as printed: secrets masked, absent ones `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The dotted key; a list, or a section that appears or goes, counts as one.
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
            _ if old != new || self.secrets_differ(shape, path) => self.changes.push(Change {
                key: path.into(),
                old: old.cloned(),
                new: new.cloned(),
                reload: shape.strongest_reload(),
            }),
            _ => {}
        }
    }

    /// Compares the secrets at and below `path`, which look alike in the documents.
    fn secrets_differ(&self, shape: &Shape, path: &str) -> bool {
        let below = |secrets: &BTreeMap<String, Secret>| -> Vec<(String, Secret)> {
            let under = secrets.iter().filter(|(key, _)| {
                key.strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            });
            under
                .map(|(key, secret)| (key.clone(), secret.clone()))
                .collect()
        };
        shape.holds_secret() && below(self.old) != below(self.new)
    }
}

#[cfg(test)]
mod tests;
