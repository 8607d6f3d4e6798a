use super::{Rectangle, clip_line, clip_ring};
use crate::mercator::Point;
use proptest::prelude::*;

const UNIT: Rectangle = Rectangle {
    low: [0.0, 0.0],
    high: [1.0, 1.0],
};

fn area(ring: &[Point]) -> f64 {
    let cross = |pair: &[Point]| pair[0][0] * pair[1][1] - pair[1][0] * pair[0][1];
    ring.windows(2).map(cross).sum::<f64>() / 2.0
}

#[test]
fn a_ring_around_the_rectangle_becomes_the_rectangle() {
    let around = [
        [-1.0, -1.0],
        [3.0, -1.0],
        [3.0, 3.0],
        [-1.0, 3.0],
        [-1.0, -1.0],
    ];
    let clipped = clip_ring(&around, &UNIT);
    assert_eq!(area(&clipped), 1.0);
    assert_eq!(clipped.first(), clipped.last());
}

#[test]
fn a_ring_outside_is_nothing() {
    let outside = [[2.0, 2.0], [3.0, 2.0], [3.0, 3.0], [2.0, 2.0]];
    assert!(clip_ring(&outside, &UNIT).is_empty());
    assert!(!UNIT.meets(&Rectangle::around(&outside)));
}

#[test]
fn a_line_that_leaves_and_returns_is_two_pieces() {
    let line = [[0.2, 0.5], [0.2, 2.0], [0.8, 2.0], [0.8, 0.5]];
    let pieces = clip_line(&line, &UNIT);
    assert_eq!(pieces, [[[0.2, 0.5], [0.2, 1.0]], [[0.8, 1.0], [0.8, 0.5]]]);
}

proptest! {
    /// Two halves of a plane share no area and lose none.
    #[test]
    fn halves_of_a_ring_add_up(points in prop::collection::vec(prop::array::uniform2(-2.0..2.0_f64), 3..20)) {
        let mut ring = points;
        ring.push(ring[0]);
        let half = |low: f64, high: f64| Rectangle { low: [low, -9.0], high: [high, 9.0] };
        let (west, east) = (clip_ring(&ring, &half(-9.0, 0.0)), clip_ring(&ring, &half(0.0, 9.0)));
        prop_assert!((area(&west) + area(&east) - area(&ring)).abs() < 1e-9);
    }

    #[test]
    fn nothing_clipped_lies_outside(points in prop::collection::vec(prop::array::uniform2(-2.0..2.0_f64), 2..20)) {
        let inside = |at: &Point| at.iter().all(|value| (-1e-9..=1.0 + 1e-9).contains(value));
        prop_assert!(clip_line(&points, &UNIT).iter().flatten().all(inside));
        prop_assert!(clip_ring(&points, &UNIT).iter().all(inside));
    }
}
