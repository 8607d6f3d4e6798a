//! What a span knows of itself, bounded: peers choose many of the values.

use std::fmt::{self, Write};

use serde_json::{Value, json};
use tracing::field::{Field, Visit};

/// Attributes of a span; further ones are only counted.
const MOST: usize = 32;
/// Bytes of a text; the rest is cut off.
const TEXT_BYTES: usize = 256;

/// What is known of one span.
#[derive(Debug, Default)]
pub struct Attributes {
    list: Vec<(&'static str, Value)>,
    left_out: u32,
}

impl Attributes {
    pub(super) fn list(&self) -> &[(&'static str, Value)] {
        &self.list
    }

    pub(super) fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Adds a text, or as much of it as there is room for.
    pub fn text(&mut self, name: &'static str, value: &str) {
        self.set_text(name, format_args!("{value}"));
    }

    /// Adds a whole number.
    pub fn number(&mut self, name: &'static str, value: i64) {
        self.set(name, json!({"intValue": value.to_string()}));
    }

    /// What is recorded again has its newest value.
    fn set(&mut self, name: &'static str, value: Value) {
        if let Some(known) = self.list.iter_mut().find(|(known, _)| *known == name) {
            known.1 = value;
        } else if self.list.len() < MOST {
            self.list.push((name, value));
        } else {
            self.left_out += 1;
        }
    }

    fn set_text(&mut self, name: &'static str, value: fmt::Arguments<'_>) {
        self.set(name, json!({"stringValue": text(value)}));
    }
}

/// Values as the protocol's JSON has them: whole numbers as text, because JSON's own lose digits.
impl Visit for Attributes {
    fn record_f64(&mut self, field: &Field, value: f64) {
        match value.is_finite() {
            true => self.set(field.name(), json!({"doubleValue": value})),
            false => self.set_text(field.name(), format_args!("{value}")),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.record_i64(field, value),
            Err(_) => self.set_text(field.name(), format_args!("{value}")),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), json!({"boolValue": value}));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set_text(field.name(), format_args!("{value:?}"));
    }
}

/// The beginning of what `value` says; formatting stops where the bound is reached.
pub(super) fn text(value: fmt::Arguments<'_>) -> String {
    let mut short = Short(String::new());
    // An error only says that there was more, or that the value cannot be formatted; what there is, is kept.
    let _more = short.write_fmt(value);
    short.0
}

struct Short(String);

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = TEXT_BYTES - self.0.len();
        let end = text.floor_char_boundary(room);
        self.0.push_str(&text[..end]);
        if end < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: KN-21
    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(text(format_args!("{}", "short")), "short");
        let cut = text(format_args!("x{}", "é".repeat(1000)));
        assert_eq!(cut.len(), TEXT_BYTES - 1);
        assert!(cut.ends_with('é'));
    }

    // req: KN-21
    #[test]
    fn an_endless_value_is_not_formatted_to_its_end() {
        struct Endless;
        impl fmt::Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("again ")?;
                }
            }
        }
        assert_eq!(text(format_args!("{Endless}")).len(), TEXT_BYTES);
    }
}
