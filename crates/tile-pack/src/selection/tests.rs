use proptest::prelude::*;

use super::*;

const FLORENCE: Bounds = Bounds {
    west: 11.15,
    south: 43.72,
    east: 11.32,
    north: 43.83,
};

fn tiles(selection: &Selection, z: u8) -> Vec<(u32, u32)> {
    (first_id(z)..=last_id(z))
        .filter_map(TileAddress::from_id)
        .filter(|at| selection.contains(*at))
        .map(|at| (at.x(), at.y()))
        .collect()
}

#[test]
fn a_town_is_one_tile_until_it_is_near() {
    let selection = Selection::new(0, 10, Some(FLORENCE)).unwrap();
    assert_eq!(tiles(&selection, 0), [(0, 0)]);
    assert_eq!(tiles(&selection, 1), [(1, 0)]);
    assert_eq!(tiles(&selection, 7), [(68, 46), (67, 46)]);
    let near = TileAddress::new(11, 1087, 746).unwrap();
    assert!(!selection.contains(near));
}

#[test]
fn bounds_may_cross_the_date_line() {
    let pacific = Bounds {
        west: 170.0,
        south: -10.0,
        east: -170.0,
        north: 10.0,
    };
    let selection = Selection::new(0, 5, Some(pacific)).unwrap();
    let columns: Vec<u32> = tiles(&selection, 3).into_iter().map(|(x, _)| x).collect();
    assert!(columns.contains(&0) && columns.contains(&7));
    assert_eq!(columns.len(), 4);
}

#[test]
fn nonsense_selects_nothing() {
    let upside_down = Bounds {
        south: 50.0,
        north: 40.0,
        ..FLORENCE
    };
    let nowhere = Bounds {
        west: f64::NAN,
        ..FLORENCE
    };
    assert_eq!(Selection::new(5, 4, None), None);
    assert_eq!(Selection::new(0, 4, Some(upside_down)), None);
    assert_eq!(Selection::new(0, 4, Some(nowhere)), None);
}

#[test]
fn the_poles_fall_on_the_last_rows() {
    let world = Bounds {
        west: -180.0,
        south: -90.0,
        east: 180.0,
        north: 90.0,
    };
    let selection = Selection::new(0, 31, Some(world)).unwrap();
    assert_eq!(tiles(&selection, 3).len(), 64);
}

proptest! {
    #[test]
    fn a_tile_shows_the_middle_of_what_it_covers(z in 0_u8..=24, x: u32, y: u32) {
        let mask = (1_u32 << z) - 1;
        let (x, y) = (x & mask, y & mask);
        let covers = covered(z, (x, x), (y, y));
        let middle = Bounds {
            west: (covers.west + covers.east) / 2.0,
            east: (covers.west + covers.east) / 2.0,
            south: (covers.south + covers.north) / 2.0,
            north: (covers.south + covers.north) / 2.0,
        };
        let selection = Selection::new(z, z, Some(middle)).unwrap();
        prop_assert!(selection.contains(TileAddress::new(z, x, y).unwrap()));
    }
}
