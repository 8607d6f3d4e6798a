//! A record that went does not come back, whatever way it went.

use super::model::{ROOMY, TIGHT, content, name, write};
use super::place::Place;
use crate::Hash;
use std::fs;

fn key() -> Hash {
    Hash::of(b"key")
}

// req: ED-03
#[test]
fn a_record_that_went_with_its_object_does_not_come_back_with_it() {
    let place = Place::furnished(TIGHT);
    let store = place.opened(TIGHT);
    write(&store, content(4)).expect("room");
    store.put_record(&key(), &[name(4)], b"old").expect("room");
    write(&store, content(5)).expect("room, made by the other");
    assert!(store.get(&name(4)).is_none() && store.record(&key()).is_none());
    assert!(!store.remove_record(&key()).expect("a good disk"));
    write(&store, content(4)).expect("room");
    drop(store);
    let store = place.opened(TIGHT);
    assert!(store.get(&name(4)).is_some());
    assert!(store.record(&key()).is_none());
}

// req: ED-03
#[test]
fn a_record_whose_object_vanished_between_two_starts_does_not_come_back_with_it() {
    let place = Place::furnished(ROOMY);
    let store = place.opened(ROOMY);
    let hash = write(&store, content(1)).expect("room");
    store.put_record(&key(), &[hash], b"old").expect("room");
    drop(store);
    let text = hash.to_string();
    let path = place.dir.join("objects").join(&text[..2]).join(&text);
    fs::remove_file(path).expect("an object's file");

    let store = place.opened(ROOMY);
    assert!(store.record(&key()).is_none());
    assert!(!store.remove_record(&key()).expect("a good disk"));
    write(&store, content(1)).expect("room");
    drop(store);
    assert!(place.opened(ROOMY).record(&key()).is_none());
}

// req: ED-03
#[test]
fn a_damaged_record_is_gone_and_counted_and_the_others_are_not() {
    let place = Place::furnished(ROOMY);
    let store = place.opened(ROOMY);
    let keys: Vec<Hash> = (0..5_u8).map(|number| Hash::of(&[number])).collect();
    for key in &keys {
        store.put_record(key, &[], key.as_bytes()).expect("room");
    }
    let log = place.dir.join("records.log");
    let mut bytes = fs::read(&log).expect("a log");
    let victim = bytes
        .windows(32)
        .rposition(|part| part == keys[2].as_bytes());
    bytes[victim.expect("it is in there") + 5] ^= 4;
    fs::write(&log, &bytes).expect("a log");
    assert!(store.record(&keys[2]).is_none());
    assert_eq!((store.stats().corrupt, store.stats().records), (1, 4));
    let others: Vec<Hash> = store.records().map(|(key, _)| key).collect();
    assert_eq!(others, [keys[0], keys[1], keys[3], keys[4]]);
    drop(store);
    let store = place.opened(ROOMY);
    assert_eq!(store.stats().records, 4);
    assert_eq!(
        store.record(&keys[4]).expect("behind the damage").bytes,
        &keys[4].as_bytes()[..]
    );
}
