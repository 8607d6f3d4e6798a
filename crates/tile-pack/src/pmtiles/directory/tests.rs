use proptest::prelude::*;

use super::*;

const FRAME: Frame = Frame {
    tiles: 1 << 40,
    leaves: 1 << 40,
    max_zoom: 31,
};

fn entry(id: u64, offset: u64, length: u32, run: u32) -> Entry {
    Entry {
        id,
        offset,
        length,
        run,
    }
}

fn bytes(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        varint::put(&mut bytes, *number);
    }
    bytes
}

fn fault(numbers: &[u64], frame: Frame) -> Fault {
    Directory::decode(&bytes(numbers), frame).unwrap_err()
}

// req: ED-01
#[test]
fn a_tile_is_found_within_its_run_and_nowhere_else() {
    let entries = [entry(5, 0, 10, 1), entry(7, 10, 10, 3), entry(20, 0, 9, 0)];
    let directory = Directory::decode(&encode(&entries), FRAME).unwrap();
    for (id, found) in [
        (0, None),
        (5, Some(0)),
        (6, None),
        (7, Some(1)),
        (9, Some(1)),
        (10, None),
        (19, None),
        (20, Some(2)),
        (u64::MAX, Some(2)),
    ] {
        assert_eq!(
            directory.find(id),
            found.map(|at: usize| &entries[at]),
            "{id}"
        );
    }
}

#[test]
fn an_offset_of_zero_continues_where_the_last_entry_ended() {
    let directory = Directory::decode(&bytes(&[2, 0, 1, 1, 1, 10, 20, 6, 0]), FRAME).unwrap();
    assert_eq!(
        directory.entries(),
        [entry(0, 5, 10, 1), entry(1, 15, 20, 1)]
    );
}

// req: ED-02
// attack: L-19
#[test]
fn a_count_beyond_the_bytes_is_refused_before_allocation() {
    for count in [2, 1000, 1 << 32, 1 << 60, u64::MAX] {
        assert_eq!(fault(&[count, 0, 1, 1, 1], FRAME), Fault::Count, "{count}");
    }
}

#[test]
fn a_directory_without_entries_is_refused() {
    assert_eq!(fault(&[0], FRAME), Fault::Empty);
    assert_eq!(Directory::decode(&[], FRAME), Err(Fault::Number));
}

// attack: L-19
#[test]
fn the_first_offset_is_not_zero() {
    assert_eq!(fault(&[1, 0, 1, 1, 0], FRAME), Fault::Place);
}

// attack: L-19
#[test]
fn a_tile_without_bytes_is_refused() {
    assert_eq!(fault(&[1, 0, 1, 0, 1], FRAME), Fault::Place);
}

// attack: L-19
#[test]
fn numbers_that_overflow_are_refused() {
    assert_eq!(
        fault(&[2, u64::MAX, 1, 1, 1, 1, 1, 1, 1], FRAME),
        Fault::TileId
    );
    assert_eq!(fault(&[1, LAST_ID + 1, 1, 1, 1], FRAME), Fault::TileId);
    assert_eq!(fault(&[1, 0, 1 << 32, 1, 1], FRAME), Fault::TileId);
    assert_eq!(fault(&[1, 0, 1, 1 << 32, 1], FRAME), Fault::Place);
    assert_eq!(fault(&[1, 0, 1, 1, u64::MAX], FRAME), Fault::Place);
    assert_eq!(
        fault(&[2, 0, 1, 1, 1, u64::from(u32::MAX), 9, u64::MAX, 0], FRAME),
        Fault::Place
    );
}

// attack: L-19
#[test]
fn a_run_past_the_last_zoom_is_refused() {
    let run = u64::from(u32::MAX);
    let shallow = Frame {
        max_zoom: 14,
        ..FRAME
    };
    assert_eq!(fault(&[1, 0, run, 1, 1], shallow), Fault::TileId);
    assert_eq!(fault(&[1, LAST_ID - 5, run, 1, 1], FRAME), Fault::TileId);
    // A single tile beyond it is a slip of the header.
    Directory::decode(&bytes(&[1, first_id_of(15), 1, 1, 1]), shallow).unwrap();
}

fn first_id_of(z: u8) -> u64 {
    crate::address::first_id(z)
}

// attack: L-19
#[test]
fn entries_that_overlap_or_repeat_are_refused() {
    assert_eq!(fault(&[2, 4, 0, 1, 1, 1, 1, 1, 1], FRAME), Fault::Order);
    assert_eq!(fault(&[2, 4, 2, 3, 1, 1, 1, 1, 1], FRAME), Fault::Order);
    assert_eq!(fault(&[2, 4, 0, 0, 0, 1, 1, 1, 1], FRAME), Fault::Order);
}

// attack: L-19, E-17
#[test]
fn entries_outside_their_section_are_refused() {
    let small = Frame {
        tiles: 10,
        leaves: 5,
        max_zoom: 31,
    };
    Directory::decode(&bytes(&[1, 0, 1, 5, 6]), small).unwrap();
    assert_eq!(fault(&[1, 0, 1, 5, 7], small), Fault::Place);
    Directory::decode(&bytes(&[1, 0, 0, 5, 1]), small).unwrap();
    assert_eq!(fault(&[1, 0, 0, 5, 2], small), Fault::Place);
}

#[test]
fn a_directory_cut_short_is_refused_at_every_byte() {
    let whole = encode(&[entry(5, 0, 1000, 1), entry(700, 1000, 1000, 3)]);
    for length in 0..whole.len() {
        assert!(
            Directory::decode(&whole[..length], FRAME).is_err(),
            "{length}"
        );
    }
}

/// Entries that a writer may make.
fn lawful() -> impl Strategy<Value = Vec<Entry>> {
    let part = (1_u64..1 << 40, 0_u64..1 << 39, 1_u32..1 << 30, 0_u32..5);
    proptest::collection::vec(part, 1..200).prop_map(|parts| {
        let mut free = 0;
        parts
            .into_iter()
            .map(|(gap, offset, length, run)| {
                let id = free + gap - 1;
                free = id + u64::from(run).max(1);
                entry(id, offset, length, run)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn lawful_entries_survive(entries in lawful()) {
        let directory = Directory::decode(&encode(&entries), FRAME).unwrap();
        prop_assert_eq!(directory.entries(), &entries[..]);
    }

    #[test]
    fn finding_is_the_same_as_looking_at_all(entries in lawful(), id in 0_u64..1 << 46) {
        let directory = Directory::decode(&encode(&entries), FRAME).unwrap();
        let before = entries.iter().rev().find(|entry| entry.id <= id);
        let found = before.filter(|entry| entry.is_leaf() || id - entry.id < entry.run.into());
        prop_assert_eq!(directory.find(id), found);
    }

    #[test]
    fn what_any_bytes_become_keeps_its_promises(bytes: Vec<u8>) {
        if let Ok(directory) = Directory::decode(&bytes, FRAME) {
            prop_assert!(directory.entries().len() <= bytes.len() / ENTRY_BYTES_MIN);
            prop_assert_eq!(check(directory.entries(), FRAME), Ok(()));
            let again = Directory::decode(&encode(directory.entries()), FRAME).unwrap();
            prop_assert_eq!(again, directory);
        }
    }
}
