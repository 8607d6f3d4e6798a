//! Environment variables and `--set` flags as small trees of their own, laid over the file one by one.

use std::ffi::OsString;

use toml::de::DeValue;
use zeroize::Zeroizing;

use crate::check::{Check, unknown};
use crate::findings::{Finding, Findings};
use crate::given::{Body, Entry, Given};
use crate::place::Place;
use crate::report::{join, quoted};
use crate::shape::{Key, Kind, Shape};

/// The trees of all variables with `prefix`, by name, so that a section comes before its keys.
pub(crate) fn from_env(
    shape: &Shape,
    prefix: &str,
    env: &[(OsString, OsString)],
    findings: &mut Findings,
) -> Vec<Given> {
    let mut named: Vec<_> = env
        .iter()
        .filter_map(|(name, value)| {
            let name = name.to_string_lossy();
            name.starts_with(prefix).then(|| (name.into_owned(), value))
        })
        .collect();
    named.sort();
    let trees = named.into_iter().filter_map(|(name, value)| {
        let place = Place::Env(name.clone());
        let parts: Vec<_> = name[prefix.len()..].split("__").map(Into::into).collect();
        let Some(value) = value.to_str() else {
            findings.add(Finding::new(place, "", "is not UTF-8 text"));
            return None;
        };
        Override {
            place,
            parts,
            value,
            spelling: Spelling::Env,
        }
        .tree(shape, findings)
    });
    trees.collect()
}

/// The trees of all `key=value` flags, in the order given.
pub(crate) fn from_sets(shape: &Shape, sets: &[String], findings: &mut Findings) -> Vec<Given> {
    let trees = sets.iter().enumerate().filter_map(|(order, set)| {
        let (parts, value) = split_set(set);
        let Some(value) = value else {
            // What was meant as key and what as value is unknown, so neither is repeated.
            let place = Place::Flag {
                order,
                key: format!("(number {})", order + 1),
            };
            let remedy = Some("write it as `--set section.key=value`".into());
            findings.add(Finding {
                remedy,
                ..Finding::new(place, "", "needs a key and a value")
            });
            return None;
        };
        let key: Vec<_> = parts.iter().map(|part| quoted(part)).collect();
        let place = Place::Flag {
            order,
            key: key.join("."),
        };
        Override {
            place,
            parts,
            value,
            spelling: Spelling::Exact,
        }
        .tree(shape, findings)
    });
    trees.collect()
}

/// The variable that sets a key, for the reference page.
pub(crate) fn env_part(name: &str) -> String {
    name.replace('-', "_").to_ascii_uppercase()
}

#[derive(Clone, Copy)]
enum Spelling {
    Exact,
    /// Upper case, `_` for `-`; names of map entries become lower case.
    Env,
}

struct Override<'a> {
    place: Place,
    parts: Vec<String>,
    value: &'a str,
    spelling: Spelling,
}

impl Override<'_> {
    fn tree(self, shape: &Shape, findings: &mut Findings) -> Option<Given> {
        let (names, leaf) = match self.resolve(shape) {
            Ok(found) => found,
            Err(finding) => {
                findings.add(self.in_capitals(shape).unwrap_or(*finding));
                return None;
            }
        };
        let path = dotted(&names);
        let mut given = match self.read(leaf) {
            Ok(given) => given,
            Err(what) => {
                let allowed = leaf.allowed();
                findings.add(Finding {
                    allowed,
                    ..Finding::new(self.place, path, what)
                });
                return None;
            }
        };
        // A table or list may have a secret beside the value that is wrong, so it is not repeated.
        let whole = matches!(leaf.kind, Kind::Table(_) | Kind::Map(_) | Kind::List { .. });
        let text = (!whole).then_some(self.value);
        let kept = Check { text, findings }.keep(leaf, &mut given, &path);
        kept.then(|| nest(given, names, &self.place))
    }

    /// Follows the parts down the shape, to the names as they are written in a file.
    fn resolve<'s>(&self, shape: &'s Shape) -> Result<(Vec<String>, &'s Shape), Box<Finding>> {
        let mut names: Vec<String> = Vec::new();
        let mut here = shape;
        for part in &self.parts {
            let path = dotted(&names);
            here = match &here.kind {
                Kind::Table(keys) => {
                    let key = keys.iter().find(|key| self.matches(key, part));
                    let key = key.ok_or_else(|| self.unknown(keys, part, &path))?;
                    names.push(key.name.clone());
                    &key.shape
                }
                Kind::Map(of) if !part.is_empty() => {
                    names.push(self.spelled(part));
                    of
                }
                Kind::List { .. } => {
                    let remedy = Some("set the whole list, as in `[\"a\", \"b\"]`".into());
                    let what = "an item of a list cannot be set by itself";
                    let place = self.place.clone();
                    return Err(Box::new(Finding {
                        remedy,
                        ..Finding::new(place, path, what)
                    }));
                }
                _ => return Err(self.unknown(&[], part, &path)),
            };
        }
        Ok((names, here))
    }

    /// What is wrong with the name of a variable beside its small letters, or that it has them.
    fn in_capitals(&self, shape: &Shape) -> Option<Finding> {
        let Place::Env(name) = &self.place else {
            return None;
        };
        let parts = self.parts.iter().map(|part| part.to_ascii_uppercase());
        let capitals = Override {
            place: self.place.clone(),
            parts: parts.collect(),
            ..*self
        };
        Some(match capitals.resolve(shape) {
            Ok((names, _)) => Finding {
                remedy: Some(format!("write it as `{}`", name.to_ascii_uppercase())),
                ..Finding::new(
                    self.place.clone(),
                    dotted(&names),
                    "variables are named in capitals",
                )
            },
            Err(finding) => *finding,
        })
    }

    fn unknown(&self, keys: &[Key], part: &str, path: &str) -> Box<Finding> {
        let place = self.place.clone();
        Box::new(unknown(keys, &self.spelled(part), path, place))
    }

    fn matches(&self, key: &Key, part: &str) -> bool {
        match self.spelling {
            Spelling::Exact => key.name == part,
            Spelling::Env => env_part(&key.name) == part,
        }
    }

    fn spelled(&self, part: &str) -> String {
        match self.spelling {
            Spelling::Exact => part.into(),
            Spelling::Env => part.to_ascii_lowercase(),
        }
    }

    /// A TOML value where it is one of the right kind, plain text where text is wanted.
    fn read(&self, shape: &Shape) -> Result<Given, String> {
        let wants_text = matches!(shape.kind, Kind::Text { .. } | Kind::Choice(_));
        let parsed = DeValue::parse(self.value.trim()).ok();
        match parsed.filter(|value| !wants_text || value.get_ref().is_str()) {
            Some(value) => {
                Given::value(&value, &|_| self.place.clone()).map_err(|too_much| too_much.what)
            }
            None if wants_text => {
                let body = Body::Text(Zeroizing::new(self.value.into()));
                Ok(Given {
                    place: self.place.clone(),
                    body,
                })
            }
            None => Err(format!("is not {} as TOML writes it", shape.noun())),
        }
    }
}

fn dotted(names: &[String]) -> String {
    let names = names.iter();
    names.fold(String::new(), |path, name| join(&path, &quoted(name)))
}

/// Wraps `given` in the tables that lead to it.
fn nest(given: Given, names: Vec<String>, place: &Place) -> Given {
    names.into_iter().rev().fold(given, |value, name| {
        let mut table = Given::empty(place.clone());
        if let Body::Table(entries) = &mut table.body {
            entries.insert(
                name,
                Entry {
                    name_place: place.clone(),
                    value,
                },
            );
        }
        table
    })
}

/// Splits `a."b.c".d=value` into its parts and the value, which is missing when there is no `=`.
fn split_set(set: &str) -> (Vec<String>, Option<&str>) {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for (at, character) in set.char_indices() {
        match character {
            '"' => inside = !inside,
            '=' if !inside => return (trimmed(parts), Some(&set[at + 1..])),
            '.' if !inside => parts.push(String::new()),
            other => parts
                .last_mut()
                .expect("there is always a last part")
                .push(other),
        }
    }
    (trimmed(parts), None)
}

fn trimmed(parts: Vec<String>) -> Vec<String> {
    parts.into_iter().map(|part| part.trim().into()).collect()
}

#[cfg(test)]
mod tests;
