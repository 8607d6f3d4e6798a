//! The records of the index: small things by key, each tied to the objects it needs.

use super::Index;
use crate::Hash;
use crate::sieve::Sieve;
use std::collections::HashMap;

#[derive(Debug)]
pub(super) struct Records {
    entries: Sieve<Entry>,
    by_key: HashMap<Hash, u32>,
    /// What they take in the log.
    bytes: u64,
}

#[derive(Debug)]
struct Entry {
    key: Hash,
    objects: Box<[u32]>,
    spot: Spot,
}

/// Where a record's bytes are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) at: u64,
    pub(crate) len: u32,
}

impl Records {
    pub(super) fn new() -> Self {
        Self {
            entries: Sieve::new(),
            by_key: HashMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Index {
    /// Makes room for one more record, unless `key` has one already. Says which went.
    pub(crate) fn room_for_record(&mut self, key: &Hash) -> Vec<Hash> {
        match self.has_record(key) {
            true => Vec::new(),
            false => self.shrink_records(self.limits.records.saturating_sub(1)),
        }
    }

    /// Has no more records than the limit. Says which went.
    pub(crate) fn excess_records(&mut self) -> Vec<Hash> {
        self.shrink_records(self.limits.records)
    }

    fn shrink_records(&mut self, to: u64) -> Vec<Hash> {
        let mut gone = Vec::new();
        while self.records.len() as u64 > to
            && let Some(id) = self.records.entries.victim(|_| true)
        {
            gone.push(self.unlink_record(id));
        }
        gone
    }

    /// Sets the record of `key`. An object that is not here is the error; then nothing changed.
    pub(crate) fn set_record(
        &mut self,
        key: Hash,
        objects: &[Hash],
        spot: Spot,
    ) -> Result<(), Hash> {
        let objects = self.ids(objects)?;
        self.forget_record(&key);
        let entry = Entry {
            key,
            objects: objects.clone(),
            spot,
        };
        let id = self.records.entries.insert(entry);
        for object in objects {
            self.objects.get_mut(object).records.push(id);
        }
        self.records.by_key.insert(key, id);
        self.records.bytes += u64::from(spot.len);
        Ok(())
    }

    /// Whether all of them are here.
    pub(crate) fn all_here(&self, objects: &[Hash]) -> Result<(), Hash> {
        let missing = objects.iter().find(|hash| !self.contains(hash));
        missing.map_or(Ok(()), |hash| Err(*hash))
    }

    /// Each once: a record is listed once by an object it names twice.
    fn ids(&self, objects: &[Hash]) -> Result<Box<[u32]>, Hash> {
        let ids = objects
            .iter()
            .map(|hash| self.by_hash.get(hash).copied().ok_or(*hash));
        let mut ids = ids.collect::<Result<Vec<u32>, Hash>>()?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids.into())
    }

    pub(crate) fn record(&mut self, key: &Hash) -> Option<Spot> {
        let id = *self.records.by_key.get(key)?;
        self.records.entries.visit(id);
        Some(self.records.entries.get(id).spot)
    }

    /// Where a record is, unmarked by the look.
    pub(crate) fn spot(&self, key: &Hash) -> Option<Spot> {
        let id = *self.records.by_key.get(key)?;
        Some(self.records.entries.get(id).spot)
    }

    /// Tells where a record's bytes went, if they were still at `from`.
    pub(crate) fn move_record(&mut self, key: &Hash, from: Spot, to: Spot) {
        let Some(id) = self.records.by_key.get(key) else {
            return;
        };
        let entry = self.records.entries.get_mut(*id);
        if entry.spot == from {
            debug_assert_eq!(from.len, to.len, "a frame is copied as it is");
            entry.spot = to;
        }
    }

    /// Says whether there was one.
    pub(crate) fn forget_record(&mut self, key: &Hash) -> bool {
        let id = self.records.by_key.get(key).copied();
        id.map(|id| self.unlink_record(id)).is_some()
    }

    pub(crate) fn has_record(&self, key: &Hash) -> bool {
        self.records.by_key.contains_key(key)
    }

    /// What the records take in the log.
    pub(crate) fn record_bytes(&self) -> u64 {
        self.records.bytes
    }

    /// All records, the oldest first.
    pub(crate) fn all_records(&self) -> Vec<(Hash, Spot)> {
        let entries = self.records.entries.iter();
        entries.map(|entry| (entry.key, entry.spot)).collect()
    }

    pub(super) fn unlink_record(&mut self, id: u32) -> Hash {
        let entry = self.records.entries.remove(id);
        self.records.by_key.remove(&entry.key);
        self.records.bytes -= u64::from(entry.spot.len);
        for object in entry.objects {
            let records = &mut self.objects.get_mut(object).records;
            records.retain(|record| *record != id);
        }
        entry.key
    }
}
