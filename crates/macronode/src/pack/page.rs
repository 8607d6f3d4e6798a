//! What a pack says of itself, for people and for programs.

use std::path::Path;

use serde_json::{Value, json};
use tile_pack::{About, Kind};

use crate::table::plain;

/// Everything there is to say.
pub(super) fn facts(file: &Path, about: &About, hash: Option<String>) -> Value {
    let (bounds, center) = (about.bounds, about.center);
    json!({
        "file": file.to_string_lossy(),
        "kind": about.kind.name(),
        "bytes": about.length,
        "tile_format": about.tile_format.extension(),
        "media_type": about.tile_format.media_type(),
        "coding": about.coding.content_encoding(),
        "min_zoom": about.min_zoom,
        "max_zoom": about.max_zoom,
        "bounds": [bounds.west, bounds.south, bounds.east, bounds.north],
        "center": [center.longitude, center.latitude, center.zoom],
        "clustered": (about.kind == Kind::PmTiles).then_some(about.clustered),
        "addressed_tiles": about.addressed_tiles,
        "tile_entries": about.tile_entries,
        "tile_contents": about.tile_contents,
        "stamp": format!("{:016x}", about.stamp),
        "hash": hash,
        "metadata": about.metadata,
    })
}

/// The same on a page; of the metadata what people look for.
pub(super) fn page(facts: &Value) -> String {
    let metadata = &facts["metadata"];
    let rows = [
        ("file", text(&facts["file"])),
        ("format", text(&facts["kind"])),
        ("size", facts["bytes"].as_u64().map(size)),
        ("tiles", Some(tiles(facts))),
        ("counts", counts(facts)),
        (
            "zooms",
            Some(format!("{} to {}", facts["min_zoom"], facts["max_zoom"])),
        ),
        ("bounds", Some(numbers(&facts["bounds"]))),
        ("center", Some(numbers(&facts["center"]))),
        ("name", text(&metadata["name"])),
        ("about", text(&metadata["description"])),
        ("credit", text(&metadata["attribution"])),
        ("layers", layers(metadata)),
        ("stamp", text(&facts["stamp"])),
        ("blake3", text(&facts["hash"])),
    ];
    let lines = rows.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some(format!("{name:<7} {value}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(plain)
}

fn tiles(facts: &Value) -> String {
    let format = facts["tile_format"].as_str().unwrap_or_default();
    match facts["coding"].as_str() {
        Some(coding) => format!("{format}, {coding}"),
        None => format.to_owned(),
    }
}

fn counts(facts: &Value) -> Option<String> {
    let addressed = facts["addressed_tiles"].as_u64()?;
    let entries = facts["tile_entries"].as_u64()?;
    let contents = facts["tile_contents"].as_u64()?;
    let order = match facts["clustered"] == true {
        true => "in order",
        false => "not in order",
    };
    Some(format!(
        "{addressed} tiles, {entries} entries, {contents} different, {order}"
    ))
}

fn numbers(value: &Value) -> String {
    let numbers: Vec<String> = value
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    numbers.join(",")
}

/// Vector packs name their layers, or at least those they have counted.
fn layers(metadata: &Value) -> Option<String> {
    let named = metadata["vector_layers"]
        .as_array()
        .map(|layers| (layers, "id"));
    let counted = || {
        metadata["tilestats"]["layers"]
            .as_array()
            .map(|layers| (layers, "layer"))
    };
    let (layers, name) = named.or_else(counted)?;
    let names: Vec<String> = layers
        .iter()
        .filter_map(|layer| text(&layer[name]))
        .collect();
    Some(names.join(" "))
}

/// Bytes in the unit people would choose.
pub(super) fn size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut name = "bytes";
    for unit in units {
        if size < 1000.0 {
            break;
        }
        size /= 1000.0;
        name = unit;
    }
    match name {
        "bytes" => format!("{bytes} bytes"),
        unit => format!("{size:.1} {unit}"),
    }
}
