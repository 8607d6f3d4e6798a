//! A zoom level cut into tiles.

use crate::clip::{Rectangle, clip_line, clip_ring};
use crate::mercator::Point;
use crate::vector_tile::{self, EXTENT, Geometry, Layer, Spot};
use crate::zoom::{Level, Path, Shape};

/// Drawn beyond each side of a tile, in units of its grid, so that outlines do not show where tiles meet.
const BUFFER_UNITS: f64 = 80.0;

/// One cell of a zoom's grid.
pub(crate) struct Cell {
    zoom: u8,
    x: u32,
    y: u32,
}

/// The tiles of a level that have something in them, row by row.
pub(crate) fn tiles<'a>(level: &'a Level) -> impl Iterator<Item = (u32, u32, Vec<u8>)> + 'a {
    let side = 1_u32 << level.zoom;
    let cells = (0..side).flat_map(move |y| (0..side).map(move |x| (x, y)));
    cells.filter_map(|(x, y)| {
        let zoom = level.zoom;
        let bytes = Cell { zoom, x, y }.draw(level)?;
        Some((x, y, bytes))
    })
}

impl Cell {
    fn draw(&self, level: &Level) -> Option<Vec<u8>> {
        let within = self.buffered();
        let layers = [
            self.lines("graticule", &level.graticule, &within),
            self.areas("land", &level.land, &within),
            self.areas("countries", &level.countries, &within),
            self.lines("borders", &level.borders, &within),
        ];
        vector_tile::encode(&layers)
    }

    fn areas(&self, name: &'static str, shapes: &[Shape], within: &Rectangle) -> Layer {
        let mut layer = Layer::new(name);
        for shape in shapes {
            let near = shape
                .polygons
                .iter()
                .filter(|rings| rings[0].bounds.meets(within));
            let polygons: Vec<Vec<Vec<Spot>>> =
                near.map(|rings| self.rings(rings, within)).collect();
            let tags = [
                ("name", shape.area.name.as_deref()),
                ("iso", shape.area.iso.as_deref()),
            ];
            let tags: Vec<(&str, &str)> = tags
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .collect();
            let id = shape.area.iso.as_deref().and_then(|iso| iso.parse().ok());
            layer.add(id, &tags, &Geometry::Polygons(&polygons));
        }
        layer
    }

    fn lines(&self, name: &'static str, paths: &[Path], within: &Rectangle) -> Layer {
        let near = paths.iter().filter(|path| path.bounds.meets(within));
        let pieces = near.flat_map(|path| clip_line(&path.points, within));
        let lines: Vec<Vec<Spot>> = pieces.map(|piece| self.spots(&piece)).collect();
        let mut layer = Layer::new(name);
        layer.add(None, &[], &Geometry::Lines(&lines));
        layer
    }

    fn rings(&self, rings: &[Path], within: &Rectangle) -> Vec<Vec<Spot>> {
        let clipped = rings.iter().map(|ring| clip_ring(&ring.points, within));
        clipped.map(|ring| self.spots(&ring)).collect()
    }

    fn spots(&self, line: &[Point]) -> Vec<Spot> {
        let side = self.side();
        let corner = [f64::from(self.x), f64::from(self.y)];
        let spot = |axis: usize, value: f64| {
            ((value * side - corner[axis]) * f64::from(EXTENT)).round() as i32
        };
        line.iter()
            .map(|[x, y]| [spot(0, *x), spot(1, *y)])
            .collect()
    }

    fn buffered(&self) -> Rectangle {
        let (side, buffer) = (self.side(), BUFFER_UNITS / f64::from(EXTENT));
        let corner = [f64::from(self.x), f64::from(self.y)];
        Rectangle {
            low: corner.map(|at| (at - buffer) / side),
            high: corner.map(|at| (at + 1.0 + buffer) / side),
        }
    }

    /// How many tiles a side of the world has.
    fn side(&self) -> f64 {
        f64::from(1_u32 << self.zoom)
    }
}

#[cfg(test)]
mod tests;
