//! A document as TOML, keys in the order of the type, with or without what each is for.

use std::fmt::Write;

use schemars::JsonSchema;
use serde_json::Value;

use crate::report::{join, quoted};
use crate::shape::{Kind, Shape};

/// Whether each key is preceded by its documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// Values only.
    Without,
    /// Documentation and allowed values above each key.
    With,
}

/// Prints a document, such as [`crate::Loaded::document`], with secrets masked in any case.
pub fn to_toml<C: JsonSchema>(document: &Value, comments: Comments) -> String {
    let document = crate::redact::<C>(document);
    let mut page = Page {
        text: String::new(),
        comments,
    };
    page.table(&Shape::of::<C>(), &document, "");
    page.text
}

struct Page {
    text: String,
    comments: Comments,
}

impl Page {
    /// Plain values first: after a table header everything belongs to that table.
    fn table(&mut self, shape: &Shape, value: &Value, path: &str) {
        let entries = entries(shape, value);
        let (tables, plain): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|(_, shape, value)| has_header(shape, value));
        for (name, shape, value) in plain {
            self.comment(shape);
            let _ = writeln!(self.text, "{} = {}", quoted(name), inline(value));
        }
        for (name, shape, value) in tables {
            let path = join(path, &quoted(name));
            match value {
                Value::Array(items) => {
                    let Kind::List { of, .. } = &shape.kind else {
                        continue;
                    };
                    for item in items {
                        self.header(shape, &format!("[[{path}]]"));
                        self.table(of, item, &path);
                    }
                }
                _ => {
                    self.header(shape, &format!("[{path}]"));
                    self.table(shape, value, &path);
                }
            }
        }
    }

    fn header(&mut self, shape: &Shape, header: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.comment(shape);
        let _ = writeln!(self.text, "{header}");
    }

    fn comment(&mut self, shape: &Shape) {
        if self.comments == Comments::Without {
            return;
        }
        for line in shape.doc.lines() {
            let _ = writeln!(self.text, "{}", format!("# {line}").trim_end());
        }
        if !matches!(shape.kind, Kind::Table(_) | Kind::Map(_)) {
            let _ = writeln!(self.text, "# Allowed: {}", shape.allowed());
        }
    }
}

/// The entries of a table or map in the order of the type, or by name.
fn entries<'a>(shape: &'a Shape, value: &'a Value) -> Vec<(&'a str, &'a Shape, &'a Value)> {
    match (&shape.kind, value) {
        (Kind::Table(keys), Value::Object(map)) => {
            let present = keys
                .iter()
                .filter_map(|key| Some((key, map.get(&key.name)?)));
            present
                .map(|(key, value)| (key.name.as_str(), &key.shape, value))
                .collect()
        }
        (Kind::Map(of), Value::Object(map)) => map
            .iter()
            .map(|(name, value)| (name.as_str(), &**of, value))
            .collect(),
        _ => Vec::new(),
    }
}

fn has_header(shape: &Shape, value: &Value) -> bool {
    match &shape.kind {
        Kind::Table(_) | Kind::Map(_) => true,
        Kind::List { of, .. } => {
            matches!(of.kind, Kind::Table(_) | Kind::Map(_))
                && value.as_array().is_some_and(|a| !a.is_empty())
        }
        _ => false,
    }
}

/// A value on one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => basic_string(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let pairs: Vec<_> = map
                .iter()
                .map(|(k, v)| format!("{} = {}", quoted(k), inline(v)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

/// A string in double quotes, control characters escaped.
pub(crate) fn basic_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other if other.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(other));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
