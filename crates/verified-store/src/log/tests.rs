use super::{Event, HEAD, Log};
use crate::Hash;
use crate::files::faulty::{Faulty, Plan};
use crate::index::Spot;
use crate::shelf::Tree;
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

fn name(number: u8) -> Hash {
    Hash::of(&[number])
}

fn tree() -> (TempDir, Arc<Tree>) {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(root.path().join("tmp")).expect("for drafts");
    let disk = Arc::new(Faulty::new(Plan::Nothing, root.path()));
    let tree = Arc::new(Tree::new(disk, root.path()));
    (root, tree)
}

/// The records of a log in the order of their last change, how much of it is damaged, and the log.
fn open(tree: &Arc<Tree>) -> (Vec<(Hash, Spot)>, u64, Log) {
    let mut records: Vec<(Hash, Spot)> = Vec::new();
    let (log, damaged) = Log::open(tree, |event| match event {
        Event::Set(key, _, spot) => {
            records.retain(|(other, _)| *other != key);
            records.push((key, spot));
        }
        Event::Remove(key) => records.retain(|(other, _)| *other != key),
    })
    .expect("a good disk");
    (records, damaged, log)
}

fn filled(tree: &Arc<Tree>, numbers: std::ops::Range<u8>) -> Vec<(Hash, Spot)> {
    let (_, _, log) = open(tree);
    let mut tail = log.tail();
    numbers
        .map(|number| {
            let record = vec![number; usize::from(number) * 10];
            let spot = tail.set(name(number), &[], &record).expect("room");
            (name(number), spot)
        })
        .collect()
}

#[test]
fn what_was_appended_is_found_again_in_its_place() {
    let (_root, tree) = tree();
    let put = filled(&tree, 0..20);
    let (found, damaged, log) = open(&tree);
    assert_eq!((found, damaged), (put.clone(), 0));
    for (number, (key, spot)) in (0..).zip(put) {
        let record = log
            .current()
            .read(&key, spot)
            .expect("readable")
            .expect("undamaged");
        assert_eq!(record.bytes, vec![number; usize::from(number) * 10]);
        assert!(
            log.current()
                .read(&name(99), spot)
                .expect("readable")
                .is_none(),
            "another's"
        );
    }
}

#[test]
fn the_log_goes_on_where_it_ended() {
    let (_root, tree) = tree();
    let mut put = filled(&tree, 0..5);
    put.extend(filled(&tree, 5..9));
    open(&tree).2.tail().bury(name(3));
    put.remove(3);
    assert_eq!(open(&tree).0, put);
}

// attack: J-05
#[test]
fn a_damaged_stretch_costs_what_is_in_it_and_no_more() {
    let (root, tree) = tree();
    let mut put = filled(&tree, 0..20);
    let path = root.path().join("records.log");
    let mut bytes = fs::read(&path).expect("a log");
    // The header of one, so that its length is not to be believed, and the body of another.
    bytes[put[7].1.at as usize + 24] ^= 0xff;
    bytes[put[12].1.at as usize + 70] ^= 1;
    fs::write(&path, &bytes).expect("a log");
    put.remove(12);
    put.remove(7);
    let (found, damaged, _) = open(&tree);
    assert_eq!((found, damaged), (put, 2));
}

#[test]
fn a_log_that_lost_its_head_starts_anew() {
    let (root, tree) = tree();
    filled(&tree, 0..5);
    let path = root.path().join("records.log");
    let whole = fs::read(&path).expect("a log");
    for bad in [&[][..], &whole[..HEAD - 1], &[b"x", &whole[1..]].concat()] {
        fs::write(&path, bad).expect("a log");
        let (found, damaged, log) = open(&tree);
        assert_eq!((found.len(), damaged), (0, 1));
        log.tail().set(name(1), &[], b"works").expect("room");
        assert_eq!(open(&tree).0.len(), 1);
    }
}

#[test]
fn half_a_frame_at_the_end_is_written_over() {
    let (root, tree) = tree();
    let put = filled(&tree, 1..9);
    let path = root.path().join("records.log");
    let mut bytes = fs::read(&path).expect("a log");
    let last = put[7].1;
    bytes[(last.at + u64::from(last.len) - 40) as usize..].fill(0);
    fs::write(&path, &bytes).expect("a log");
    assert_eq!(open(&tree).0, put[..7]);
    let again = filled(&tree, 20..21);
    assert_eq!(again[0].1.at, last.at);
    assert_eq!(open(&tree).0, [&put[..7], &again].concat());
}

#[test]
fn a_frame_within_a_record_is_never_taken_for_one() {
    let (root, tree) = tree();
    let path = root.path().join("records.log");
    let secret = filled(&tree, 1..2);
    let bytes = fs::read(&path).expect("a log");
    let inner = &bytes[secret[0].1.at as usize..][..secret[0].1.len as usize];
    // Another store's frame, word for word, in a record whose own header is then damaged.
    let (_other_root, other) = self::tree();
    let (_, _, log) = open(&other);
    let spot = log.tail().set(name(50), &[], inner).expect("room");
    drop(log);
    let path = other.dir().join("records.log");
    let mut bytes = fs::read(&path).expect("a log");
    bytes[spot.at as usize + 16] ^= 1;
    fs::write(&path, &bytes).expect("a log");
    assert_eq!((open(&other).0.len(), open(&other).1), (0, 1));
}

#[test]
fn a_rewritten_log_has_the_living_and_nothing_else() {
    let (_root, tree) = tree();
    let put = filled(&tree, 0..100);
    let (_, _, log) = open(&tree);
    let mut tail = log.tail();
    let before = tail.mark().end;
    let mut alive = put[90..].to_vec();
    alive.push((name(200), Spot { at: 64, len: 72 }));
    let rewritten = log.rewrite(&tail, alive).expect("a good disk");
    assert_eq!(rewritten.lost.len(), 1, "what cannot be read is lost");
    assert_eq!(rewritten.moved.len(), 10);
    let moved: Vec<(Hash, Spot)> = rewritten
        .moved
        .iter()
        .map(|(key, _, to)| (*key, *to))
        .collect();
    log.adopt(&mut tail, &rewritten);
    let more = tail.set(name(201), &[], b"after it").expect("room");
    assert!(tail.mark().end < before / 4);
    drop(tail);
    assert_eq!(open(&tree).0, [moved, vec![(name(201), more)]].concat());
}
