//! Bits that flip, files that shrink: found before they leave, and only the damaged object is lost.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use verified_store::{Hash, Limits, Store, StoreError};

const GROUP: usize = 65_536;

/// In memory where that is possible: nothing here needs a real sync.
fn place() -> TempDir {
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    place.expect("a temporary directory")
}

fn opened() -> (TempDir, Store) {
    let dir = place();
    let store = Store::open(dir.path(), Limits::of_bytes(64 << 20)).expect("a good disk");
    (dir, store)
}

fn sample(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
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

fn flip(dir: &Path, hash: &Hash, at: u64) {
    let file = File::options()
        .read(true)
        .write(true)
        .open(path(dir, hash))
        .expect("its file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("within");
    file.write_all_at(&[byte[0] ^ 0x10], at).expect("own file");
}

// req: ED-03
// attack: J-05, L-17
#[test]
fn a_flipped_bit_anywhere_is_found_and_the_object_can_be_written_again() {
    for len in [1, 1000, GROUP, GROUP + 1, 3 * GROUP + 77] {
        let bytes = sample(len);
        let (dir, store) = opened();
        let hash = put(&store, &bytes);
        let file_len = fs::metadata(path(dir.path(), &hash))
            .expect("its file")
            .len();
        for (times, at) in (1..).zip([0, file_len / 3, file_len / 2, file_len - 1]) {
            store.put_record(&hash, &[hash], b"head").expect("room");
            flip(dir.path(), &hash, at);
            let read = store.get(&hash).map(|object| object.whole());
            assert!(!matches!(read, Some(Ok(_))), "byte {at} of {file_len}");
            assert!(store.get(&hash).is_none() && store.record(&hash).is_none());
            let stats = store.stats();
            assert_eq!(
                (stats.corrupt, stats.quarantined, stats.objects),
                (times, times, 0)
            );
            assert!(!path(dir.path(), &hash).exists());

            put(&store, &bytes);
            let again = store.get(&hash).expect("written again").whole();
            assert_eq!(again.expect("undamaged"), bytes);
        }
    }
}

// req: ED-03
// attack: L-17
#[test]
fn a_reader_of_parts_gets_good_bytes_or_none() {
    let bytes = sample(4 * GROUP);
    let (dir, store) = opened();
    let hash = put(&store, &bytes);
    flip(dir.path(), &hash, 2 * GROUP as u64 + 5);
    let object = store.get(&hash).expect("its proof is good");
    let mut sent = Vec::new();
    let end = loop {
        match object.piece(sent.len() as u64) {
            Ok(piece) if piece.is_empty() => break None,
            Ok(piece) => sent.extend(piece),
            Err(error) => break Some(error),
        }
    };
    assert!(matches!(end, Some(StoreError::Damaged)));
    assert_eq!(
        sent,
        bytes[..2 * GROUP],
        "all before the damaged part, none of it"
    );
    assert!(store.get(&hash).is_none(), "gone for those who come");
    let mut tail = [0; 10];
    let read = object.read_at(3 * GROUP as u64, &mut tail);
    assert_eq!(
        (read.expect("an undamaged part"), &tail[..]),
        (10, &bytes[3 * GROUP..][..10])
    );
    assert_eq!(store.stats().quarantined, 1);
}

// attack: L-17
#[test]
fn small_reads_and_large_reads_are_checked_alike() {
    for step in [1, 100, GROUP, 3 * GROUP] {
        let (dir, store) = opened();
        let hash = put(&store, &sample(2 * GROUP + 9));
        flip(dir.path(), &hash, GROUP as u64);
        let object = store.get(&hash).expect("its proof is good");
        let mut buffer = vec![0; step];
        assert!(
            matches!(
                object.read_at(GROUP as u64 + 3, &mut buffer),
                Err(StoreError::Damaged)
            ),
            "{step}"
        );
    }
}

// req: ED-03
#[test]
fn a_file_that_shrank_grew_or_went_is_a_damaged_object() {
    type Harm = fn(&Path);
    let harms: [Harm; 4] = [
        |path| {
            File::options()
                .write(true)
                .open(path)
                .and_then(|file| file.set_len(10))
                .expect("own file")
        },
        |path| fs::write(path, b"").expect("own file"),
        |path| fs::remove_file(path).expect("own file"),
        |path| {
            fs::remove_file(path).expect("own file");
            fs::create_dir(path).expect("a directory in its place");
        },
    ];
    for harm in harms {
        let (dir, store) = opened();
        let (hash, other) = (put(&store, &sample(100_000)), put(&store, b"other"));
        harm(&path(dir.path(), &hash));
        let read = store.get(&hash).map(|object| object.whole());
        assert!(!matches!(read, Some(Ok(_))));
        assert!(store.get(&hash).is_none());
        assert_eq!(
            store
                .get(&other)
                .expect("unharmed")
                .whole()
                .expect("undamaged"),
            "other"
        );
        assert_eq!(store.stats().quarantined, 1);
    }
}

// attack: L-17
#[test]
fn bytes_of_another_object_are_not_those_of_this_one() {
    let (dir, store) = opened();
    let (one, two) = (sample(150_000), sample(150_001));
    let (hash, other) = (put(&store, &one), put(&store, &two[1..]));
    fs::copy(path(dir.path(), &other), path(dir.path(), &hash)).expect("own files");
    assert!(store.get(&hash).is_none(), "the proof is another's");
    assert!(store.get(&other).is_some());
}
