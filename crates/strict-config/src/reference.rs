//! The list of all keys, from which the reference page is written.

use crate::load::ConfigText;
use crate::overrides::env_part;
use crate::report::join;
use crate::shape::{Kind, Reload, Shape};
use crate::toml_text::inline;

/// One row of the reference page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// The dotted key; `<name>` stands for the name of a map entry, `[]` for an item of a list.
    pub path: String,
    /// The kind of value: `section`, `entries`, `list`, `integer`, `number`, `string`, `boolean`.
    pub ty: &'static str,
    /// The default as TOML writes it; `None` when there is none to write.
    pub default: Option<String>,
    /// Whether the section it is in cannot do without it.
    pub required: bool,
    /// Whether it may be left out for good, as opposed to left to a default.
    pub optional: bool,
    /// What a value may be.
    pub allowed: String,
    /// What a change takes to have an effect.
    pub reload: Reload,
    /// Whether it is masked wherever it is printed.
    pub secret: bool,
    /// What it is for.
    pub doc: String,
    /// The environment variable that sets it; items of lists have none.
    pub env: Option<String>,
}

/// Every key of `C` once, sections before their keys, in the order of the type.
pub fn reference<C: ConfigText>() -> Vec<KeyDoc> {
    let mut rows = Vec::new();
    let env = Some(C::ENV_PREFIX.trim_end_matches("__").to_owned());
    keys(&Shape::of::<C>(), "", env, &mut rows);
    rows
}

fn keys(shape: &Shape, path: &str, env: Option<String>, rows: &mut Vec<KeyDoc>) {
    match &shape.kind {
        Kind::Table(keys) => {
            for key in keys {
                let env = env
                    .as_ref()
                    .map(|above| format!("{above}__{}", env_part(&key.name)));
                row(&key.shape, join(path, &key.name), env, key.required, rows);
            }
        }
        Kind::Map(of) => {
            let env = env.map(|above| format!("{above}__<NAME>"));
            below(of, &join(path, "<name>"), env, rows);
        }
        Kind::List { of, .. } => below(of, &format!("{path}[]"), None, rows),
        _ => {}
    }
}

/// Entries and items are keys of their own only when they have keys of their own.
fn below(of: &Shape, path: &str, env: Option<String>, rows: &mut Vec<KeyDoc>) {
    match of.kind {
        Kind::Table(_) => keys(of, path, env, rows),
        _ => row(of, path.into(), env, false, rows),
    }
}

fn row(shape: &Shape, path: String, env: Option<String>, required: bool, rows: &mut Vec<KeyDoc>) {
    let unsaid = shape.secret || matches!(shape.kind, Kind::Table(_));
    let default = shape.default.as_ref().filter(|_| !unsaid);
    rows.push(KeyDoc {
        path: path.clone(),
        ty: ty(&shape.kind),
        default: default.map(inline),
        required,
        optional: shape.optional,
        allowed: shape.allowed(),
        reload: shape.reload,
        secret: shape.secret,
        doc: shape.doc.clone(),
        env: env.clone(),
    });
    keys(shape, &path, env, rows);
}

fn ty(kind: &Kind) -> &'static str {
    match kind {
        Kind::Table(_) => "section",
        Kind::Map(_) => "entries",
        Kind::List { .. } => "list",
        Kind::Integer { .. } => "integer",
        Kind::Float { .. } => "number",
        Kind::Text { .. } | Kind::Choice(_) => "string",
        Kind::Bool => "boolean",
    }
}

#[cfg(test)]
mod tests;
