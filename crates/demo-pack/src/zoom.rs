//! The world as one zoom level needs it: simplified to what can be seen there, not yet cut into tiles.

use crate::clip::Rectangle;
use crate::mercator::{Point, project, project_line};
use crate::simplify::simplify;
use crate::topology::{Area, Topology, ring};
use crate::vector_tile::EXTENT;

/// The deepest zoom that is written; clients draw deeper ones from it.
pub(crate) const DEEPEST: u8 = 4;

/// How far the line may be off, in units of the tile's grid, of which 16 make a pixel.
const TOLERANCE_UNITS: f64 = 10.0;
/// The deepest zoom is also seen enlarged.
const TOLERANCE_UNITS_DEEPEST: f64 = 4.0;
/// An island smaller than this is left out, in square units; at the deepest zoom only what vanishes is.
const ISLAND_UNITS: f64 = 400.0;

const GRATICULE_STEP_DEGREES: i32 = 15;

/// A line or ring on the unit square.
pub(crate) struct Path {
    pub(crate) bounds: Rectangle,
    pub(crate) points: Vec<Point>,
}

/// An area with its polygons, each as its rings, the outer one first.
pub(crate) struct Shape<'a> {
    pub(crate) area: &'a Area,
    pub(crate) polygons: Vec<Vec<Path>>,
}

pub(crate) struct Level<'a> {
    pub(crate) zoom: u8,
    pub(crate) land: Vec<Shape<'a>>,
    pub(crate) countries: Vec<Shape<'a>>,
    pub(crate) borders: Vec<Path>,
    pub(crate) graticule: Vec<Path>,
}

impl<'a> Level<'a> {
    pub(crate) fn new(topology: &'a Topology, zoom: u8) -> Self {
        let units = f64::from(EXTENT) * f64::from(1_u32 << zoom);
        let (tolerance, island) = if zoom == DEEPEST {
            (TOLERANCE_UNITS_DEEPEST, 0.0)
        } else {
            (TOLERANCE_UNITS, ISLAND_UNITS)
        };
        // Arcs are simplified, not rings: neighbours keep the same border.
        let simple = |arc: &Vec<Point>| simplify(&project_line(arc), tolerance / units);
        let arcs: Vec<Vec<Point>> = topology.arcs.iter().map(simple).collect();
        let shapes = |areas: &'a [Area]| {
            let shape = |area| Shape::new(area, &arcs, island / (units * units));
            areas.iter().map(shape).collect()
        };
        let border = |arc: usize| copies(&arcs[arc]).map(Path::new);
        Self {
            zoom,
            land: shapes(&topology.land),
            countries: shapes(&topology.countries),
            borders: topology.borders().into_iter().flat_map(border).collect(),
            graticule: graticule(),
        }
    }
}

impl<'a> Shape<'a> {
    fn new(area: &'a Area, arcs: &[Vec<Point>], smallest: f64) -> Self {
        let flat = area.polygons.iter().flat_map(|rings| {
            let rings = rings.iter().map(|refs| ring(arcs, refs));
            on_the_plane(rings.collect())
        });
        let polygons = flat.flat_map(|rings| WORLDS.map(|world| paths(&rings, world)));
        let seen = |rings: &Vec<Path>| {
            let outer = rings.first();
            outer.is_some_and(|outer| size(&outer.points) >= smallest && outer.bounds.meets(&HERE))
        };
        Self {
            area,
            polygons: polygons.filter(seen).collect(),
        }
    }
}

/// On the globe a ring around a pole may be the hole of a small one. On the plane what is larger than the first ring
/// is a polygon of its own.
fn on_the_plane(rings: Vec<Vec<Point>>) -> Vec<Vec<Vec<Point>>> {
    let first = rings.first().map_or(0.0, |ring| size(ring));
    let (holes, larger): (Vec<_>, Vec<_>) = rings.into_iter().partition(|ring| size(ring) <= first);
    let own = larger.into_iter().map(|ring| vec![ring]);
    own.chain([holes]).collect()
}

fn paths(rings: &[Vec<Point>], world: f64) -> Vec<Path> {
    rings
        .iter()
        .map(|ring| Path::new(moved(ring, world)))
        .collect()
}

fn size(ring: &[Point]) -> f64 {
    let cross = |pair: &[Point]| pair[0][0] * pair[1][1] - pair[1][0] * pair[0][1];
    (ring.windows(2).map(cross).sum::<f64>() / 2.0).abs()
}

impl Path {
    fn new(points: Vec<Point>) -> Self {
        Self {
            bounds: Rectangle::around(&points),
            points,
        }
    }
}

/// What lies over the edge of the world is seen again at its other edge.
const WORLDS: [f64; 3] = [-1.0, 0.0, 1.0];

/// The unit square, and as much around it as any tile shows.
const HERE: Rectangle = Rectangle {
    low: [-0.02, -0.02],
    high: [1.02, 1.02],
};

fn moved(line: &[Point], world: f64) -> Vec<Point> {
    line.iter().map(|[x, y]| [x + world, *y]).collect()
}

/// The line in every world from which something of it is seen here.
fn copies(line: &[Point]) -> impl Iterator<Item = Vec<Point>> + use<> {
    let all = WORLDS.map(|world| moved(line, world));
    all.into_iter()
        .filter(|line| Rectangle::around(line).meets(&HERE))
}

/// Straight on this projection, so two points are a line.
fn graticule() -> Vec<Path> {
    let steps = |most: i32| (-most..=most).filter(|at| at % GRATICULE_STEP_DEGREES == 0);
    let meridian = |longitude: i32| [[longitude, -84], [longitude, 84]];
    let parallel = |latitude: i32| [[-180, latitude], [180, latitude]];
    let lines = steps(179).map(meridian).chain(steps(80).map(parallel));
    // Not projected as a line: from end to end of the world is no way at all there.
    let path = |line: [[i32; 2]; 2]| {
        let flat = line.map(|at| project(at.map(f64::from)));
        copies(&flat).map(Path::new)
    };
    lines.flat_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::{HERE, copies, on_the_plane};
    use crate::clip::Rectangle;

    #[test]
    fn a_ring_larger_than_the_first_is_no_hole() {
        let square = |side: f64| {
            vec![
                [0.0, 0.0],
                [side, 0.0],
                [side, side],
                [0.0, side],
                [0.0, 0.0],
            ]
        };
        let polygons = on_the_plane(vec![square(2.0), square(1.0), square(5.0)]);
        assert_eq!(
            polygons,
            [vec![square(5.0)], vec![square(2.0), square(1.0)]]
        );
    }

    #[test]
    fn what_crosses_the_edge_of_the_world_is_seen_at_both() {
        let over = [[0.9, 0.5], [1.1, 0.5]];
        let seen: Vec<_> = copies(&over).map(|line| line[0][0].round()).collect();
        assert_eq!(seen, [0.0, 1.0]);
        assert_eq!(copies(&[[0.4, 0.5], [0.6, 0.5]]).count(), 1);
        assert!(copies(&over).all(|line| Rectangle::around(&line).meets(&HERE)));
    }
}
