//! What of a line or a ring lies within a rectangle.

use crate::mercator::Point;

pub(crate) struct Rectangle {
    pub(crate) low: Point,
    pub(crate) high: Point,
}

impl Rectangle {
    pub(crate) fn around(points: &[Point]) -> Self {
        let mut bounds = Self {
            low: [f64::MAX; 2],
            high: [f64::MIN; 2],
        };
        for point in points {
            for (axis, value) in point.iter().enumerate() {
                bounds.low[axis] = bounds.low[axis].min(*value);
                bounds.high[axis] = bounds.high[axis].max(*value);
            }
        }
        bounds
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        [0, 1]
            .into_iter()
            .all(|axis| self.low[axis] <= other.high[axis] && other.low[axis] <= self.high[axis])
    }

    fn sides(&self) -> [Side; 4] {
        let side = |axis: usize, sign: f64, limit: f64| Side { axis, sign, limit };
        [
            side(0, 1.0, self.low[0]),
            side(0, -1.0, self.high[0]),
            side(1, 1.0, self.low[1]),
            side(1, -1.0, self.high[1]),
        ]
    }
}

/// A half plane: what is at `limit` on `axis`, and beyond it in the direction of `sign`.
#[derive(Clone, Copy)]
struct Side {
    axis: usize,
    sign: f64,
    limit: f64,
}

impl Side {
    fn holds(self, point: Point) -> bool {
        (point[self.axis] - self.limit) * self.sign >= 0.0
    }

    /// Where the segment crosses; one end is inside and the other is not.
    fn crossing(self, from: Point, to: Point) -> Point {
        let share = (self.limit - from[self.axis]) / (to[self.axis] - from[self.axis]);
        let mut at = [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]));
        at[self.axis] = self.limit;
        at
    }
}

/// Sutherland and Hodgman: a closed ring in, one closed ring out, which may run along the edge; empty when outside.
pub(crate) fn clip_ring(ring: &[Point], within: &Rectangle) -> Vec<Point> {
    let mut points = ring.to_vec();
    for side in within.sides() {
        points = halve_ring(&points, side);
    }
    points
}

fn halve_ring(ring: &[Point], side: Side) -> Vec<Point> {
    let mut kept = Vec::with_capacity(ring.len());
    for pair in ring.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        match (side.holds(from), side.holds(to)) {
            (true, true) => kept.push(to),
            (true, false) => kept.push(side.crossing(from, to)),
            (false, true) => kept.extend([side.crossing(from, to), to]),
            (false, false) => (),
        }
    }
    kept.extend(kept.first().copied());
    kept
}

/// The pieces of a line that lie inside, in order.
pub(crate) fn clip_line(line: &[Point], within: &Rectangle) -> Vec<Vec<Point>> {
    let mut pieces = vec![line.to_vec()];
    for side in within.sides() {
        pieces = pieces
            .iter()
            .flat_map(|piece| halve_line(piece, side))
            .collect();
    }
    pieces
}

fn halve_line(line: &[Point], side: Side) -> Vec<Vec<Point>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Point> = line
        .first()
        .copied()
        .filter(|at| side.holds(*at))
        .into_iter()
        .collect();
    for pair in line.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        match (side.holds(from), side.holds(to)) {
            (true, true) => piece.push(to),
            (true, false) => {
                piece.push(side.crossing(from, to));
                pieces.push(std::mem::take(&mut piece));
            }
            (false, true) => piece.extend([side.crossing(from, to), to]),
            (false, false) => (),
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

#[cfg(test)]
mod tests;
