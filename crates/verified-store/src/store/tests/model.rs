//! What a store may hold after some operations, of which any may have failed.

use crate::{Hash, Limits, Record, Store, StoreError};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Writes an object.
    Object(u8),
    /// Writes half of one and gives up.
    Abandon(u8),
    /// Puts a record that needs two objects.
    Record {
        key: u8,
        objects: [u8; 2],
        version: u8,
    },
    Remove(u8),
    /// Reads whatever there is.
    Look,
}

pub(super) const OBJECTS: u8 = 6;
const KEYS: u8 = 3;

pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let object = 0..OBJECTS;
    let op = prop_oneof![
        4 => object.clone().prop_map(Op::Object),
        1 => object.clone().prop_map(Op::Abandon),
        3 => (0..KEYS, [object.clone(), object], any::<u8>())
            .prop_map(|(key, objects, version)| Op::Record { key, objects, version }),
        2 => (0..KEYS).prop_map(Op::Remove),
        1 => Just(Op::Look),
    ];
    proptest::collection::vec(op, 1..10)
}

/// An object of nothing, of part of a group, of one, of two full ones, of a few.
static CONTENTS: LazyLock<Vec<(Hash, Vec<u8>)>> = LazyLock::new(|| {
    let lens = [0, 100, 5_000, 65_536, 131_072, 200_001];
    let contents = (0..OBJECTS).zip(lens).map(|(object, len)| {
        let bytes = (0..len).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 16) as u8 ^ object);
        bytes.collect::<Vec<u8>>()
    });
    contents.map(|bytes| (Hash::of(&bytes), bytes)).collect()
});

pub(super) fn content(object: u8) -> &'static [u8] {
    &CONTENTS[usize::from(object)].1
}

fn key(key: u8) -> Hash {
    Hash::of(&[key])
}

pub(super) fn name(object: u8) -> Hash {
    CONTENTS[usize::from(object)].0
}

/// What may be there: what succeeded for sure, what failed perhaps.
#[derive(Debug)]
pub(super) struct Model {
    /// Whether nothing is ever evicted, so that what succeeded has to be there.
    keeps_all: bool,
    committed: BTreeSet<u8>,
    records: BTreeMap<u8, Vec<Option<Record>>>,
}

impl Model {
    pub(super) fn new(keeps_all: bool) -> Self {
        Self {
            keeps_all,
            committed: BTreeSet::new(),
            records: (0..KEYS).map(|key| (key, vec![None])).collect(),
        }
    }

    pub(super) fn apply(&mut self, store: &Store, op: Op) {
        match op {
            Op::Object(object) => {
                if write(store, content(object)).is_ok() {
                    self.committed.insert(object);
                }
            }
            Op::Abandon(object) => {
                if let Ok(mut writing) = store.begin(None) {
                    let bytes = content(object);
                    let _ = writing.write(&bytes[..bytes.len() / 2]);
                }
            }
            Op::Record {
                key,
                objects,
                version,
            } => self.put(store, key, objects, version),
            Op::Remove(key) => self.remove(store, key),
            Op::Look => self.check(store),
        }
    }

    fn put(&mut self, store: &Store, number: u8, objects: [u8; 2], version: u8) {
        let record = Record {
            objects: objects.map(name).to_vec(),
            bytes: vec![version; 900 * usize::from(version % 3)].into(),
        };
        let put = store.put_record(&key(number), &record.objects, &record.bytes);
        let may_be = self.records.entry(number).or_default();
        match put {
            Ok(()) => *may_be = vec![Some(record)],
            // It says so before it changes anything, so what was there has to stay.
            Err(StoreError::Missing(_)) if self.keeps_all => (),
            Err(_) => may_be.extend([Some(record), None]),
        }
        if !self.keeps_all {
            may_be.push(None);
        }
    }

    fn remove(&mut self, store: &Store, number: u8) {
        let removed = store.remove_record(&key(number));
        assert!(
            store.record(&key(number)).is_none(),
            "gone at once, error or not"
        );
        let may_be = self.records.entry(number).or_default();
        match removed {
            Ok(_) => *may_be = vec![None],
            Err(_) => may_be.push(None),
        }
    }

    /// Everything that is there is whole and may be there; everything that has to be there is.
    pub(super) fn check(&self, store: &Store) {
        for object in 0..OBJECTS {
            let found = store.get(&name(object));
            let must = self.keeps_all && self.committed.contains(&object);
            assert!(
                found.is_some() || !must,
                "object {object} was committed and is gone"
            );
            if let Some(found) = found {
                let bytes = found.whole().expect("what can be had can be read");
                assert!(bytes == content(object), "object {object} has other bytes");
            }
        }
        for (number, may_be) in &self.records {
            let found = store.record(&key(*number));
            assert!(
                may_be.contains(&found),
                "record {number} is {found:?}, not of {may_be:?}"
            );
            for object in found.iter().flat_map(|record| &record.objects) {
                assert!(store.contains(object), "record {number} without its object");
            }
        }
        assert_eq!(
            store.stats().quarantined,
            0,
            "something visible was not whole"
        );
    }
}

pub(super) fn write(store: &Store, bytes: &[u8]) -> Result<Hash, StoreError> {
    let mut writing = store.begin(None)?;
    for part in bytes.chunks(50_000) {
        writing.write(part)?;
    }
    writing.commit()
}

pub(super) const ROOMY: Limits = Limits {
    bytes: 1 << 30,
    object_bytes: 1 << 20,
    objects: 1000,
    records: 1000,
    record_bytes: 10_000,
};

/// Room for the largest object and little else.
pub(super) const TIGHT: Limits = Limits {
    bytes: 220_000,
    object_bytes: 1 << 20,
    objects: 3,
    records: 2,
    record_bytes: 10_000,
};

/// `VERIFIED_STORE_CASES` asks for more of them.
pub(super) fn cases(few: u32) -> ProptestConfig {
    let asked = std::env::var("VERIFIED_STORE_CASES").ok();
    ProptestConfig {
        cases: asked.and_then(|text| text.parse().ok()).unwrap_or(few),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    }
}
