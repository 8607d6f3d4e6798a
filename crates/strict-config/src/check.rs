//! Holding a written tree against the shape: every mistake is found, and what is wrong is taken out.

use crate::findings::{Finding, Findings};
use crate::given::{Body, Given};
use crate::nearest::nearest;
use crate::place::Place;
use crate::report::{join, quoted};
use crate::secret::MASK;
use crate::shape::{Key, Kind, Shape};
use crate::toml_text::basic_string;
use crate::url::{has_hidden, is_masked, masked_url};

/// The longest value or name a message repeats.
const ECHO: usize = 60;

/// Checks one source against the shape. `text` is what was written, where it may be repeated.
pub(crate) struct Check<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) findings: &'a mut Findings,
}

impl Check<'_> {
    /// Whether `given` may stay. Parts below that may not are already taken out; a table that lost a
    /// required key goes with it, since nothing can be built of the rest.
    pub(crate) fn keep(&mut self, shape: &Shape, given: &mut Given, path: &str) -> bool {
        if shape.secret || hides(shape, given) {
            self.findings.hide(given);
        }
        match (&shape.kind, &mut given.body) {
            (Kind::Table(keys), Body::Table(entries)) => {
                let mut whole = true;
                entries.retain(|name, entry| {
                    let Some(key) = keys.iter().find(|key| key.name == *name) else {
                        self.findings.hide(&entry.value);
                        self.findings
                            .add(unknown(keys, name, path, entry.name_place.clone()));
                        return false;
                    };
                    let kept = self.keep(&key.shape, &mut entry.value, &join(path, &quoted(name)));
                    whole &= kept || !key.required;
                    kept
                });
                whole
            }
            (Kind::Map(of), Body::Table(entries)) => {
                entries.retain(|name, entry| {
                    self.keep(of, &mut entry.value, &join(path, &short(&quoted(name))))
                });
                true
            }
            (Kind::List { of, min, max }, Body::List(items)) => {
                let count = items.len();
                items.retain_mut(|(index, item)| self.keep(of, item, &format!("{path}[{index}]")));
                if count < *min || count > *max {
                    let what = format!("has {count} items");
                    self.refuse(shape, given, path, &what);
                }
                (*min..=*max).contains(&count)
            }
            _ => match leaf_problem(shape, given) {
                Some(what) => {
                    self.refuse(shape, given, path, &what);
                    false
                }
                None => true,
            },
        }
    }

    /// States what is wrong with one value, in its own words unless it may hold a secret.
    fn refuse(&mut self, shape: &Shape, given: &Given, path: &str, what: &str) {
        if shape.holds_secret() {
            self.findings.hide(given);
        }
        self.findings.add(Finding {
            given: self.echo(shape, given),
            allowed: shape.allowed(),
            ..Finding::new(given.place.clone(), path, what)
        });
    }

    fn echo(&self, shape: &Shape, given: &Given) -> Option<String> {
        let plain = !matches!(given.body, Body::Table(_) | Body::List(_));
        let written = match given.place.span() {
            Some(span) => self.text?.get(span)?,
            None => self.text?,
        };
        (plain && !shape.holds_secret()).then(|| match &given.body {
            Body::Text(text) if hides(shape, given) => short(&basic_string(&masked_url(text))),
            _ => short(&printable(written)),
        })
    }
}

/// Whether it is a URL, wherever one belongs, with parts that are not shown.
fn hides(shape: &Shape, given: &Given) -> bool {
    matches!(&given.body, Body::Text(text) if has_hidden(text) && shape.holds_url())
}

/// Reports required keys nobody gave and takes out what cannot be built without them.
pub(crate) fn complete(
    shape: &Shape,
    given: &mut Given,
    path: &str,
    findings: &mut Findings,
) -> bool {
    let place = given.place.clone();
    match (&shape.kind, &mut given.body) {
        (Kind::Table(keys), Body::Table(entries)) => {
            let mut whole = true;
            for key in keys {
                let below = join(path, &quoted(&key.name));
                let present = entries.get_mut(&key.name);
                let absent = present.is_none();
                let fine =
                    present.is_some_and(|e| complete(&key.shape, &mut e.value, &below, findings));
                if fine || (absent && !key.required) {
                    continue;
                }
                if absent {
                    findings.add(Finding {
                        allowed: key.shape.allowed(),
                        ..Finding::new(place.clone(), below, "is required and missing")
                    });
                }
                whole &= !key.required;
                entries.remove(&key.name);
            }
            whole
        }
        (Kind::Map(of), Body::Table(entries)) => {
            entries
                .retain(|name, e| complete(of, &mut e.value, &join(path, &quoted(name)), findings));
            true
        }
        (Kind::List { of, .. }, Body::List(items)) => {
            items.retain_mut(|(i, item)| complete(of, item, &format!("{path}[{i}]"), findings));
            true
        }
        _ => true,
    }
}

/// An unknown key, with the one it resembles.
pub(crate) fn unknown(keys: &[Key], name: &str, path: &str, place: Place) -> Finding {
    let names = keys.iter().map(|key| key.name.as_str());
    let key = join(path, &short(&quoted(name)));
    let mut finding = Finding::new(place, key, "is not a known key");
    match nearest(name, names.clone()) {
        Some(near) => finding.remedy = Some(format!("did you mean `{near}`?")),
        None => finding.allowed = short_list(names),
    }
    finding
}

fn leaf_problem(shape: &Shape, given: &Given) -> Option<String> {
    let out_of_range = || Some("out of range".to_string());
    match (&shape.kind, &given.body) {
        (Kind::Integer { min, max }, Body::Integer(n)) if min <= n && n <= max => None,
        (Kind::Integer { .. }, Body::Integer(_)) => out_of_range(),
        (Kind::Float { min, max }, Body::Integer(n)) if in_range(*n as f64, *min, *max) => None,
        (Kind::Float { min, max }, Body::Float(n)) if in_range(*n, *min, *max) => None,
        (Kind::Float { .. }, Body::Float(n)) if !n.is_finite() => {
            Some("is not a finite number".into())
        }
        (Kind::Float { .. }, Body::Integer(_) | Body::Float(_)) => out_of_range(),
        (Kind::Bool, Body::Bool(_)) => None,
        (Kind::Choice(names), Body::Text(text)) if names.iter().any(|n| *n == **text) => None,
        (Kind::Choice(names), Body::Text(text)) => {
            Some(match nearest(text, names.iter().map(|n| n.as_str())) {
                Some(near) => format!("is none of the choices (did you mean `{near}`?)"),
                None => "is none of the choices".into(),
            })
        }
        (Kind::Text { .. }, Body::Text(text))
            if shape.secret && **text == MASK || shape.url && is_masked(text) =>
        {
            Some("is what a printed configuration shows instead of the secret".into())
        }
        (Kind::Text { min, max }, Body::Text(text)) => {
            let length = text.chars().count();
            let wrong = if length < *min {
                "too short"
            } else {
                "too long"
            };
            (!(*min..=*max).contains(&length)).then(|| wrong.into())
        }
        _ => Some(format!("expected {}, found {}", shape.noun(), given.noun())),
    }
}

fn in_range(n: f64, min: f64, max: f64) -> bool {
    n.is_finite() && min <= n && n <= max
}

pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .take(2 * ECHO)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

pub(crate) fn short(text: &str) -> String {
    if text.chars().count() <= ECHO {
        return text.into();
    }
    text.chars().take(ECHO).chain(['…']).collect()
}

fn short_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
