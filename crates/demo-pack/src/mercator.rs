//! Web Mercator: degrees to the unit square, in which the tiles of each zoom are a grid.
//!
//! East of the square the world begins again: what crosses the antimeridian runs on beyond 0 or 1.

use std::f64::consts::PI;

/// Two coordinates, east or right first.
pub(crate) type Point = [f64; 2];

/// Beyond this the projection runs off to infinity; the square ends at 85.05 already.
const LATITUDE_MAX: f64 = 89.5;

/// Where a ring around a pole is closed: outside of every tile.
const BEYOND_THE_POLES: [f64; 2] = [-0.5, 1.5];

/// A line in degrees, on the plane without a jump.
pub(crate) fn project_line(line: &[Point]) -> Vec<Point> {
    let mut flat: Vec<Point> = Vec::with_capacity(line.len());
    for point in line {
        let point = project(*point);
        let by = flat.last().map_or(0.0, |last| shift_towards(*last, point));
        flat.push([point[0] + by, point[1]]);
    }
    flat
}

pub(crate) fn project([longitude, latitude]: Point) -> Point {
    let latitude = latitude.clamp(-LATITUDE_MAX, LATITUDE_MAX).to_radians();
    let x = longitude / 360.0 + 0.5;
    let y = 0.5 - (latitude.tan() + 1.0 / latitude.cos()).ln() / (2.0 * PI);
    [x, y]
}

/// How many worlds `next` has to be moved to lie nearest to `last`.
fn shift_towards(last: Point, next: Point) -> f64 {
    (last[0] - next[0]).round()
}

/// One line of several that follow each other, the point where two meet once. One may begin a world away.
pub(crate) fn join<'a>(lines: impl IntoIterator<Item = Vec<&'a Point>>) -> Vec<Point> {
    let mut whole: Vec<Point> = Vec::new();
    for line in lines {
        let by = match (whole.pop(), line.first()) {
            (Some(last), Some(first)) => shift_towards(last, **first),
            _ => 0.0,
        };
        whole.extend(line.into_iter().map(|[x, y]| [x + by, *y]));
    }
    whole
}

/// A ring that ends a world away from its beginning goes around a pole, and is closed beyond it.
pub(crate) fn close(mut ring: Vec<Point>) -> Vec<Point> {
    let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied()) else {
        return ring;
    };
    if (first[0] - last[0]).abs() > 0.5 {
        let [north, south] = BEYOND_THE_POLES;
        let pole = if first[1] > 0.5 { south } else { north };
        ring.extend([[last[0], pole], [first[0], pole], first]);
    }
    ring
}

#[cfg(test)]
mod tests;
