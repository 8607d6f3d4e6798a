//! A fixed circle of entries with a hash index, so that a key is found, replaced and removed in
//! O(1).

use std::hash::{BuildHasher, Hash, RandomState};

/// Entries in order of arrival. The key lives only in its entry: the index holds entry numbers,
/// chained per bucket.
pub(super) struct Keyed<K, T> {
    entries: Box<[Option<Entry<K, T>>]>,
    first: usize,
    length: usize,
    /// First entry of each bucket's chain; a power of two, at least as many as entries.
    buckets: Box<[Option<usize>]>,
    hasher: RandomState,
}

struct Entry<K, T> {
    key: K,
    item: T,
    bucket: usize,
    next: Option<usize>,
}

impl<K: Eq + Hash, T> Keyed<K, T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            entries: (0..capacity).map(|_| None).collect(),
            first: 0,
            length: 0,
            buckets: vec![None; capacity.next_power_of_two()].into_boxed_slice(),
            hasher: RandomState::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn find(&self, key: &K) -> Option<usize> {
        let mut candidate = self.buckets[self.bucket(key)];
        while let Some(index) = candidate {
            let entry = self.entries[index]
                .as_ref()
                .expect("the index names entries in use");
            if entry.key == *key {
                return Some(index);
            }
            candidate = entry.next;
        }
        None
    }

    /// Puts the item in the place of the one found at `index`, which it returns.
    pub(super) fn replace(&mut self, index: usize, item: T) -> T {
        let entry = self.entries[index]
            .as_mut()
            .expect("the index names entries in use");
        std::mem::replace(&mut entry.item, item)
    }

    /// Adds a key that is not there, when there is room.
    pub(super) fn append(&mut self, key: K, item: T) {
        assert!(
            self.length < self.entries.len(),
            "append needs a free entry"
        );
        let bucket = self.bucket(&key);
        let index = (self.first + self.length) % self.entries.len();
        let next = self.buckets[bucket].replace(index);
        self.entries[index] = Some(Entry {
            key,
            item,
            bucket,
            next,
        });
        self.length += 1;
    }

    pub(super) fn pop(&mut self) -> Option<(K, T)> {
        let index = self.first;
        let entry = self.entries[index].take()?;
        self.unchain(index, &entry);
        self.first = (index + 1) % self.entries.len();
        self.length -= 1;
        Some((entry.key, entry.item))
    }

    fn bucket(&self, key: &K) -> usize {
        // The mask makes the cut to the machine's word harmless.
        self.hasher.hash_one(key) as usize & (self.buckets.len() - 1)
    }

    fn unchain(&mut self, index: usize, entry: &Entry<K, T>) {
        let mut link = &mut self.buckets[entry.bucket];
        while *link != Some(index) {
            let at = link.expect("an entry is in the chain of its bucket");
            link = &mut self.entries[at]
                .as_mut()
                .expect("the index names entries in use")
                .next;
        }
        *link = entry.next;
    }
}
