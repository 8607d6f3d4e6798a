//! What somebody wrote: a document as a tree in which every value still knows its place.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};
use zeroize::Zeroizing;

use crate::place::Place;

/// Deeper than any shape; what lies below is refused unread.
pub(crate) const DEEPEST: usize = 32;
/// More values than any configuration of an allowed size has use for.
pub(crate) const MOST_VALUES: usize = 50_000;

#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) place: Place,
    pub(crate) body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    Table(BTreeMap<String, Entry>),
    /// Items keep the index they were written at, also when a bad one among them is taken out.
    List(Vec<(usize, Given)>),
    Text(Zeroizing<String>),
    Integer(i128),
    Float(f64),
    Bool(bool),
    /// Dates and times: TOML has them, no key here takes them.
    Moment,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name_place: Place,
    pub(crate) value: Given,
}

/// A document beyond the bounds, with the place where it went over.
#[derive(Debug)]
pub(crate) struct TooMuch {
    pub(crate) what: String,
    pub(crate) place: Place,
}

impl Given {
    pub(crate) fn empty(place: Place) -> Self {
        Self {
            place,
            body: Body::Table(BTreeMap::new()),
        }
    }

    /// The tree of a parsed document; `place` makes a place of a byte range.
    pub(crate) fn document(
        table: &Spanned<DeTable<'_>>,
        place: &dyn Fn(std::ops::Range<usize>) -> Place,
    ) -> Result<Self, TooMuch> {
        let mut reading = Reading { place, values: 0 };
        let body = reading.table(table.get_ref(), 0)?;
        Ok(Self {
            place: place(0..0),
            body,
        })
    }

    /// The tree of a single parsed value.
    pub(crate) fn value(
        value: &Spanned<DeValue<'_>>,
        place: &dyn Fn(std::ops::Range<usize>) -> Place,
    ) -> Result<Self, TooMuch> {
        Reading { place, values: 0 }.given(value, 0)
    }

    pub(crate) fn noun(&self) -> &'static str {
        match self.body {
            Body::Table(_) => "a table",
            Body::List(_) => "a list",
            Body::Text(_) => "a string",
            Body::Integer(_) => "an integer",
            Body::Float(_) => "a float",
            Body::Bool(_) => "a boolean",
            Body::Moment => "a date or time",
        }
    }

    /// Lays `over` on top: tables key by key, anything else as a whole.
    pub(crate) fn merge(&mut self, over: Given) {
        match (&mut self.body, over.body) {
            (Body::Table(base), Body::Table(entries)) => {
                for (name, entry) in entries {
                    match base.get_mut(&name) {
                        Some(under) => under.value.merge(entry.value),
                        None => {
                            base.insert(name, entry);
                        }
                    }
                }
            }
            (_, body) => {
                *self = Given {
                    place: over.place,
                    body,
                }
            }
        }
    }

    /// The value serde reads. Only a checked tree is turned into one, so every number fits.
    pub(crate) fn to_json(&self) -> Value {
        match &self.body {
            Body::Table(entries) => {
                let pairs = entries
                    .iter()
                    .map(|(name, e)| (name.clone(), e.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            Body::List(items) => items.iter().map(|(_, item)| item.to_json()).collect(),
            Body::Text(text) => Value::String(text.as_str().into()),
            Body::Integer(n) => Number::from_i128(*n).map_or(Value::Null, Value::Number),
            Body::Float(n) => Number::from_f64(*n).map_or(Value::Null, Value::Number),
            Body::Bool(b) => Value::Bool(*b),
            Body::Moment => Value::Null,
        }
    }
}

struct Reading<'a> {
    place: &'a dyn Fn(std::ops::Range<usize>) -> Place,
    values: usize,
}

impl Reading<'_> {
    fn given(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Given, TooMuch> {
        let place = (self.place)(value.span());
        self.values += 1;
        if depth > DEEPEST {
            return Err(TooMuch {
                what: format!("is nested deeper than {DEEPEST} levels"),
                place,
            });
        }
        if self.values > MOST_VALUES {
            return Err(TooMuch {
                what: format!("has more than {MOST_VALUES} values"),
                place,
            });
        }
        let body = match value.get_ref() {
            DeValue::String(text) => Body::Text(Zeroizing::new(text.as_ref().into())),
            DeValue::Integer(number) => Body::Integer(whole(number)),
            // A literal that overflows becomes infinite, and what is not finite is refused by the check.
            DeValue::Float(number) => Body::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(value) => Body::Bool(*value),
            DeValue::Datetime(_) => Body::Moment,
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                Body::List(
                    items
                        .map(|(i, v)| Ok((i, self.given(v, depth + 1)?)))
                        .collect::<Result<_, _>>()?,
                )
            }
            DeValue::Table(table) => self.table(table, depth + 1)?,
        };
        Ok(Given { place, body })
    }

    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Result<Body, TooMuch> {
        let mut entries = BTreeMap::new();
        for (name, value) in table {
            let name_place = (self.place)(name.span());
            let value = self.given(value, depth)?;
            entries.insert(name.get_ref().to_string(), Entry { name_place, value });
        }
        Ok(Body::Table(entries))
    }
}

/// Beyond 128 bits the sign is all that matters: no key reaches that far.
fn whole(number: &DeInteger<'_>) -> i128 {
    let digits = number.as_str();
    let limit = if digits.starts_with('-') {
        i128::MIN
    } else {
        i128::MAX
    };
    i128::from_str_radix(digits, number.radix()).unwrap_or(limit)
}
