//! Building the type from a checked tree: what only the type itself can refuse is refused here, one value
//! after another, each taken out before the next attempt, so that all of it is found in one go.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use crate::check::{printable, short};
use crate::findings::{Finding, Findings};
use crate::given::{Body, Given};
use crate::place::Place;
use crate::report::{join, quoted};
use crate::shape::{Kind, Shape};

/// How many values are taken out before giving up; each attempt reads the whole tree again.
const ATTEMPTS: usize = 100;

/// What the standard library takes for an address with a port: no names.
const ADDRESS: &str = "IP:PORT, such as 127.0.0.1:8080 or [::1]:8080";

pub(super) fn build<C: DeserializeOwned>(
    shape: &Shape,
    tree: &mut Given,
    findings: &mut Findings,
) -> Option<C> {
    for _ in 0..ATTEMPTS {
        let error = match serde_path_to_error::deserialize(tree.to_json()) {
            Ok(text) => return Some(text),
            Err(error) => error,
        };
        let culprit = Culprit::find(shape, tree, error.path());
        let removed = culprit.remove.clone();
        findings.add(culprit.finding(&error.into_inner().to_string()));
        if !removed.is_some_and(|path| take_out(tree, &path)) {
            return None;
        }
    }
    None
}

/// One step down a tree: a key, or a position among the items that are left.
#[derive(Clone)]
enum Step {
    Name(String),
    Nth(usize),
}

/// The value the type refused, and the nearest thing at or above it the type can do without.
struct Culprit<'s> {
    key: String,
    shape: &'s Shape,
    place: Place,
    remove: Option<Vec<Step>>,
}

impl<'s> Culprit<'s> {
    fn find(shape: &'s Shape, tree: &Given, path: &Path) -> Self {
        let mut found = Culprit {
            key: String::new(),
            shape,
            place: tree.place.clone(),
            remove: None,
        };
        let mut here = tree;
        let mut steps = Vec::new();
        for segment in path {
            let Some((step, below, shape, spare)) =
                down(found.shape, here, segment, &mut found.key)
            else {
                break;
            };
            steps.push(step);
            if spare {
                found.remove = Some(steps.clone());
            }
            found.place = below.place.clone();
            found.shape = shape;
            here = below;
        }
        found
    }

    /// The type's own words, unless they might repeat a secret.
    fn finding(self, message: &str) -> Finding {
        let secret = self.shape.holds_secret() || self.shape.url;
        let what = if secret {
            "is not acceptable".into()
        } else {
            short(&printable(message))
        };
        // An item of a list has no words of its own.
        let allowed = match (
            &self.shape.allowed,
            message == "invalid socket address syntax",
        ) {
            (None, true) => ADDRESS.to_owned(),
            _ => self.shape.allowed(),
        };
        Finding {
            allowed,
            ..Finding::new(self.place, self.key, what)
        }
    }
}

/// Follows one segment. The last part tells whether what is below may simply be left out.
fn down<'s, 'g>(
    shape: &'s Shape,
    here: &'g Given,
    segment: &Segment,
    key: &mut String,
) -> Option<(Step, &'g Given, &'s Shape, bool)> {
    match (segment, &here.body, &shape.kind) {
        (Segment::Map { key: name }, Body::Table(entries), kind) => {
            let below = &entries.get(name)?.value;
            let (shape, spare) = match kind {
                Kind::Map(of) => (&**of, true),
                kind => kind.key(name).map(|key| (&key.shape, !key.required))?,
            };
            *key = join(key, &quoted(name));
            Some((Step::Name(name.clone()), below, shape, spare))
        }
        (Segment::Seq { index }, Body::List(items), Kind::List { of, .. }) => {
            let (written, below) = items.get(*index)?;
            key.push_str(&format!("[{written}]"));
            Some((Step::Nth(*index), below, of, true))
        }
        _ => None,
    }
}

fn take_out(tree: &mut Given, steps: &[Step]) -> bool {
    let Some((first, rest)) = steps.split_first() else {
        return false;
    };
    match (first, &mut tree.body) {
        (Step::Name(name), Body::Table(entries)) if rest.is_empty() => {
            entries.remove(name).is_some()
        }
        (Step::Name(name), Body::Table(entries)) => entries
            .get_mut(name)
            .is_some_and(|entry| take_out(&mut entry.value, rest)),
        (Step::Nth(nth), Body::List(items)) if rest.is_empty() => {
            *nth < items.len() && {
                items.remove(*nth);
                true
            }
        }
        (Step::Nth(nth), Body::List(items)) => items
            .get_mut(*nth)
            .is_some_and(|(_, item)| take_out(item, rest)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
