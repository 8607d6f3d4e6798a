//! Fewer points by Douglas and Peucker: none left out lies farther from the line than the tolerance.

use crate::mercator::Point;

/// Both ends stay, so arcs that met before still meet.
pub(crate) fn simplify(line: &[Point], tolerance: f64) -> Vec<Point> {
    if line.len() < 3 {
        return line.to_vec();
    }
    let mut kept = vec![false; line.len()];
    (kept[0], kept[line.len() - 1]) = (true, true);
    let mut spans = vec![(0, line.len() - 1)];
    while let Some((first, last)) = spans.pop() {
        let Some((middle, distance)) = farthest(line, first, last) else {
            continue;
        };
        if distance > tolerance {
            kept[middle] = true;
            spans.extend([(first, middle), (middle, last)]);
        }
    }
    let points = line.iter().zip(kept);
    points
        .filter_map(|(point, kept)| kept.then_some(*point))
        .collect()
}

fn farthest(line: &[Point], first: usize, last: usize) -> Option<(usize, f64)> {
    let between = first + 1..last;
    let distances = between.map(|at| (at, distance(line[at], line[first], line[last])));
    distances.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// From a point to a segment, which may be a single point: the arc of an island ends where it began.
fn distance(point: Point, from: Point, to: Point) -> f64 {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let (px, py) = (point[0] - from[0], point[1] - from[1]);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 {
        ((px * dx + py * dy) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (px - along * dx).hypot(py - along * dy)
}

#[cfg(test)]
mod tests {
    use super::{distance, simplify};
    use proptest::prelude::*;

    #[test]
    fn a_straight_line_keeps_its_ends_only() {
        let line: Vec<_> = (0..50)
            .map(|at| [f64::from(at), 2.0 * f64::from(at)])
            .collect();
        assert_eq!(simplify(&line, 0.01), [line[0], line[49]]);
    }

    #[test]
    fn a_closed_line_does_not_collapse() {
        let square = [[0.0, 0.0], [0.0, 8.0], [8.0, 8.0], [8.0, 0.0], [0.0, 0.0]];
        assert_eq!(simplify(&square, 1.0), square);
    }

    proptest! {
        #[test]
        fn every_point_stays_within_the_tolerance(
            line in prop::collection::vec(prop::array::uniform2(-100.0..100.0_f64), 2..60),
            tolerance in 0.1..50.0_f64,
        ) {
            let simple = simplify(&line, tolerance);
            prop_assert_eq!(simple[0], line[0]);
            prop_assert_eq!(simple.last(), line.last());
            for point in &line {
                let nearest = simple.windows(2).map(|pair| distance(*point, pair[0], pair[1]));
                prop_assert!(nearest.fold(f64::MAX, f64::min) <= tolerance);
            }
        }
    }
}
