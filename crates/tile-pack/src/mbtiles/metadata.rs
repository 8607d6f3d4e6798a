//! What an MBTiles file says of itself: rows of names and values, written by anybody.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::about::{Bounds, Center, TileFormat};
use crate::address::ZOOM_MAX;
use crate::coding::Coding;

/// The rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows(pub(super) BTreeMap<String, String>);

impl Rows {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim())
    }

    pub(super) fn format(&self) -> Option<TileFormat> {
        TileFormat::from_name(self.get("format")?)
    }

    pub(super) fn zoom(&self, name: &str) -> Option<u8> {
        let zoom = self.get(name)?.parse().ok()?;
        (zoom <= ZOOM_MAX).then_some(zoom)
    }

    pub(super) fn bounds(&self) -> Option<Bounds> {
        let [west, south, east, north] = numbers(self.get("bounds")?)?;
        Some(Bounds {
            west,
            south,
            east,
            north,
        })
    }

    pub(super) fn center(&self) -> Option<Center> {
        let [longitude, latitude, zoom] = numbers(self.get("center")?)?;
        let is_zoom = (0.0..=f64::from(ZOOM_MAX)).contains(&zoom);
        is_zoom.then_some(Center {
            longitude,
            latitude,
            zoom: zoom as u8,
        })
    }

    /// One object: the rows, and within them what the `json` row holds. What a row says itself goes first.
    pub(super) fn into_object(mut self) -> Value {
        let inner = self.0.remove("json");
        let inner = inner.and_then(|text| serde_json::from_str(&text).ok());
        let mut object: Map<String, Value> = match inner {
            Some(Value::Object(inner)) => inner,
            _ => Map::new(),
        };
        for (name, value) in self.0 {
            object.insert(name, value.into());
        }
        Value::Object(object)
    }
}

fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let mut numbers = [0.0_f64; N];
    let mut parts = text.split(',');
    for number in &mut numbers {
        *number = parts.next()?.trim().parse().ok()?;
        if !number.is_finite() {
            return None;
        }
    }
    parts.next().is_none().then_some(numbers)
}

/// What tiles are when no row says so, by one of them.
pub(super) fn sniffed(sample: &[u8]) -> TileFormat {
    /// A layer, the only thing a vector tile is made of.
    const LAYER: u8 = 0x1a;
    match TileFormat::of_picture(sample) {
        Some(picture) => picture,
        None if Coding::sniff(sample) != Coding::None => TileFormat::Mvt,
        None if sample.first() == Some(&LAYER) => TileFormat::Mvt,
        None => TileFormat::Other,
    }
}

#[cfg(test)]
mod tests;
