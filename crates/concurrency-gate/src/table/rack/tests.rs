use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Three homes and two tags for all: shelves overflow, and tags say little.
fn crowded(key: u32) -> u64 {
    u64::from(key % 3) | u64::from(key % 2) << 57
}

fn scattered(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

type Entry = Box<(u32, u32)>;

#[derive(Clone, Debug)]
enum Step {
    Add(u32),
    Remove(u32),
    Keep { modulus: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..80_u32).prop_map(Step::Add),
        6 => (0..80_u32).prop_map(Step::Remove),
        1 => (1..5_u32).prop_map(|modulus| Step::Keep { modulus }),
    ]
}

fn follows_a_map(hash: fn(u32) -> u64, steps: Vec<Step>) {
    let mut rack: Rack<Entry> = Rack::new();
    let mut map = BTreeMap::new();
    let hash_of = |entry: &Entry| hash(entry.0);
    for (value, step) in steps.into_iter().enumerate() {
        match step {
            Step::Add(key) => {
                let value = value as u32;
                match rack.find_mut(hash(key), |entry| entry.0 == key) {
                    Some(entry) => entry.1 = value,
                    None => rack.insert(hash(key), Box::new((key, value)), hash_of),
                }
                map.insert(key, value);
            }
            Step::Remove(key) => {
                let removed = rack.remove(hash(key), |entry| entry.0 == key);
                assert_eq!(removed.map(|entry| entry.1), map.remove(&key));
            }
            Step::Keep { modulus } => {
                rack.retain(hash_of, |entry| entry.0 % modulus == 0);
                map.retain(|key, _| key % modulus == 0);
            }
        }
        for key in 0..80 {
            let found = rack.find(hash(key), |entry| entry.0 == key);
            assert_eq!(found.map(|entry| entry.1), map.get(&key).copied());
        }
        let all: BTreeMap<u32, u32> = rack.iter().map(|entry| **entry).collect();
        assert_eq!(all, map);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // req: GT-05
    #[test]
    fn it_holds_what_a_map_holds(steps in proptest::collection::vec(step(), 1..150)) {
        follows_a_map(crowded, steps.clone());
        follows_a_map(scattered, steps);
    }
}

#[test]
fn a_shelf_of_pointers_is_a_cache_line() {
    assert_eq!(size_of::<Shelf<Box<u8>>>(), 64);
    assert_eq!(align_of::<Shelf<Box<u8>>>(), 64);
}

#[test]
fn a_count_too_high_to_keep_loses_nobody() {
    let mut rack: Rack<Entry> = Rack::new();
    // All at home on the same shelf.
    for key in 0..1_000 {
        rack.insert(0, Box::new((key, key)), |_| 0);
    }
    for key in (0..1_000).filter(|key| key % 10 != 0) {
        assert!(rack.remove(0, |entry| entry.0 == key).is_some());
    }
    for key in 0..1_000 {
        let found = rack.find(0, |entry| entry.0 == key);
        assert_eq!(found.is_some(), key % 10 == 0, "{key}");
    }
}

// req: GT-11
#[test]
fn room_that_is_not_needed_is_given_back() {
    let mut rack: Rack<Entry> = Rack::new();
    let hash_of = |entry: &Entry| scattered(entry.0);
    for key in 0..10_000 {
        rack.insert(scattered(key), Box::new((key, key)), hash_of);
    }
    rack.retain(hash_of, |entry| entry.0 < 10);
    assert!(rack.shelves.len() <= 4, "{}", rack.shelves.len());
    rack.retain(hash_of, |_| false);
    assert_eq!(rack.iter().count(), 0);
    assert!(rack.shelves.len() <= 1);
}
