//! Errors of the disk: each costs the write it hit, and nothing else.

use super::model::{ROOMY, TIGHT, cases, content, name, ops, write};
use super::place::Place;
use crate::files::faulty::{Faulty, Plan};
use crate::{Hash, Limits, Shortage, Standing, Store, StoreError, Why};
use libc::{EDQUOT, EIO, EMFILE, ENOSPC, EROFS};
use proptest::prelude::*;
use std::sync::{Arc, Barrier};

fn opened(limits: Limits) -> (Place, Arc<Faulty>, Store) {
    let place = Place::furnished(limits);
    let disk = place.disk(Plan::Nothing);
    let store = Store::open_with(disk.clone(), &place.dir, limits).expect("a good disk");
    (place, disk, store)
}

fn degraded(why: Why) -> Standing {
    Standing::Degraded { why }
}

proptest! {
    #![proptest_config(cases(5))]

    // req: ED-03
    // attack: J-01, J-02, J-03
    #[test]
    fn an_error_at_any_step_breaks_no_promise_and_shows_nothing_partial(
        ops in ops(),
        seed: u64,
        number in prop_oneof![Just(EIO), Just(ENOSPC)],
    ) {
        let steps = Place::furnished(ROOMY).survives(&ops, ROOMY, Plan::Nothing, seed);
        for step in 0..steps {
            Place::furnished(ROOMY).survives(&ops, ROOMY, Plan::Error(step, number), seed);
            Place::furnished(TIGHT).survives(&ops, TIGHT, Plan::ErrorsFrom(step, number), seed);
        }
    }
}

// req: ED-03
// attack: J-03
#[test]
fn what_could_not_be_synced_is_not_there_and_is_written_anew() {
    let (place, disk, store) = opened(ROOMY);
    disk.plan(Plan::Always("sync", EIO));
    let failed = write(&store, content(2));
    assert!(matches!(failed, Err(StoreError::Io(_))), "{failed:?}");
    assert!(store.get(&name(2)).is_none());
    assert_eq!(store.standing(), degraded(Why::Failing));
    assert_eq!(store.stats().reserved, 0);

    disk.plan(Plan::Nothing);
    write(&store, content(2)).expect("a new file, a new sync");
    assert_eq!(store.standing(), Standing::Good);
    drop(store);
    disk.lose_power(1);
    let bytes = place
        .opened(ROOMY)
        .get(&name(2))
        .map(|object| object.whole());
    assert!(bytes.is_some_and(|bytes| bytes.is_ok_and(|bytes| bytes == content(2))));
}

// attack: J-03
#[test]
fn a_record_that_could_not_be_synced_is_gone_and_the_log_is_written_anew() {
    for seed in 0..8 {
        let (place, disk, store) = opened(ROOMY);
        let (key, other) = (Hash::of(b"key"), Hash::of(b"other"));
        store
            .put_record(&other, &[], b"stays")
            .expect("a good disk");
        disk.plan(Plan::Always("sync", EIO));
        assert!(store.put_record(&key, &[], b"lost").is_err());
        assert!(store.record(&key).is_none());
        disk.plan(Plan::Nothing);
        // A second sync of the same file would succeed, and its bytes be lost all the same.
        store.put_record(&key, &[], b"kept").expect("a new log");
        drop(store);
        disk.lose_power(seed);
        let store = place.opened(ROOMY);
        assert_eq!(store.record(&key).expect("synced").bytes, "kept");
        assert_eq!(store.record(&other).expect("synced").bytes, "stays");
    }
}

// req: ED-03
// attack: J-01, J-07
#[test]
fn a_full_disk_costs_the_write_and_one_at_a_time_tries_again() {
    for number in [ENOSPC, EDQUOT] {
        for step in ["create", "write", "sync", "rename"] {
            let (place, disk, store) = opened(ROOMY);
            write(&store, content(1)).expect("there is room");
            disk.plan(Plan::Always(step, number));
            let failed = write(&store, content(2));
            assert!(
                matches!(failed, Err(StoreError::Full(Shortage::Disk))),
                "{step}: {failed:?}"
            );
            assert_eq!(store.standing(), degraded(Why::Full));
            assert!(store.get(&name(2)).is_none());
            assert!(store.get(&name(1)).is_some(), "what is there is served");
            assert_eq!(store.stats().reserved, 0);
            assert_eq!(temps(&place), 0, "{step} left its file");

            disk.plan(Plan::Nothing);
            let trying = store.begin(None).expect("one may try");
            assert!(
                matches!(store.begin(None), Err(StoreError::Full(_))),
                "the others know"
            );
            drop(trying);
            write(&store, content(2)).expect("there is room again");
            assert_eq!(store.standing(), Standing::Good);
        }
    }
}

fn temps(place: &Place) -> usize {
    let temps = std::fs::read_dir(place.dir.join("tmp"));
    temps.expect("a directory").count()
}

// attack: J-04
#[test]
fn a_disk_that_turns_read_only_serves_all_that_is_there() {
    let (_place, disk, store) = opened(TIGHT);
    write(&store, content(4)).expect("a good disk");
    disk.plan(Plan::ErrorsFrom(0, EROFS));
    for object in [1, 2, 3, 5] {
        assert!(matches!(
            write(&store, content(object)),
            Err(StoreError::ReadOnly)
        ));
    }
    assert_eq!(store.standing(), degraded(Why::ReadOnly));
    let bytes = store
        .get(&name(4))
        .expect("nothing made room for what could not come")
        .whole();
    assert_eq!(bytes.expect("whole"), content(4));
    assert_eq!(store.stats().evicted, 0);
}

// req: ED-03
// attack: J-02
#[test]
fn what_the_disk_does_not_give_back_is_quarantined_and_can_be_written_again() {
    let (_place, disk, store) = opened(ROOMY);
    let hash = write(&store, content(5)).expect("a good disk");
    store
        .put_record(&name(0), &[hash], b"goes along")
        .expect("a good disk");
    let object = store.get(&hash).expect("just written");
    disk.plan(Plan::Always("read", EIO));
    assert!(matches!(object.whole(), Err(StoreError::Damaged)));
    disk.plan(Plan::Nothing);
    assert!(store.get(&hash).is_none(), "gone while it is still held");
    assert!(store.record(&name(0)).is_none());
    let stats = store.stats();
    assert_eq!(
        (stats.quarantined, stats.unreadable, stats.objects),
        (1, 1, 0)
    );
    assert!(
        stats.bytes > 0,
        "its space is taken until the reader leaves"
    );

    write(&store, content(5)).expect("a good disk");
    drop(object);
    let again = store.get(&hash).expect("written again").whole();
    assert_eq!(again.expect("whole"), content(5));
}

// attack: J-06
#[test]
fn a_process_without_free_descriptors_loses_no_objects() {
    let (_place, disk, store) = opened(ROOMY);
    let hash = write(&store, content(1)).expect("a good disk");
    disk.plan(Plan::Always("open", EMFILE));
    assert!(store.get(&hash).is_none());
    disk.plan(Plan::Nothing);
    assert!(store.get(&hash).is_some());
    assert_eq!(store.stats().quarantined, 0);
}

// attack: J-01
#[test]
fn a_record_can_be_removed_for_good_on_a_full_disk() {
    let (place, disk, store) = opened(ROOMY);
    let keys: Vec<Hash> = (0..100_u8).map(|key| Hash::of(&[key])).collect();
    for key in &keys {
        store.put_record(key, &[], &[7; 1000]).expect("a good disk");
    }
    let full_at = std::fs::metadata(place.dir.join("records.log"))
        .expect("a log")
        .len();
    disk.full_beyond(full_at);
    let mut refused = 0;
    for number in 0..200_u8 {
        refused += u32::from(
            store
                .put_record(&Hash::of(&[number, 1]), &[], &[7; 1000])
                .is_err(),
        );
    }
    assert!(refused > 0, "the disk is full");
    for key in &keys {
        assert!(store.remove_record(key).expect("room was kept for this"));
    }
    drop(store);
    disk.lose_power(5);
    let store = place.opened(ROOMY);
    assert!(keys.iter().all(|key| store.record(key).is_none()));
}

// attack: J-09
#[test]
fn a_disk_that_stalls_one_holds_up_no_other() {
    for step in ["create", "write", "sync", "rename", "sync_dir", "remove"] {
        let (_place, disk, store) = opened(TIGHT);
        write(&store, content(2)).expect("a good disk");
        write(&store, content(4)).expect("a good disk");
        store
            .put_record(&name(2), &[name(2)], b"head")
            .expect("a good disk");
        let barrier = Arc::new(Barrier::new(2));
        disk.stall(step, &barrier);
        let (written, seen) = std::thread::scope(|scope| {
            // Large enough to need an eviction.
            let stalled = scope.spawn(|| write(&store, content(5)));
            barrier.wait();
            // Looked at now and judged later: a panic here would leave the other one waiting.
            let seen = what_others_see(&store);
            barrier.wait();
            (stalled.join(), seen)
        });
        assert!(matches!(written, Ok(Ok(_))), "{step}: it was only slow");
        assert_eq!(seen, (Standing::Good, false, true), "{step}");
        assert!(store.contains(&name(5)), "{step}");
    }
}

/// How the store stands, whether it shows what is on its way, and whether what it shows is right.
fn what_others_see(store: &Store) -> (Standing, bool, bool) {
    let early = store.contains(&name(5)) || store.get(&name(5)).is_some();
    let right = [2, 4].into_iter().all(|object| {
        let whole = store.get(&name(object)).map(|object| object.whole());
        whole.is_none_or(|whole| whole.is_ok_and(|bytes| bytes == content(object)))
    });
    let record = store.record(&name(2));
    let right = right && record.is_none_or(|record| record.bytes == "head");
    (store.standing(), early, right && store.stats().records < 2)
}

// req: ED-03
#[test]
fn a_file_that_cannot_be_removed_still_counts() {
    let (_place, disk, store) = opened(TIGHT);
    write(&store, content(4)).expect("a good disk");
    let before = store.stats().bytes;
    disk.plan(Plan::Always("remove", EIO));
    let crowded = store.begin(Some(content(5).len() as u64));
    assert!(
        matches!(crowded, Err(StoreError::Io(_))),
        "the room was not there"
    );
    assert_eq!((store.stats().bytes, store.stats().reserved), (before, 0));
    assert_eq!(store.stats().evicted, 1);
}
