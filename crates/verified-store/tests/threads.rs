//! Readers, writers, evictions and damage at the same time: nobody gets wrong bytes, and the books balance after.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use verified_store::{Hash, Limits, Store, StoreError};

const LIMITS: Limits = Limits {
    bytes: 2 << 20,
    object_bytes: 1 << 20,
    objects: 24,
    records: 16,
    record_bytes: 1000,
};
const OBJECTS: u64 = 40;
const ROUNDS: u32 = 400;

fn content(object: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(object);
    let mut bytes = vec![0; rng.usize(0..150_000)];
    rng.fill(&mut bytes);
    bytes
}

struct Crowd<'a> {
    store: Store,
    contents: &'a [(Hash, Vec<u8>)],
    read: AtomicU64,
}

impl Crowd<'_> {
    fn live(&self, seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..ROUNDS {
            let (hash, bytes) = &self.contents[rng.usize(..self.contents.len())];
            match rng.u8(..8) {
                0..3 => self.read(hash, bytes, &mut rng),
                3..6 => self.write(hash, bytes, &mut rng),
                6 => self.look_up(hash),
                _ => drop(self.store.remove_record(hash).expect("a good disk")),
            }
            let stats = self.store.stats();
            assert!(
                stats.bytes + stats.reserved <= LIMITS.bytes && stats.objects <= LIMITS.objects
            );
        }
    }

    /// Holds it while others write, so that some of it would be evicted if it could.
    fn read(&self, hash: &Hash, bytes: &[u8], rng: &mut fastrand::Rng) {
        let Some(object) = self.store.get(hash) else {
            return;
        };
        std::thread::yield_now();
        let offset = rng.usize(0..=bytes.len());
        match object
            .piece(offset as u64)
            .and_then(|piece| Ok((piece, object.whole()?)))
        {
            Ok((piece, whole)) => {
                assert!(bytes[offset..].starts_with(&piece) && whole == bytes);
                self.read.fetch_add(1, Ordering::Relaxed);
            }
            Err(StoreError::Damaged) => assert!(self.store.stats().corrupt > 0),
            Err(other) => panic!("{other}"),
        }
    }

    fn write(&self, hash: &Hash, bytes: &[u8], rng: &mut fastrand::Rng) {
        let announced = rng.bool().then_some(bytes.len() as u64);
        let written = self.store.begin(announced).and_then(|mut writing| {
            for part in bytes.chunks(30_000) {
                writing.write(part)?;
            }
            let committed = writing.commit()?;
            assert_eq!(committed, *hash);
            self.store.put_record(hash, &[*hash], &hash.as_bytes()[..8])
        });
        match written {
            // All may be in use, or others may have taken its place before its record came.
            Ok(()) | Err(StoreError::Full(_) | StoreError::Missing(_)) => (),
            Err(other) => panic!("{other}"),
        }
    }

    fn look_up(&self, hash: &Hash) {
        if let Some(record) = self.store.record(hash) {
            assert_eq!(
                (&record.bytes[..], record.objects),
                (&hash.as_bytes()[..8], vec![*hash])
            );
        }
    }
}

fn run(store: Store, spoil: Option<&Path>) {
    let contents: Vec<(Hash, Vec<u8>)> = (0..OBJECTS)
        .map(content)
        .map(|bytes| (Hash::of(&bytes), bytes))
        .collect();
    let crowd = Crowd {
        store,
        contents: &contents,
        read: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        for seed in 0..6 {
            let crowd = &crowd;
            scope.spawn(move || crowd.live(seed));
        }
        if let Some(dir) = spoil {
            scope.spawn(move || spoil_some(dir));
        }
    });
    let stats = crowd.store.stats();
    assert_eq!(stats.reserved, 0);
    if spoil.is_none() {
        assert!(
            stats.evicted > 0 && crowd.read.load(Ordering::Relaxed) > 0,
            "{stats:?}"
        );
    }
    for (hash, bytes) in &contents {
        if let Some(Ok(whole)) = crowd.store.get(hash).map(|object| object.whole()) {
            assert!(whole == *bytes);
        }
    }
    for (_, record) in crowd.store.records() {
        assert!(crowd.store.contains(&record.objects[0]));
    }
    let (before, after) = (crowd.store.stats(), crowd.store.stats());
    assert_eq!(before, after, "nothing goes on once all have left");
}

/// Flips the first byte of whatever is there.
fn spoil_some(dir: &Path) {
    for _ in 0..200 {
        for shard in fs::read_dir(dir.join("objects"))
            .into_iter()
            .flatten()
            .flatten()
        {
            for file in fs::read_dir(shard.path()).into_iter().flatten().flatten() {
                use std::os::unix::fs::FileExt;
                let file = fs::File::options().read(true).write(true).open(file.path());
                let mut byte = [0];
                if let Ok(file) = file
                    && file.read_exact_at(&mut byte, 0).is_ok()
                {
                    file.write_all_at(&[!byte[0]], 0).expect("an own file");
                }
            }
        }
        std::thread::yield_now();
    }
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    place.expect("a temporary directory")
}

// req: ED-03
#[test]
fn a_crowd_gets_right_bytes_from_a_disk() {
    let dir = place();
    let store = Store::open(dir.path(), LIMITS).expect("a good disk");
    run(store.clone(), None);
    assert_eq!((store.stats().corrupt, store.stats().quarantined), (0, 0));
    let before = store.stats();
    drop(store);
    let after = Store::open(dir.path(), LIMITS)
        .expect("a good disk")
        .stats();
    assert_eq!(
        (after.objects, after.bytes, after.records),
        (before.objects, before.bytes, before.records)
    );
}

// req: ED-03, ED-13
#[test]
fn a_crowd_gets_right_bytes_from_memory() {
    run(Store::in_memory(LIMITS), None);
}

// req: ED-03
// attack: J-05, L-17
#[test]
fn a_crowd_gets_no_wrong_bytes_from_a_disk_that_rots() {
    let dir = place();
    run(
        Store::open(dir.path(), LIMITS).expect("a good disk"),
        Some(dir.path()),
    );
}
