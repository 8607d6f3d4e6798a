//! The story of a configuration: defaults < file < environment < flags, checked, merged, built, weighed.

mod build;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::DeTable;

use crate::check::{Check, complete};
use crate::contents::Contents;
use crate::document::{self, Loaded};
use crate::findings::{Finding, Findings, origin};
use crate::given::{Body, Given};
use crate::mistake::{Mistakes, Origin};
use crate::overrides::{from_env, from_sets};
use crate::place::{Lines, Place};
use crate::read::SourceFile;
use crate::report::{Report, join, quoted};
use crate::shape::Shape;

/// In bytes: up to here every syntax error is reported.
const WRITTEN_BY_HAND: usize = 128 * 1024;

/// The text form of a configuration: what a file may say, with a default for everything.
pub trait ConfigText: DeserializeOwned + Serialize + JsonSchema + Default {
    /// What the environment variables of this configuration begin with, such as `MACRONODE__`.
    const ENV_PREFIX: &'static str;

    /// Reports values that are fine alone and wrong together.
    fn contradictions(&self, report: &mut Report) {
        let _ = report;
    }

    /// Names the files whose contents are part of this configuration, each behind the key that names it. When one of
    /// them holds something else, so does the configuration.
    fn files(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }
}

/// Where a configuration is put together from, weakest first.
#[derive(Default)]
pub struct Sources {
    /// The configuration file.
    pub file: Option<SourceFile>,
    /// The environment; what does not begin with the prefix is ignored.
    pub env: Vec<(OsString, OsString)>,
    /// `key=value` pairs from the command line, later ones winning.
    pub sets: Vec<String>,
}

impl Sources {
    /// A file and this process's environment.
    pub fn process(file: Option<SourceFile>, sets: Vec<String>) -> Self {
        Self {
            file,
            env: std::env::vars_os().collect(),
            sets,
        }
    }
}

/// Puts a configuration together, or says everything that is wrong with it.
pub fn load<C: ConfigText>(sources: &Sources) -> Result<Loaded<C>, Mistakes> {
    Loader::by(Arc::new(Shape::of::<C>())).load(sources)
}

/// Loads again and again by a schema that was read once: reading it is most of what loading a small file takes.
#[derive(Debug)]
pub struct Loader<C> {
    shape: Arc<Shape>,
    text: PhantomData<fn() -> C>,
}

impl<C: ConfigText> Loader<C> {
    pub(crate) fn by(shape: Arc<Shape>) -> Self {
        let text = PhantomData;
        Self { shape, text }
    }

    /// As [`load`].
    pub fn load(&self, sources: &Sources) -> Result<Loaded<C>, Mistakes> {
        put_together(&self.shape, sources)
    }
}

fn put_together<C: ConfigText>(
    shape: &Arc<Shape>,
    sources: &Sources,
) -> Result<Loaded<C>, Mistakes> {
    let file = sources.file.as_ref();
    let mut findings = Findings::default();

    let layer = file_layer(shape, file, &mut findings);
    let readable = layer.is_some();
    let mut tree = layer.unwrap_or_else(|| Given::empty(Place::Default));
    let env = from_env(shape, C::ENV_PREFIX, &sources.env, &mut findings);
    let sets = from_sets(shape, &sources.sets, &mut findings);
    env.into_iter()
        .chain(sets)
        .for_each(|over| tree.merge(over));

    let whole = readable && complete(shape, &mut tree, "", &mut findings);
    let text = if whole {
        build::build::<C>(shape, &mut tree, &mut findings)
    } else {
        None
    };
    let places = places(&tree);
    // Before anybody else reads them.
    let contents = text.as_ref().map(|text| Contents::of(text.files()));
    if let Some(text) = &text {
        weigh(text, &places, &mut findings);
    }
    match (findings.into_mistakes(file, shape), text) {
        (None, Some(text)) => {
            let said = (origins(places, file), contents.unwrap_or_default());
            Ok(document::loaded(shape, text, &tree, said))
        }
        (Some(mistakes), _) => Err(mistakes),
        (None, None) => unreachable!("what could not be built has been reported"),
    }
}

/// The checked tree of the file, or nothing when the file could not be read as TOML.
fn file_layer(shape: &Shape, file: Option<&SourceFile>, findings: &mut Findings) -> Option<Given> {
    let Some(file) = file else {
        return Some(Given::empty(Place::Default));
    };
    let (table, errors) = parse(file.text());
    let mut tree = match Given::document(&table, &Place::file) {
        Ok(tree) => tree,
        Err(too_much) => {
            findings.add(Finding::new(too_much.place, "", too_much.what));
            return None;
        }
    };
    let kept = Check {
        text: Some(file.text()),
        findings,
    }
    .keep(shape, &mut tree, "");
    if errors.is_empty() {
        return kept.then_some(tree);
    }
    report_syntax(&errors, &Lines::of(file.text()), findings);
    None
}

/// All syntax errors of a file somebody wrote by hand, only the first of one so large that reporting
/// an error per byte would take more memory than the node.
fn parse(text: &str) -> (Spanned<DeTable<'_>>, Vec<toml::de::Error>) {
    if text.len() <= WRITTEN_BY_HAND {
        return DeTable::parse_recoverable(text);
    }
    match DeTable::parse(text) {
        Ok(table) => (table, Vec::new()),
        Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
    }
}

/// Past a syntax error the parser guesses: what it read before the first is what was written, and of
/// several in one line only the first was written by anybody.
fn report_syntax(errors: &[toml::de::Error], lines: &Lines<'_>, findings: &mut Findings) {
    let spans = errors
        .iter()
        .map(|error| (error.span().unwrap_or_default(), error.message()));
    let mut by_line = BTreeMap::new();
    for (span, message) in spans {
        let first = by_line
            .entry(lines.line_of(span.start))
            .or_insert((span.clone(), message));
        if span.start < first.0.start {
            *first = (span, message);
        }
    }
    let first = by_line
        .values()
        .map(|(span, _)| span.start)
        .min()
        .unwrap_or(0);
    findings.forget_from(first);
    for (span, message) in by_line.into_values() {
        findings.add(Finding {
            unreadable: true,
            ..Finding::new(Place::file(span), "", message)
        });
    }
}

/// Asks the type for contradictions and keeps those between values that are otherwise fine.
fn weigh<C: ConfigText>(text: &C, places: &BTreeMap<String, Place>, findings: &mut Findings) {
    let mut report = Report::default();
    text.contradictions(&mut report);
    // Judged by what was wrong before any of them: one does not hide another.
    let mut found = report.found;
    found.retain(|found| !found.keys.iter().any(|key| findings.taints(key)));
    for found in found {
        let written = found
            .keys
            .iter()
            .find_map(|key| Some((key, places.get(key)?)));
        let key = written
            .map(|(key, _)| key)
            .or(found.keys.first())
            .cloned()
            .unwrap_or_default();
        let place = written.map(|(_, place)| place);
        let place = place.or_else(|| found.keys.iter().find_map(|key| above(key, places)));
        let place = place.cloned().unwrap_or(Place::Default);
        findings.add(Finding {
            remedy: Some(found.remedy),
            ..Finding::new(place, key, found.what)
        });
    }
}

/// Where the nearest table or list around a key nobody wrote begins.
fn above<'a>(key: &str, places: &'a BTreeMap<String, Place>) -> Option<&'a Place> {
    let ends = key.rmatch_indices(['.', '[']);
    { ends }.find_map(|(end, _)| places.get(&key[..end]))
}

/// The place of every value somebody wrote, by key.
fn places(tree: &Given) -> BTreeMap<String, Place> {
    fn walk(given: &Given, path: String, places: &mut BTreeMap<String, Place>) {
        match &given.body {
            Body::Table(entries) => {
                for (name, entry) in entries {
                    walk(&entry.value, join(&path, &quoted(name)), places);
                }
            }
            Body::List(items) => {
                for (index, item) in items {
                    walk(item, format!("{path}[{index}]"), places);
                }
            }
            _ => {}
        }
        places.insert(path, given.place.clone());
    }
    let mut places = BTreeMap::new();
    walk(tree, String::new(), &mut places);
    places.remove("");
    places
}

fn origins(places: BTreeMap<String, Place>, file: Option<&SourceFile>) -> BTreeMap<String, Origin> {
    let lines = Lines::of(file.map_or("", SourceFile::text));
    places
        .into_iter()
        .map(|(key, place)| (key, origin(&place, file, &lines)))
        .collect()
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
