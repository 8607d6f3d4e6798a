//! A configuration that was accepted: the built type, the document it amounts to, and who said what.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde_json::Value;

use crate::contents::{Contents, Stamp};
use crate::diff::{Change, compare};
use crate::given::{Body, Given};
use crate::load::{ConfigText, Loader};
use crate::mistake::Origin;
use crate::report::{join, quoted};
use crate::secret::{MASK, Secret};
use crate::shape::{Kind, Shape};
use crate::url::{has_hidden, masked_url};

/// An accepted configuration.
pub struct Loaded<C> {
    /// The text form with defaults filled in.
    pub text: C,
    document: Value,
    origins: BTreeMap<String, Origin>,
    /// Kept apart from the document, so that the document can be shown and a changed secret still be seen.
    secrets: BTreeMap<String, Secret>,
    contents: Contents,
    shape: Arc<Shape>,
}

impl<C: ConfigText> Loaded<C> {
    /// Everything in force, defaults included; secrets and what URLs hide masked.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Where each value somebody wrote came from; what is not listed is a default.
    pub fn origins(&self) -> &BTreeMap<String, Origin> {
        &self.origins
    }

    /// What is different in `new`, by key; secrets and contents of files show only that they changed.
    pub fn diff(&self, new: &Self) -> Vec<Change> {
        let mut changes = compare(
            &self.shape,
            (&self.document, &self.secrets),
            (&new.document, &new.secrets),
        );
        changes.extend(self.contents.changes(&new.contents));
        changes
    }

    /// The files whose contents are part of it, and how each stood before it was read.
    pub fn files(&self) -> Vec<(PathBuf, Stamp)> {
        self.contents.stamps()
    }

    /// Loads the next one for less than this one took.
    pub fn loader(&self) -> Loader<C> {
        Loader::by(self.shape.clone())
    }
}

impl<C> fmt::Debug for Loaded<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("document", &self.document)
            .finish_non_exhaustive()
    }
}

pub(crate) fn loaded<C: ConfigText>(
    shape: &Arc<Shape>,
    text: C,
    tree: &Given,
    (origins, contents): (BTreeMap<String, Origin>, Contents),
) -> Loaded<C> {
    let mut secrets = BTreeMap::new();
    collect_secrets(shape, tree, String::new(), &mut secrets);
    let mut document = serde_json::to_value(&text).expect("a configuration type serializes");
    mask(shape, &mut document);
    Loaded {
        text,
        document,
        origins,
        secrets,
        contents,
        shape: shape.clone(),
    }
}

/// `document` with every secret, and what URLs hide, masked and what is absent left out.
pub fn redact<C: JsonSchema>(document: &Value) -> Value {
    let mut document = document.clone();
    mask(&Shape::of::<C>(), &mut document);
    document
}

fn mask(shape: &Shape, value: &mut Value) {
    match (&shape.kind, value) {
        (Kind::Table(_) | Kind::Map(_), Value::Object(entries)) => {
            entries.retain(|_, value| !value.is_null());
            for (name, value) in entries {
                match &shape.kind {
                    Kind::Map(of) => mask(of, value),
                    kind => match kind.key(name) {
                        Some(key) => mask(&key.shape, value),
                        // Not of this type: nobody can say what it is, so nobody shall read it.
                        None => *value = MASK.into(),
                    },
                }
            }
        }
        (Kind::List { of, .. }, Value::Array(items)) => {
            items.iter_mut().for_each(|item| mask(of, item));
        }
        (Kind::Text { .. }, Value::String(text)) if shape.url && !shape.secret => {
            *text = masked_url(text);
        }
        (_, value) if shape.holds_secret() && *value != "" && !value.is_null() => {
            *value = MASK.into()
        }
        _ => {}
    }
}

fn collect_secrets(
    shape: &Shape,
    given: &Given,
    path: String,
    secrets: &mut BTreeMap<String, Secret>,
) {
    match (&shape.kind, &given.body) {
        (Kind::Map(of), Body::Table(entries)) => {
            for (name, entry) in entries {
                collect_secrets(of, &entry.value, join(&path, &quoted(name)), secrets);
            }
        }
        (kind, Body::Table(entries)) => {
            for (name, entry) in entries {
                if let Some(key) = kind.key(name) {
                    collect_secrets(
                        &key.shape,
                        &entry.value,
                        join(&path, &quoted(name)),
                        secrets,
                    );
                }
            }
        }
        (Kind::List { of, .. }, Body::List(items)) => {
            for (index, item) in items {
                collect_secrets(of, item, format!("{path}[{index}]"), secrets);
            }
        }
        // An empty secret is one that is not set.
        (_, Body::Text(text))
            if shape.secret && !text.is_empty() || shape.url && has_hidden(text) =>
        {
            secrets.insert(path, Secret::from(text.as_str().to_owned()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
