//! The list of packs, as clients see it.

use bytes::Bytes;
use hashbrown::HashMap;
use http::HeaderValue;
use serde_json::{Value, json};

use super::{Entry, Mounted, Shelf};
use crate::representation::{Facts, Representation};

impl Shelf {
    /// With these packs.
    pub(super) fn new(packs: HashMap<String, Entry>) -> Self {
        let facts = Facts::json(HeaderValue::from_static("no-cache"));
        let list = Representation::of_bytes(listed(&packs), facts);
        Self { packs, list }
    }
}

/// All packs, by name. Addresses are relative, so that it is the same for everybody.
fn listed(packs: &HashMap<String, Entry>) -> Bytes {
    let mut names: Vec<_> = packs.iter().collect();
    names.sort_unstable_by_key(|(name, _)| *name);
    let packs = names.into_iter().map(|(name, entry)| match entry {
        Entry::Ready(mounted) => ready(mounted),
        Entry::Unready(_) => json!({ "name": name, "state": "unready" }),
    });
    let packs: Vec<Value> = packs.collect();
    Bytes::from(json!({ "packs": packs }).to_string())
}

fn ready(mounted: &Mounted) -> Value {
    let (name, about) = (&mounted.name, mounted.pack.about());
    let bounds = &about.bounds;
    let mut pack = json!({
        "name": name,
        "state": "ready",
        "format": mounted.extension,
        "minzoom": about.min_zoom,
        "maxzoom": about.max_zoom,
        "bounds": [bounds.west, bounds.south, bounds.east, bounds.north],
        "bytes": about.length,
        "tilejson": format!("/tiles/{name}.json"),
        "preview": format!("/preview/{name}"),
    });
    if mounted.pack.raw().is_some() {
        pack["raw"] = json!(format!("/packs/{name}"));
    }
    pack
}
