//! Mapbox Vector Tile 2.1: layers of features whose geometry is moves of a pen on a 4096 grid.

use crate::protobuf::Message;

/// Units to a tile's side.
pub(crate) const EXTENT: u32 = 4096;

/// A position on the tile's grid; outside of `0..EXTENT` in the buffer around it.
pub(crate) type Spot = [i32; 2];

pub(crate) struct Layer {
    name: &'static str,
    keys: Vec<&'static str>,
    values: Vec<String>,
    features: Vec<Vec<u8>>,
}

pub(crate) enum Geometry<'a> {
    Lines(&'a [Vec<Spot>]),
    /// Each polygon as its closed rings, the outer one first.
    Polygons(&'a [Vec<Vec<Spot>>]),
}

impl Layer {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            keys: Vec::new(),
            values: Vec::new(),
            features: Vec::new(),
        }
    }

    /// Adds a feature, unless nothing of it is large enough to be seen on the grid.
    pub(crate) fn add(
        &mut self,
        id: Option<u64>,
        tags: &[(&'static str, &str)],
        geometry: &Geometry,
    ) {
        let mut pen = Pen::default();
        let kind = match geometry {
            Geometry::Lines(lines) => {
                lines.iter().for_each(|line| pen.line(line));
                2
            }
            Geometry::Polygons(polygons) => {
                polygons.iter().for_each(|rings| pen.polygon(rings));
                3
            }
        };
        if pen.commands.is_empty() {
            return;
        }
        let mut feature = Message::default();
        if let Some(id) = id {
            feature.number(1, id);
        }
        let tags: Vec<u32> = tags
            .iter()
            .flat_map(|(key, value)| self.tag(key, value))
            .collect();
        if !tags.is_empty() {
            feature.packed(2, &tags);
        }
        feature.number(3, kind);
        feature.packed(4, &pen.commands);
        self.features.push(feature.finish());
    }

    fn tag(&mut self, key: &'static str, value: &str) -> [u32; 2] {
        let key = place(&mut self.keys, |known| *known == key, || key);
        let value = place(
            &mut self.values,
            |known| known == value,
            || value.to_owned(),
        );
        [key, value]
    }

    fn encode(&self) -> Vec<u8> {
        let mut layer = Message::default();
        layer.number(15, 2);
        layer.bytes(1, self.name.as_bytes());
        self.features
            .iter()
            .for_each(|feature| layer.bytes(2, feature));
        self.keys
            .iter()
            .for_each(|key| layer.bytes(3, key.as_bytes()));
        for value in &self.values {
            let mut text = Message::default();
            text.bytes(1, value.as_bytes());
            layer.bytes(4, &text.finish());
        }
        layer.number(5, u64::from(EXTENT));
        layer.finish()
    }
}

/// A tile of those layers that have something in it; nothing at all is `None`.
pub(crate) fn encode(layers: &[Layer]) -> Option<Vec<u8>> {
    let mut tile = Message::default();
    for layer in layers.iter().filter(|layer| !layer.features.is_empty()) {
        tile.bytes(3, &layer.encode());
    }
    Some(tile.finish()).filter(|bytes| !bytes.is_empty())
}

/// Where the wanted one is in the list, to which it is added when it is not.
fn place<T>(list: &mut Vec<T>, wanted: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> u32 {
    let at = list.iter().position(wanted).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    at as u32
}

/// The commands of one feature; positions are relative to where the pen stands.
#[derive(Default)]
struct Pen {
    at: Spot,
    commands: Vec<u32>,
}

const MOVE_TO: u32 = 1;
const LINE_TO: u32 = 2;
const CLOSE_PATH: u32 = 7;

impl Pen {
    fn line(&mut self, line: &[Spot]) {
        let mut line = line.to_vec();
        line.dedup();
        if line.len() > 1 {
            self.path(&line);
        }
    }

    /// Holes of an outer ring too small to be drawn go with it.
    fn polygon(&mut self, rings: &[Vec<Spot>]) {
        let Some((outer, holes)) = rings.split_first() else {
            return;
        };
        if !self.ring(outer, true) {
            return;
        }
        for hole in holes {
            self.ring(hole, false);
        }
    }

    /// An outer ring goes clockwise as seen, a hole the other way; one without area is left out.
    fn ring(&mut self, ring: &[Spot], outer: bool) -> bool {
        let mut ring = ring.to_vec();
        ring.dedup();
        ring.pop();
        let area = doubled_area(&ring);
        if ring.len() < 3 || area == 0 {
            return false;
        }
        if (area > 0) != outer {
            ring.reverse();
        }
        self.path(&ring);
        self.commands.push(command(CLOSE_PATH, 1));
        true
    }

    fn path(&mut self, line: &[Spot]) {
        self.commands.push(command(MOVE_TO, 1));
        self.go(line[0]);
        self.commands.push(command(LINE_TO, line.len() as u32 - 1));
        line[1..].iter().for_each(|spot| self.go(*spot));
    }

    fn go(&mut self, to: Spot) {
        for axis in [0, 1] {
            self.commands.push(zigzag(to[axis] - self.at[axis]));
        }
        self.at = to;
    }
}

fn command(id: u32, count: u32) -> u32 {
    count << 3 | id
}

fn zigzag(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

/// Twice the area of an open ring, positive when it goes clockwise with y down.
pub(crate) fn doubled_area(ring: &[Spot]) -> i64 {
    let next = ring.iter().cycle().skip(1);
    let wide = |spot: &Spot| spot.map(i64::from);
    let pairs = ring
        .iter()
        .zip(next)
        .map(|(from, to)| (wide(from), wide(to)));
    pairs
        .map(|(from, to)| from[0] * to[1] - to[0] * from[1])
        .sum()
}

#[cfg(test)]
mod tests;
