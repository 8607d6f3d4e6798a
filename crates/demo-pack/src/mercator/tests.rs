use super::{Point, close, join, project, project_line};

fn near(at: Point, expected: Point) {
    let apart = (at[0] - expected[0]).hypot(at[1] - expected[1]);
    assert!(apart < 1e-9, "{at:?} is not {expected:?}");
}

#[test]
fn the_square_is_the_world_up_to_its_known_latitude() {
    near(project([0.0, 0.0]), [0.5, 0.5]);
    near(project([90.0, 0.0]), [0.75, 0.5]);
    near(project([0.0, 85.051_128_779_806_6]), [0.5, 0.0]);
    near(project([0.0, -85.051_128_779_806_6]), [0.5, 1.0]);
    let [_, y] = project([0.0, -90.0]);
    assert!(y > 1.1 && y.is_finite());
}

#[test]
fn a_line_over_the_antimeridian_does_not_jump() {
    let line = [[170.0, 0.0], [180.0, 0.0], [-180.0, 0.0], [-170.0, 0.0]];
    let flat = project_line(&line);
    for (at, expected) in flat.iter().zip([170.0, 180.0, 180.0, 190.0]) {
        near(*at, [expected / 360.0 + 0.5, 0.5]);
    }
}

#[test]
fn lines_that_meet_on_the_antimeridian_are_joined_there() {
    let (west, east) = ([[0.9, 0.5], [1.0, 0.5]], [[0.0, 0.5], [0.1, 0.5]]);
    let whole = join([west.iter().collect::<Vec<_>>(), east.iter().collect()]);
    assert_eq!(whole.len(), 3);
    near(whole[2], [1.1, 0.5]);
}

#[test]
fn a_ring_around_a_pole_is_closed_beyond_it_and_others_stay() {
    let coast: Vec<Point> = vec![[0.2, 0.9], [0.7, 0.8], [1.2, 0.9]];
    let closed = close(coast.clone());
    assert_eq!(closed.first(), closed.last());
    assert_eq!(closed[3..5], [[1.2, 1.5], [0.2, 1.5]]);
    let island = vec![[0.2, 0.9], [0.7, 0.8], [0.2, 0.9]];
    assert_eq!(close(island.clone()), island);
}
