//! Which tiles are wanted: zooms, and a piece of the map.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

use crate::about::Bounds;
use crate::address::{TileAddress, ZOOM_MAX, first_id, last_id};

/// A choice of tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    min_zoom: u8,
    max_zoom: u8,
    bounds: Option<Bounds>,
}

impl Selection {
    /// Every tile.
    pub const ALL: Selection = Selection {
        min_zoom: 0,
        max_zoom: ZOOM_MAX,
        bounds: None,
    };

    /// Tiles of these zooms that show anything of `bounds`; where west is greater than east these cross the date line.
    /// Nothing when no tile could be meant.
    pub fn new(min_zoom: u8, max_zoom: u8, bounds: Option<Bounds>) -> Option<Selection> {
        let is_a_place = |bounds: Bounds| {
            let Bounds {
                west,
                south,
                east,
                north,
            } = bounds;
            [west, east].iter().all(|x| (-180.0..=180.0).contains(x))
                && [south, north].iter().all(|y| (-90.0..=90.0).contains(y))
                && south <= north
        };
        let makes_sense = min_zoom <= max_zoom && bounds.is_none_or(is_a_place);
        makes_sense.then_some(Selection {
            min_zoom,
            max_zoom: max_zoom.min(ZOOM_MAX),
            bounds,
        })
    }

    /// Whether a tile is wanted.
    pub fn contains(&self, at: TileAddress) -> bool {
        let is_deep = (self.min_zoom..=self.max_zoom).contains(&at.z());
        is_deep && self.bounds.is_none_or(|bounds| shows(at, bounds))
    }

    /// The zooms.
    pub fn zooms(&self) -> RangeInclusive<u8> {
        self.min_zoom..=self.max_zoom
    }

    /// The piece of the map, if not all of it.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// The numbers among which all wanted tiles are.
    pub(crate) fn ids(&self) -> RangeInclusive<u64> {
        first_id(self.min_zoom.min(ZOOM_MAX))..=last_id(self.max_zoom)
    }
}

fn shows(at: TileAddress, bounds: Bounds) -> bool {
    let (west, east) = (column(at.z(), bounds.west), column(at.z(), bounds.east));
    let x = at.x();
    let is_between = match bounds.west <= bounds.east {
        true => (west..=east).contains(&x),
        false => x >= west || x <= east,
    };
    is_between && (row(at.z(), bounds.north)..=row(at.z(), bounds.south)).contains(&at.y())
}

fn column(z: u8, longitude: f64) -> u32 {
    clamped(z, (longitude + 180.0) / 360.0)
}

fn row(z: u8, latitude: f64) -> u32 {
    clamped(z, (1.0 - latitude.to_radians().tan().asinh() / PI) / 2.0)
}

/// The step of 2^z that a share of the whole falls on.
fn clamped(z: u8, share: f64) -> u32 {
    let side = (1_u64 << z) as f64;
    // `as` saturates, so that the edges of the map fall on its last tiles.
    ((share * side).floor() as u32).min((1 << z) - 1)
}

/// The piece of the map that tiles `west..=east`, `north..=south` of a zoom cover.
pub(crate) fn covered(z: u8, (west, east): (u32, u32), (north, south): (u32, u32)) -> Bounds {
    let side = (1_u64 << z) as f64;
    let longitude = |x: u32| f64::from(x) / side * 360.0 - 180.0;
    let latitude = |y: u32| {
        (PI * (1.0 - 2.0 * f64::from(y) / side))
            .sinh()
            .atan()
            .to_degrees()
    };
    Bounds {
        west: longitude(west),
        south: latitude(south + 1),
        east: longitude(east + 1),
        north: latitude(north),
    }
}

#[cfg(test)]
mod tests;
