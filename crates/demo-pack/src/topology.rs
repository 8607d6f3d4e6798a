//! TopoJSON: boundaries as arcs that neighbours share, and areas as lists of arcs.

use crate::mercator::{self, Point};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A reference to an arc: `i` is arc `i`, `-1 - i` is arc `i` walked backwards.
pub(crate) type ArcRef = i32;

/// A polygon as its rings, the outer one first.
pub(crate) type Rings = Vec<Vec<ArcRef>>;

pub(crate) struct Topology {
    /// In degrees: longitude, latitude.
    pub(crate) arcs: Vec<Vec<Point>>,
    pub(crate) land: Vec<Area>,
    pub(crate) countries: Vec<Area>,
}

pub(crate) struct Area {
    pub(crate) name: Option<String>,
    /// The numeric code of ISO 3166-1; what is disputed has none.
    pub(crate) iso: Option<String>,
    pub(crate) polygons: Vec<Rings>,
}

#[derive(Deserialize)]
struct Text {
    transform: Transform,
    arcs: Vec<Vec<[i64; 2]>>,
    objects: BTreeMap<String, Collection>,
}

#[derive(Deserialize)]
struct Transform {
    scale: Point,
    translate: Point,
}

#[derive(Deserialize)]
struct Collection {
    geometries: Vec<Geometry>,
}

#[derive(Deserialize)]
struct Geometry {
    #[serde(flatten)]
    shape: Shape,
    id: Option<String>,
    #[serde(default)]
    properties: Properties,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Shape {
    Polygon { arcs: Rings },
    MultiPolygon { arcs: Vec<Rings> },
}

#[derive(Deserialize, Default)]
struct Properties {
    name: Option<String>,
}

impl Topology {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut text: Text = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut areas = |name: &str| {
            let found = text.objects.remove(name);
            let found = found.ok_or_else(|| format!("no object `{name}`"))?;
            found
                .geometries
                .into_iter()
                .map(|geometry| geometry.area(text.arcs.len()))
                .collect::<Result<Vec<_>, _>>()
        };
        let (land, countries) = (areas("land")?, areas("countries")?);
        let decoded = text.arcs.iter().map(|arc| text.transform.decode(arc));
        Ok(Self {
            arcs: decoded.collect(),
            land,
            countries,
        })
    }

    /// The arcs that two countries have in common: borders on land, without any coast.
    pub(crate) fn borders(&self) -> Vec<usize> {
        let mut users = vec![0_u32; self.arcs.len()];
        for area in &self.countries {
            for arc in area.polygons.iter().flatten().flatten() {
                users[index(*arc)] += 1;
            }
        }
        (0..users.len()).filter(|arc| users[*arc] == 2).collect()
    }
}

impl Geometry {
    fn area(self, arcs: usize) -> Result<Area, String> {
        let polygons = match self.shape {
            Shape::Polygon { arcs } => vec![arcs],
            Shape::MultiPolygon { arcs } => arcs,
        };
        match polygons
            .iter()
            .flatten()
            .flatten()
            .find(|arc| index(**arc) >= arcs)
        {
            Some(arc) => Err(format!("an area refers to arc {arc} of {arcs}")),
            None => Ok(Area {
                name: self.properties.name,
                iso: self.id,
                polygons,
            }),
        }
    }
}

impl Transform {
    /// Positions are whole steps from the one before.
    fn decode(&self, arc: &[[i64; 2]]) -> Vec<Point> {
        let mut at = [0_i64; 2];
        let mut step = |delta: &[i64; 2]| {
            at = [at[0] + delta[0], at[1] + delta[1]];
            [0, 1].map(|axis| at[axis] as f64 * self.scale[axis] + self.translate[axis])
        };
        arc.iter().map(&mut step).collect()
    }
}

fn index(arc: ArcRef) -> usize {
    (if arc < 0 { -1 - arc } else { arc }) as usize
}

/// The closed line of a ring of projected arcs.
pub(crate) fn ring(arcs: &[Vec<Point>], refs: &[ArcRef]) -> Vec<Point> {
    let walked = refs.iter().map(|reference| {
        let arc = arcs[index(*reference)].iter();
        match *reference < 0 {
            true => arc.rev().collect::<Vec<_>>(),
            false => arc.collect(),
        }
    });
    mercator::close(mercator::join(walked))
}

#[cfg(test)]
pub(crate) mod tests;
