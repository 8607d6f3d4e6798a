use proptest::prelude::*;

use super::*;

fn address(z: u8, x: u32, y: u32) -> TileAddress {
    TileAddress::new(z, x, y).unwrap()
}

// req: ED-01
#[test]
fn known_tiles_have_their_known_numbers() {
    for (z, x, y, id) in [
        (0, 0, 0, 0),
        (1, 0, 0, 1),
        (1, 0, 1, 2),
        (1, 1, 1, 3),
        (1, 1, 0, 4),
        (2, 0, 0, 5),
        (12, 3423, 1763, 19_078_479),
    ] {
        assert_eq!(address(z, x, y).id(), id);
    }
}

// attack: L-06
#[test]
fn tiles_outside_the_square_do_not_exist() {
    assert_eq!(TileAddress::new(0, 1, 0), None);
    assert_eq!(TileAddress::new(3, 0, 8), None);
    assert_eq!(TileAddress::new(31, u32::MAX, 0), None);
    assert_eq!(TileAddress::new(32, 0, 0), None);
    assert_eq!(TileAddress::new(255, 0, 0), None);
}

#[test]
fn numbers_end_with_zoom_31() {
    let last = TileAddress::from_id(LAST_ID).unwrap();
    assert_eq!((last.z(), last.id()), (31, LAST_ID));
    assert_eq!(TileAddress::from_id(LAST_ID + 1), None);
    assert_eq!(TileAddress::from_id(u64::MAX), None);
}

#[test]
fn neighbours_on_the_curve_touch() {
    for z in 1..=6 {
        for id in first_id(z)..last_id(z) {
            let here = TileAddress::from_id(id).unwrap();
            let next = TileAddress::from_id(id + 1).unwrap();
            assert_eq!(here.x().abs_diff(next.x()) + here.y().abs_diff(next.y()), 1);
        }
    }
}

#[test]
fn rows_from_the_south_turn_the_square_over() {
    assert_eq!(address(0, 0, 0).tms_row(), 0);
    assert_eq!(address(3, 0, 0).tms_row(), 7);
    assert_eq!(address(31, 0, (1 << 31) - 1).tms_row(), 0);
}

proptest! {
    #[test]
    fn an_address_survives_its_number(id in 0..=LAST_ID) {
        let address = TileAddress::from_id(id).unwrap();
        prop_assert_eq!(address.id(), id);
        prop_assert_eq!(TileAddress::new(address.z(), address.x(), address.y()), Some(address));
    }

    #[test]
    fn a_number_survives_its_address(z in 0_u8..=31, x: u32, y: u32) {
        let mask = ((1_u64 << z) - 1) as u32;
        let address = address(z, x & mask, y & mask);
        prop_assert_eq!(TileAddress::from_id(address.id()), Some(address));
    }
}
