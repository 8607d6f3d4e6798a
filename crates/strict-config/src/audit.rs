//! A test for authors of configuration types: what serde would do silently must agree with what is written.

use serde_json::Value;

use crate::load::{ConfigText, Sources, load};
use crate::reference::reference;
use crate::report::{join, quoted};
use crate::shape::{Kind, Shape};
use crate::toml_text::{Comments, to_toml};

/// What is unsound about `C`: a default its own check refuses, a section whose keys default differently
/// alone than as part of the whole, a key nobody described. Empty is good.
pub fn audit<C: ConfigText>() -> Vec<String> {
    let mut complaints = Vec::new();
    let defaults = serde_json::to_value(C::default()).expect("a configuration type serializes");
    let mut sources = Sources::default();
    if let Err(mistakes) = load::<C>(&sources) {
        complaints.push(format!("an empty file is refused: {mistakes}"));
    }
    let printed = to_toml::<C>(&defaults, Comments::Without);
    sources.file = Some(crate::SourceFile::new("defaults", printed));
    if let Err(mistakes) = load::<C>(&sources) {
        complaints.push(format!("the defaults, printed, are refused: {mistakes}"));
    }
    defaults_agree(&Shape::of::<C>(), &defaults, "", &mut complaints);
    let undescribed = reference::<C>()
        .into_iter()
        .filter(|key| key.doc.is_empty() && !key.path.ends_with(['>', ']']));
    complaints.extend(undescribed.map(|key| format!("{}: has no documentation", key.path)));
    complaints
}

/// A section given in part takes the rest from its own `Default`, not from that of the type around it.
fn defaults_agree(shape: &Shape, defaults: &Value, path: &str, complaints: &mut Vec<String>) {
    let Kind::Table(keys) = &shape.kind else {
        return;
    };
    for key in keys {
        let path = join(path, &quoted(&key.name));
        let Some(whole) = defaults.get(&key.name).filter(|value| !value.is_null()) else {
            continue;
        };
        if matches!(key.shape.kind, Kind::Table(_)) {
            defaults_agree(&key.shape, whole, &path, complaints);
        } else if key
            .shape
            .default
            .as_ref()
            .is_some_and(|alone| alone != whole)
        {
            let alone = key.shape.default.clone().unwrap_or_default();
            complaints.push(format!(
                "{path}: defaults to {whole} as a whole and to {alone} alone"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
