//! What a configuration may look like: the schema of the root type, read once into a tree to walk.

mod compile;

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// What a change of a key takes to have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reload {
    /// Taken over while running.
    Hot,
    /// Refused while running; the node must be started anew.
    Restart,
}

impl fmt::Display for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reload::Hot => "reload",
            Reload::Restart => "restart",
        })
    }
}

/// One key and everything known about it. `secret`, `url` and `reload` are inherited from the sections above.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) doc: String,
    pub(crate) allowed: Option<String>,
    pub(crate) reload: Reload,
    pub(crate) secret: bool,
    /// Of which parts may be credentials.
    pub(crate) url: bool,
    /// May be left out for good (`Option`), as opposed to left to a default.
    pub(crate) optional: bool,
    pub(crate) default: Option<Value>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Table(Vec<Key>),
    Map(Box<Shape>),
    List {
        of: Box<Shape>,
        min: usize,
        max: usize,
    },
    Integer {
        min: i128,
        max: i128,
    },
    Float {
        min: f64,
        max: f64,
    },
    Text {
        min: usize,
        max: usize,
    },
    Choice(Vec<String>),
    Bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) required: bool,
    pub(crate) shape: Shape,
}

impl Shape {
    /// Reads the schema of `T`.
    ///
    /// # Panics
    /// When `T` uses a form a configuration has no use for (recursion, untagged unions, patterns): a
    /// mistake of whoever wrote the type, found by its first test.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        compile::compile(&generate::<T>())
    }

    /// Whether anything here or below is secret; such values are never echoed, not even when misplaced.
    pub(crate) fn holds_secret(&self) -> bool {
        self.holds(&|shape| shape.secret)
    }

    /// Whether anything here or below is a URL, which is shown in part only.
    pub(crate) fn holds_url(&self) -> bool {
        self.holds(&|shape| shape.url)
    }

    fn holds(&self, what: &dyn Fn(&Shape) -> bool) -> bool {
        what(self)
            || match &self.kind {
                Kind::Table(keys) => keys.iter().any(|key| key.shape.holds(what)),
                Kind::Map(of) | Kind::List { of, .. } => of.holds(what),
                _ => false,
            }
    }

    /// The strongest need of anything here or below: what adding or removing the whole section takes.
    pub(crate) fn strongest_reload(&self) -> Reload {
        let below = match &self.kind {
            Kind::Table(keys) => keys.iter().map(|key| key.shape.strongest_reload()).max(),
            Kind::Map(of) | Kind::List { of, .. } => Some(of.strongest_reload()),
            _ => None,
        };
        below.map_or(self.reload, |below| below.max(self.reload))
    }

    /// What a value may be, in words.
    pub(crate) fn allowed(&self) -> String {
        if let Some(words) = &self.allowed {
            return words.clone();
        }
        match &self.kind {
            Kind::Table(_) => "a table".into(),
            Kind::Map(_) => "a table of named entries".into(),
            Kind::List { of, min, max } => {
                format!("a list{} of {}", counted(*min, *max, "items"), of.allowed())
            }
            Kind::Integer { min, max } => format!("{min} to {max}"),
            Kind::Float { min, max } => floats(*min, *max),
            Kind::Text { min, max } => format!("text{}", counted(*min, *max, "characters")),
            Kind::Choice(names) => choices(names),
            Kind::Bool => "true or false".into(),
        }
    }

    /// The kind with its article, as in "expected an integer".
    pub(crate) fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Table(_) | Kind::Map(_) => "a table",
            Kind::List { .. } => "a list",
            Kind::Integer { .. } => "an integer",
            Kind::Float { .. } => "a number",
            Kind::Text { .. } | Kind::Choice(_) => "a string",
            Kind::Bool => "a boolean",
        }
    }
}

impl Kind {
    pub(crate) fn key(&self, name: &str) -> Option<&Key> {
        match self {
            Kind::Table(keys) => keys.iter().find(|key| key.name == name),
            _ => None,
        }
    }
}

/// The JSON schema (draft 2020-12) of a configuration type, closed to unknown keys, extensions kept.
pub fn schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>();
    close(&mut schema);
    schema
}

fn generate<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// The check refuses unknown keys whether or not the type says so; editors shall know it too.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let described = map.get("properties").is_some_and(Value::is_object);
            if described && map.get("type").is_some() {
                map.entry("additionalProperties")
                    .or_insert(Value::Bool(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

fn counted(min: usize, max: usize, what: &str) -> String {
    match (min, max) {
        (0, usize::MAX) => String::new(),
        (min, usize::MAX) => format!(" of at least {min} {what}"),
        (0, max) => format!(" of at most {max} {what}"),
        (min, max) => format!(" of {min} to {max} {what}"),
    }
}

fn floats(min: f64, max: f64) -> String {
    match (min == f64::MIN, max == f64::MAX) {
        (true, true) => "a finite number".into(),
        (false, true) => format!("a finite number, at least {min}"),
        (true, false) => format!("a finite number, at most {max}"),
        (false, false) => format!("{min} to {max}"),
    }
}

fn choices(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", quoted.join(", "))
}

#[cfg(test)]
mod tests;
