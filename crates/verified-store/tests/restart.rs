//! What a store finds when it starts, and what it refuses to start on.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use verified_store::{Hash, Limits, Store, StoreError};

/// In memory where that is possible: nothing here needs a real sync.
fn place() -> TempDir {
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    place.expect("a temporary directory")
}

fn limits() -> Limits {
    Limits::of_bytes(16 << 20)
}

fn opened(dir: &TempDir) -> Store {
    Store::open(dir.path(), limits()).expect("a good disk")
}

fn put(store: &Store, bytes: &[u8]) -> Hash {
    let mut writing = store.begin(None).expect("room");
    writing.write(bytes).expect("room");
    writing.commit().expect("a good disk")
}

fn path(dir: &Path, hash: &Hash) -> PathBuf {
    let name = hash.to_string();
    dir.join("objects").join(&name[..2]).join(&name)
}

// req: ED-03
#[test]
fn a_store_finds_what_it_had() {
    let dir = place();
    let store = opened(&dir);
    let bytes = vec![7; 200_000];
    let (small, large) = (put(&store, b"small"), put(&store, &bytes));
    let key = Hash::of(b"key");
    store
        .put_record(&key, &[small, large], b"head")
        .expect("room");
    let before = store.stats();
    drop(store);
    let store = opened(&dir);
    assert_eq!(
        store
            .get(&large)
            .expect("it was here")
            .whole()
            .expect("undamaged"),
        bytes
    );
    let record = store.record(&key).expect("it was here");
    assert_eq!(
        (record.objects, &record.bytes[..]),
        (vec![small, large], &b"head"[..])
    );
    let after = store.stats();
    assert_eq!(
        (after.objects, after.bytes, after.records),
        (2, before.bytes, 1)
    );
    assert_eq!(
        (after.corrupt, after.quarantined, after.stale_temps),
        (0, 0, 0)
    );
}

// req: ED-03
// attack: J-10
#[test]
fn stale_temps_are_collected_and_strangers_left_alone() {
    let dir = place();
    drop(opened(&dir));
    for number in 0..5 {
        fs::write(dir.path().join("tmp").join(number.to_string()), b"half").expect("a file");
    }
    let stranger = dir.path().join("objects/ab/notes.txt");
    fs::write(&stranger, b"mine").expect("a file");
    let store = opened(&dir);
    assert_eq!(store.stats().stale_temps, 5);
    assert_eq!(
        fs::read_dir(dir.path().join("tmp"))
            .expect("a directory")
            .count(),
        0
    );
    assert_eq!(store.stats().objects, 0);
    assert!(stranger.exists());
}

// req: ED-03
#[test]
fn a_file_of_impossible_length_is_no_object() {
    let dir = place();
    let store = opened(&dir);
    let hash = put(&store, &[1; 200_000]);
    drop(store);
    let file = File::options()
        .write(true)
        .open(path(dir.path(), &hash))
        .expect("its file");
    file.set_len(65_537).expect("a shorter file");
    let store = opened(&dir);
    assert!(store.get(&hash).is_none());
    assert_eq!((store.stats().objects, store.stats().quarantined), (0, 1));
    assert!(!path(dir.path(), &hash).exists());
}

#[test]
fn a_directory_of_somebody_else_is_refused_untouched() {
    let dir = place();
    fs::create_dir(dir.path().join("tmp")).expect("a directory");
    fs::write(dir.path().join("tmp/thesis"), b"three years of work").expect("a file");
    let refused = Store::open(dir.path(), limits());
    assert!(
        matches!(refused, Err(StoreError::Foreign(_))),
        "{refused:?}"
    );
    assert!(dir.path().join("tmp/thesis").exists());
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1);
}

#[test]
fn a_store_of_another_version_is_refused() {
    let dir = place();
    drop(opened(&dir));
    fs::write(dir.path().join("verified-store"), "verified-store 2\n").expect("a marker");
    let refused = Store::open(dir.path(), limits()).expect_err("another version");
    assert!(
        refused
            .to_string()
            .ends_with("is a store of another version"),
        "{refused}"
    );
}

#[test]
fn a_store_that_is_open_is_refused_until_it_is_not() {
    let dir = place();
    let store = opened(&dir);
    let held = store.get(&put(&store, b"held")).expect("just written");
    let refused =
        Store::open(dir.path(), limits()).expect_err("two would delete each other's files");
    assert!(matches!(refused, StoreError::Foreign(_)), "{refused}");
    drop(store);
    assert!(
        Store::open(dir.path(), limits()).is_err(),
        "a reader still has it"
    );
    drop(held);
    opened(&dir);
}

// req: ED-03
#[test]
fn lower_limits_hold_from_the_start_and_the_oldest_go() {
    let dir = place();
    let store = opened(&dir);
    let hashes: Vec<Hash> = (0..20).map(|seed| put(&store, &[seed; 5000])).collect();
    drop(store);
    age(dir.path(), &hashes);
    let lower = Limits {
        objects: 8,
        ..limits()
    };
    let store = Store::open(dir.path(), lower).expect("a good disk");
    let here: Vec<bool> = hashes.iter().map(|hash| store.contains(hash)).collect();
    assert_eq!(here, [vec![false; 12], vec![true; 8]].concat());
    assert!(!path(dir.path(), &hashes[0]).exists());
}

// req: ED-03
#[test]
fn what_was_wanted_before_the_restart_is_spared_after_it() {
    let dir = place();
    let store = opened(&dir);
    let hashes: Vec<Hash> = (0..20).map(|seed| put(&store, &[seed; 5000])).collect();
    drop(store);
    age(dir.path(), &hashes);
    let store = opened(&dir);
    drop(store.get(&hashes[0]).expect("here"));
    drop(store);
    let lower = Limits {
        objects: 8,
        ..limits()
    };
    let store = Store::open(dir.path(), lower).expect("a good disk");
    assert!(store.contains(&hashes[0]), "the oldest, but read");
    assert!(!store.contains(&hashes[1]) && store.contains(&hashes[19]));
}

// req: ED-03
#[test]
fn the_same_records_are_there_after_a_restart_and_fewer_under_a_lower_limit() {
    let few = |records| Limits {
        records,
        ..limits()
    };
    let dir = place();
    let store = Store::open(dir.path(), few(10)).expect("a good disk");
    for number in 0..200_u8 {
        store
            .put_record(&Hash::of(&[number]), &[], &[number])
            .expect("room");
        store.record(&Hash::of(&[number / 2]));
    }
    let keys = |store: &Store| store.records().map(|(key, _)| key).collect::<Vec<_>>();
    let before = keys(&store);
    drop(store);
    let store = Store::open(dir.path(), few(10)).expect("a good disk");
    assert_eq!((keys(&store), before.len()), (before, 10));
    drop(store);
    let store = Store::open(dir.path(), few(4)).expect("a good disk");
    assert_eq!(store.stats().records, 4);
    drop(store);
    let store = Store::open(dir.path(), few(10)).expect("a good disk");
    assert_eq!(store.stats().records, 4, "they went for good");
}

/// Written a second after each other and never read, long ago, whatever the clock of this test did.
fn age(dir: &Path, hashes: &[Hash]) {
    for (second, hash) in (1_000_000..).zip(hashes) {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let file = File::options()
            .write(true)
            .open(path(dir, hash))
            .expect("its file");
        let times = FileTimes::new().set_modified(then).set_accessed(then);
        file.set_times(times).expect("own files");
    }
}
