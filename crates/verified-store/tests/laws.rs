//! What a store promises, on a disk and in memory alike.

use proptest::prelude::*;
use std::path::Path;
use tempfile::TempDir;
use verified_store::{Hash, Limits, Object, Shortage, Standing, Store, StoreError, Writing};

const LIMITS: Limits = Limits {
    bytes: 4 << 20,
    object_bytes: 1 << 20,
    objects: 100,
    records: 10,
    record_bytes: 1000,
};

/// In memory where that is possible: nothing here needs a real sync.
fn place() -> TempDir {
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    place.expect("a temporary directory")
}

fn sample(len: usize, seed: u8) -> Vec<u8> {
    (0..len as u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed)
        .collect()
}

fn put(store: &Store, bytes: &[u8]) -> Hash {
    let mut writing = store.begin(Some(bytes.len() as u64)).expect("room");
    bytes
        .chunks(10_000)
        .for_each(|part| writing.write(part).expect("room"));
    writing.commit().expect("a good disk")
}

/// Each law holds for both kinds of store.
fn both(limits: Limits, law: impl Fn(Store)) {
    law(Store::in_memory(limits));
    let dir = place();
    law(Store::open(dir.path(), limits).expect("a good disk"));
}

fn on_disk(limits: Limits) -> (TempDir, Store) {
    let dir = place();
    let store = Store::open(dir.path(), limits).expect("a good disk");
    (dir, store)
}

fn files_in(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| match entry.file_type().expect("a type").is_dir() {
            true => files_in(&entry.path()),
            false => 1,
        })
        .sum()
}

/// All of them can be handed to another thread, and a store be shared by all.
const fn are_shared<T: Send + Sync>() {}
const _: () = {
    are_shared::<Store>();
    are_shared::<Object>();
    are_shared::<Writing>();
};

// req: ED-03
#[test]
fn what_was_written_is_read_under_the_hash_of_its_bytes() {
    both(LIMITS, |store| {
        for len in [0, 1, 65_535, 65_536, 65_537, 300_000] {
            let bytes = sample(len, 1);
            let hash = put(&store, &bytes);
            assert_eq!(hash, Hash::of(&bytes));
            let object = store.get(&hash).expect("just written");
            assert_eq!(
                (object.len(), object.hash(), object.is_empty()),
                (len as u64, hash, len == 0)
            );
            assert_eq!(object.whole().expect("undamaged"), bytes);
        }
        assert!(store.get(&Hash::of(b"never written")).is_none());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    // req: ED-03
    #[test]
    fn any_part_is_what_it_is_in_the_whole(
        len in 0..300_000_usize,
        parts in proptest::collection::vec((0..300_100_u64, 0..140_000_usize), 1..8),
    ) {
        both(LIMITS, |store| {
            let bytes = sample(len, 2);
            let object = store.get(&put(&store, &bytes)).expect("just written");
            for (offset, count) in &parts {
                let expected = bytes.get(*offset as usize..).unwrap_or_default();
                let mut buffer = vec![0; *count];
                let read = object.read_at(*offset, &mut buffer).expect("undamaged");
                assert_eq!(buffer[..read], expected[..(*count).min(expected.len())]);
                let piece = object.piece(*offset).expect("undamaged");
                assert!(expected.starts_with(&piece));
                assert_eq!(piece.is_empty(), expected.is_empty());
            }
        });
    }
}

#[test]
fn reading_far_past_the_end_is_reading_nothing() {
    both(LIMITS, |store| {
        let object = store.get(&put(&store, b"short")).expect("just written");
        assert_eq!(object.read_at(u64::MAX, &mut [0; 8]).expect("undamaged"), 0);
        assert_eq!(object.piece(u64::MAX).expect("undamaged"), "");
    });
}

// req: ED-03
#[test]
fn the_same_bytes_twice_are_one_object() {
    let (dir, store) = on_disk(LIMITS);
    let before = files_in(dir.path());
    let (mut one, mut two) = (
        store.begin(None).expect("room"),
        store.begin(None).expect("room"),
    );
    one.write(b"same").expect("room");
    two.write(b"same").expect("room");
    assert_eq!(
        one.commit().expect("a good disk"),
        two.commit().expect("a good disk")
    );
    put(&store, b"same");
    assert_eq!(files_in(dir.path()), before + 1);
    let stats = store.stats();
    assert_eq!(
        (stats.objects, stats.committed, stats.duplicates),
        (1, 1, 2)
    );
}

// req: ED-03
// attack: L-16
#[test]
fn what_is_not_committed_leaves_nothing() {
    both(LIMITS, |store| {
        let mut writing = store.begin(Some(100)).expect("room");
        writing.write(b"half").expect("room");
        assert!(store.get(&Hash::of(b"half")).is_none());
        assert_eq!(writing.len(), 4);
        drop(writing);
        let stats = store.stats();
        assert_eq!((stats.objects, stats.bytes, stats.reserved), (0, 0, 0));
    });
    let (dir, store) = on_disk(LIMITS);
    let before = files_in(dir.path());
    let mut writing = store.begin(None).expect("room");
    writing.write(b"half").expect("room");
    drop(writing);
    assert_eq!(files_in(dir.path()), before);
}

// req: ED-03
// attack: F-19, L-16
#[test]
fn what_is_not_as_announced_is_not_kept() {
    both(LIMITS, |store| {
        let mut short = store.begin(Some(5)).expect("room");
        short.write(b"1234").expect("room");
        assert!(matches!(short.commit(), Err(StoreError::Mismatch)));
        let mut long = store.begin(Some(3)).expect("room");
        assert!(matches!(long.write(b"1234"), Err(StoreError::Mismatch)));
        assert!(
            matches!(long.write(b"1"), Err(StoreError::Closed)),
            "it failed before"
        );
        assert!(matches!(long.commit(), Err(StoreError::Closed)));
        let mut other = store.begin(None).expect("room");
        other.write(b"other").expect("room");
        let other = other.commit_expecting(Hash::of(b"expected"));
        assert!(matches!(other, Err(StoreError::Mismatch)));
        assert_eq!(store.stats().objects, 0);
        assert_eq!(store.standing(), Standing::Good, "no fault of the disk");
        let mut right = store.begin(None).expect("room");
        right.write(b"right").expect("room");
        right.commit_expecting(Hash::of(b"right")).expect("it is");
        assert!(store.contains(&Hash::of(b"right")));
    });
}

// req: ED-03
// attack: F-20
#[test]
fn an_object_over_the_cap_is_refused_as_soon_as_that_is_known() {
    both(LIMITS, |store| {
        let limit = LIMITS.object_bytes;
        let announced = store.begin(Some(limit + 1));
        assert!(matches!(announced, Err(StoreError::TooLarge { limit: told }) if told == limit));
        assert!(matches!(
            store.begin(Some(u64::MAX)),
            Err(StoreError::TooLarge { .. })
        ));
        let mut endless = store.begin(None).expect("room");
        let written = (0..).find_map(|at: u64| endless.write(&[0; 1000]).err().map(|_| at));
        assert_eq!(written, Some(limit / 1000));
        drop(endless);
        assert_eq!(store.stats().reserved, 0);
        let long = store.put_record(&Hash::of(b"k"), &[], &[0; 1001]);
        assert!(matches!(long, Err(StoreError::TooLarge { limit: 1000 })));
        let names = vec![Hash::of(b"x"); 256];
        let many = store.put_record(&Hash::of(b"k"), &names, b"");
        assert!(matches!(many, Err(StoreError::TooLarge { .. })));
    });
}

// req: ED-03
#[test]
fn the_store_never_holds_more_than_its_limits() {
    both(LIMITS, |store| {
        for seed in 0..60 {
            put(&store, &sample(100_000 + usize::from(seed) * 1000, seed));
            assert!(store.stats().bytes <= LIMITS.bytes);
        }
        assert!(store.stats().evicted > 0);
        for seed in 0..120_u8 {
            put(&store, &[seed]);
            let key = Hash::of(&[seed]);
            store.put_record(&key, &[key], b"").expect("room");
            let stats = store.stats();
            assert!(stats.objects <= LIMITS.objects && stats.records <= LIMITS.records);
        }
        assert_eq!((store.stats().objects, store.stats().records), (100, 10));
        assert!(
            store
                .records()
                .all(|(_, record)| store.contains(&record.objects[0]))
        );
    });
}

// req: ED-03
#[test]
fn a_reader_is_never_cut_off_and_full_of_readers_is_full() {
    both(LIMITS, |store| {
        let held: Vec<_> = (0..4)
            .map(|seed| {
                store
                    .get(&put(&store, &sample(900_000, seed)))
                    .expect("just written")
            })
            .collect();
        let refused = store.begin(Some(1_000_000));
        assert!(
            matches!(refused, Err(StoreError::Full(Shortage::InUse))),
            "{refused:?}"
        );
        assert_eq!(store.standing(), Standing::Good, "no fault of the disk");
        for (seed, object) in (0..).zip(&held) {
            assert_eq!(object.whole().expect("undamaged"), sample(900_000, seed));
        }
        drop(held);
        put(&store, &sample(1_000_000, 9));
        assert_eq!(store.stats().objects, 3 + 1);
    });
}

// req: ED-03
#[test]
fn what_is_wanted_outlives_what_is_not() {
    both(LIMITS, |store| {
        let wanted = put(&store, &sample(500_000, 200));
        for seed in 0..40 {
            drop(store.get(&wanted));
            put(&store, &sample(500_000, seed));
        }
        assert!(store.get(&wanted).is_some());
        assert!(store.stats().evicted > 30);
    });
}

#[test]
fn a_record_is_what_was_put_last_until_it_is_removed() {
    both(LIMITS, |store| {
        let (key, object) = (Hash::of(b"key"), put(&store, b"object"));
        assert!(store.record(&key).is_none());
        let missing = store.put_record(&key, &[Hash::of(b"?")], b"");
        assert!(matches!(missing, Err(StoreError::Missing(hash)) if hash == Hash::of(b"?")));
        store.put_record(&key, &[object], b"one").expect("room");
        store.put_record(&key, &[], b"two").expect("room");
        let record = store.record(&key).expect("just put");
        assert_eq!(
            (&record.bytes[..], &record.objects[..]),
            (&b"two"[..], &[][..])
        );
        assert_eq!(store.records().collect::<Vec<_>>(), [(key, record)]);
        assert!(store.remove_record(&key).expect("a good disk"));
        assert!(!store.remove_record(&key).expect("a good disk"));
        assert!(store.record(&key).is_none() && store.records().next().is_none());
    });
}

#[test]
fn a_closed_store_is_read_and_not_written() {
    both(LIMITS, |store| {
        let hash = put(&store, b"before");
        let (mut late, mut ready) = (
            store.begin(None).expect("room"),
            store.begin(None).expect("room"),
        );
        ready.write(b"ready").expect("room");
        store.clone().close();
        assert!(matches!(late.write(b"x"), Err(StoreError::Closed)));
        assert!(matches!(ready.commit(), Err(StoreError::Closed)));
        assert!(matches!(store.begin(None), Err(StoreError::Closed)));
        assert!(matches!(
            store.put_record(&hash, &[], b""),
            Err(StoreError::Closed)
        ));
        assert!(store.get(&hash).is_some());
    });
}
