//! All zooms of the world as one pack.

use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use tile_pack::{
    Bounds, Center, Coding, Description, PackError, PackWriter, TileAddress, TileFormat, Written,
};

use crate::tiles::tiles;
use crate::topology::Topology;
use crate::zoom::{DEEPEST, Level};

/// The same topology gives the same file, byte for byte.
pub(crate) fn write(topology: &Topology, to: &Path) -> Result<Written, PackError> {
    let mut writer = PackWriter::create(to, description())?;
    for zoom in 0..=DEEPEST {
        for (x, y, tile) in tiles(&Level::new(topology, zoom)) {
            let at = TileAddress::new(zoom, x, y).expect("cells lie within their zoom");
            writer.add(at, &compressed(&tile)?)?;
        }
    }
    writer.finish()
}

fn compressed(tile: &[u8]) -> io::Result<Bytes> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(tile)?;
    gzip.finish().map(Bytes::from)
}

fn description() -> Description {
    Description {
        bounds: Some(Bounds {
            west: -180.0,
            south: -85.0,
            east: 180.0,
            north: 85.0,
        }),
        center: Some(Center {
            longitude: 10.0,
            latitude: 25.0,
            zoom: 1,
        }),
        metadata: metadata(),
        ..Description::new(TileFormat::Mvt, Coding::Gzip)
    }
}

fn metadata() -> Map<String, Value> {
    let layer = |id: &str, description: &str, fields: Value| {
        json!({
            "id": id,
            "description": description,
            "fields": fields,
            "minzoom": 0,
            "maxzoom": DEEPEST,
        })
    };
    let named = json!({ "name": "String", "iso": "String" });
    let members = [
        ("name", json!("World")),
        (
            "description",
            json!("Land and countries of the world, for trying things out"),
        ),
        ("attribution", json!("Made with Natural Earth")),
        ("version", json!("1")),
        ("type", json!("baselayer")),
        (
            "vector_layers",
            json!([
                layer("graticule", "Meridians and parallels", json!({})),
                layer("land", "Where it is dry", json!({})),
                layer("countries", "Countries by name and numeric ISO code", named),
                layer("borders", "Lines between countries", json!({})),
            ]),
        ),
    ];
    members
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests;
