use super::{Crowded, Index, Spot};
use crate::{Hash, Limits};
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    bytes: 100,
    object_bytes: 100,
    objects: 4,
    records: 3,
    record_bytes: 100,
};

const SPOT: Spot = Spot { at: 0, len: 8 };

fn name(number: u8) -> Hash {
    Hash::of(&[number])
}

fn index(charges: &[u64]) -> Index {
    let mut index = Index::new(LIMITS);
    for (number, charge) in (0..).zip(charges) {
        index.insert(name(number), *charge, *charge);
    }
    index
}

fn objects(dropped: &super::Dropped) -> Vec<Hash> {
    dropped.objects.iter().map(|(hash, _)| *hash).collect()
}

// req: ED-03
#[test]
fn room_is_made_before_it_is_promised() {
    let mut index = index(&[40, 40, 20]);
    index.enter();
    let dropped = index.reserve(50).expect("two can go");
    assert_eq!(objects(&dropped), [name(0), name(1)]);
    assert_eq!(
        (index.holdings().bytes, index.holdings().reserved),
        (20, 50)
    );
}

// req: ED-03
#[test]
fn what_is_read_is_not_evicted_and_nothing_is_for_nothing() {
    let mut index = index(&[40, 40, 20]);
    let held = index.pin(&name(0)).expect("here");
    index.enter();
    assert_eq!(index.reserve(61), Err(Crowded));
    assert_eq!(
        index.holdings().objects,
        3,
        "nothing went for a promise that cannot be kept"
    );
    let dropped = index.reserve(60).expect("all but one can go");
    assert_eq!(objects(&dropped), [name(1), name(2)]);
    index.unpin(held.id);
    assert_eq!(
        objects(&index.reserve(40).expect("it can go now")),
        [name(0)]
    );
}

#[test]
fn writers_count_among_the_objects() {
    let mut index = index(&[1, 1, 1]);
    for went in [0, 1, 1, 1] {
        index.enter();
        assert_eq!(
            index.reserve(0).expect("there is one to go").objects.len(),
            went
        );
    }
    index.enter();
    assert_eq!(index.reserve(0), Err(Crowded), "four write already");
    index.leave(0);
    index.leave(0);
    index.insert(name(9), 1, 1);
    assert_eq!(index.holdings().objects, 1);
}

#[test]
fn an_impossible_promise_does_not_overflow() {
    let mut index = index(&[1]);
    index.enter();
    assert_eq!(index.reserve(u64::MAX), Err(Crowded));
    index.reserve(10).expect("room");
    assert_eq!(index.reserve(u64::MAX), Err(Crowded));
}

#[test]
fn a_detached_object_takes_its_room_until_the_last_reader_leaves() {
    let mut index = index(&[40]);
    let (one, two) = (
        index.pin(&name(0)).expect("here"),
        index.pin(&name(0)).expect("here"),
    );
    assert_eq!(index.detach(one.id).objects.len(), 1);
    assert_eq!(
        index.detach(two.id).objects.len(),
        0,
        "only the first finds it"
    );
    assert!(!index.contains(&name(0)) && index.pin(&name(0)).is_none());
    index.insert(name(0), 40, 40);
    assert_eq!(index.holdings().bytes, 80, "the new one is another file");
    index.unpin(one.id);
    assert_eq!(index.holdings().bytes, 80);
    index.unpin(two.id);
    assert_eq!((index.holdings().bytes, index.holdings().objects), (40, 1));
}

// req: ED-03
#[test]
fn a_record_goes_with_any_of_its_objects() {
    let mut index = index(&[40, 40]);
    let both = [name(0), name(1), name(0)];
    index
        .set_record(name(10), &both, SPOT)
        .expect("both are here");
    index
        .set_record(name(11), &[], SPOT)
        .expect("it needs none");
    assert_eq!(index.set_record(name(12), &[name(7)], SPOT), Err(name(7)));
    index.enter();
    let dropped = index.reserve(30).expect("the first can go");
    assert_eq!(
        (objects(&dropped), dropped.records),
        (vec![name(0)], vec![name(10)])
    );
    assert!(index.record(&name(10)).is_none() && index.record(&name(11)).is_some());
    let dropped = index.reserve(50).expect("the second can go");
    assert_eq!(
        (objects(&dropped), dropped.records),
        (vec![name(1)], vec![])
    );
}

#[test]
fn records_make_room_for_records_and_a_new_version_needs_none() {
    let mut index = index(&[]);
    for number in 0..3 {
        index
            .set_record(name(number), &[], SPOT)
            .expect("it needs none");
    }
    assert!(index.room_for_record(&name(1)).is_empty());
    index.record(&name(0));
    assert_eq!(index.room_for_record(&name(3)), [name(1)]);
    index
        .set_record(name(0), &[], Spot { at: 8, len: 16 })
        .expect("it needs none");
    assert_eq!(index.record_bytes(), 24);
}

#[test]
fn a_record_moves_only_from_where_it_was() {
    let mut index = index(&[]);
    index
        .set_record(name(0), &[], Spot { at: 8, len: 8 })
        .expect("it needs none");
    index.move_record(&name(0), Spot { at: 0, len: 8 }, Spot { at: 64, len: 8 });
    assert_eq!(index.spot(&name(0)), Some(Spot { at: 8, len: 8 }));
    index.move_record(&name(0), Spot { at: 8, len: 8 }, Spot { at: 64, len: 8 });
    index.move_record(&name(1), Spot { at: 8, len: 8 }, Spot { at: 64, len: 8 });
    assert_eq!(index.record(&name(0)), Some(Spot { at: 64, len: 8 }));
}

proptest! {
    // req: ED-03
    #[test]
    fn the_books_balance(steps in proptest::collection::vec((0..7_u8, 0..12_u8, 0..60_u64), 0..200)) {
        let mut index = Index::new(LIMITS);
        let (mut pins, mut rooms) = (Vec::new(), Vec::new());
        for (step, number, bytes) in steps {
            match step {
                0 => {
                    index.enter();
                    match index.reserve(bytes) {
                        Ok(_) => rooms.push(bytes),
                        Err(Crowded) => index.leave(0),
                    }
                }
                1 => if let Some(room) = rooms.pop() {
                    index.leave(room);
                    if !index.contains(&name(number)) {
                        index.insert(name(number), room, room);
                    }
                },
                2 => pins.extend(index.pin(&name(number)).map(|pinned| pinned.id)),
                3 => if !pins.is_empty() {
                    index.unpin(pins.swap_remove(usize::from(number) % pins.len()));
                },
                4 => if let Some(id) = pins.first() {
                    index.detach(*id);
                },
                5 => {
                    index.room_for_record(&name(number));
                    let needs = [name(number), name(number / 2)];
                    let here = index.all_here(&needs);
                    prop_assert_eq!(index.set_record(name(number), &needs, SPOT), here);
                }
                _ => prop_assert_eq!(index.has_record(&name(number)), index.forget_record(&name(number))),
            }
            let held = index.holdings();
            prop_assert!(held.bytes + held.reserved <= LIMITS.bytes, "{held:?}");
            prop_assert!(held.objects + rooms.len() as u64 <= LIMITS.objects);
            prop_assert!(held.records <= LIMITS.records);
            prop_assert_eq!(held.reserved, rooms.iter().sum::<u64>());
            for (key, _) in index.all_records() {
                let object = (0..12).find(|number| name(*number) == key).expect("of ours");
                prop_assert!(index.contains(&name(object)) && index.contains(&name(object / 2)));
            }
        }
        pins.into_iter().for_each(|id| index.unpin(id));
        rooms.into_iter().for_each(|room| index.leave(room));
        let held = index.holdings();
        let visible = (0..12).filter(|number| index.contains(&name(*number))).count();
        prop_assert_eq!((held.reserved, held.objects), (0, visible as u64));
        // Nothing is left over once all of it went.
        index.limits.bytes = 0;
        index.limits.objects = 0;
        index.shrink();
        prop_assert_eq!((index.used, index.pinned, index.records.len()), (0, 0, 0));
    }
}
