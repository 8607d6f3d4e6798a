//! What is in the store and what may go: objects, records and the room they take. Pure: nothing here touches a disk.
//!
//! Kept in memory: about 180 bytes for an object, and as much for a record that refers to one object.

mod records;

use crate::sieve::Sieve;
use crate::{Hash, Limits};
use records::Records;
pub(crate) use records::Spot;
use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct Index {
    limits: Limits,
    objects: Sieve<Entry>,
    by_hash: HashMap<Hash, u32>,
    records: Records,
    /// Of all entries, detached ones included: their space is taken until the last reader leaves.
    used: u64,
    /// Of those entries that somebody reads.
    pinned: u64,
    /// Promised to those who write.
    reserved: u64,
    writers: u64,
    /// Taken by files that could not be removed.
    stranded: u64,
}

#[derive(Debug)]
struct Entry {
    hash: Hash,
    len: u64,
    charge: u64,
    pins: u32,
    /// No longer to be found, only read to the end by those who have it.
    detached: bool,
    /// The records that go when this goes.
    records: Vec<u32>,
}

/// What left the index and has to leave the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) objects: Vec<(Hash, u64)>,
    pub(crate) records: Vec<Hash>,
}

/// All that could go is in use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Crowded;

/// A reader's hold on an object.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) id: u32,
    pub(crate) len: u64,
    /// Nobody had read it since the hand last passed.
    pub(crate) first: bool,
}

/// How much there is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    pub(crate) reserved: u64,
    pub(crate) records: u64,
}

impl Index {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            objects: Sieve::new(),
            by_hash: HashMap::new(),
            records: Records::new(),
            used: 0,
            pinned: 0,
            reserved: 0,
            writers: 0,
            stranded: 0,
        }
    }

    /// A place among the objects for one who writes; `reserve` says whether it is to be had.
    pub(crate) fn enter(&mut self) {
        self.writers += 1;
    }

    /// Gives back what `enter` and `reserve` promised.
    pub(crate) fn leave(&mut self, bytes: u64) {
        self.writers -= 1;
        self.release(bytes);
    }

    pub(crate) fn release(&mut self, bytes: u64) {
        self.reserved -= bytes;
    }

    /// Promises `bytes` more. Nothing is thrown away for a promise that cannot be kept.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<Dropped, Crowded> {
        let fixed = [self.pinned, self.reserved, self.stranded, bytes];
        let fixed = fixed
            .into_iter()
            .try_fold(0_u64, u64::checked_add)
            .ok_or(Crowded)?;
        if fixed > self.limits.bytes || self.writers > self.limits.objects {
            return Err(Crowded);
        }
        self.reserved += bytes;
        let dropped = self.shrink();
        if self.is_over() {
            self.reserved -= bytes;
            return Err(Crowded);
        }
        Ok(dropped)
    }

    /// Drops what is least wanted until the limits hold, or all that is left is in use.
    pub(crate) fn shrink(&mut self) -> Dropped {
        let mut dropped = Dropped::default();
        while self.is_over() {
            let Some(id) = self.objects.victim(|entry| entry.pins == 0) else {
                break;
            };
            self.drop_object(id, &mut dropped);
        }
        dropped
    }

    pub(crate) fn is_over(&self) -> bool {
        let bytes = self
            .used
            .saturating_add(self.reserved)
            .saturating_add(self.stranded);
        bytes > self.limits.bytes || self.objects.len() as u64 + self.writers > self.limits.objects
    }

    /// Adds an object that is not there. Its room was promised before, or `shrink` follows.
    pub(crate) fn insert(&mut self, hash: Hash, len: u64, charge: u64) -> u32 {
        let id = self.objects.insert(Entry {
            hash,
            len,
            charge,
            pins: 0,
            detached: false,
            records: Vec::new(),
        });
        let before = self.by_hash.insert(hash, id);
        debug_assert!(before.is_none(), "an object is added once");
        self.used += charge;
        id
    }

    pub(crate) fn contains(&self, hash: &Hash) -> bool {
        self.by_hash.contains_key(hash)
    }

    /// Marks an object as wanted without reading it; says whether it is here.
    pub(crate) fn visit(&mut self, hash: &Hash) -> bool {
        let id = self.by_hash.get(hash).copied();
        id.inspect(|id| {
            self.objects.visit(*id);
        })
        .is_some()
    }

    pub(crate) fn pin(&mut self, hash: &Hash) -> Option<Pinned> {
        let id = *self.by_hash.get(hash)?;
        let first = self.objects.visit(id);
        let entry = self.objects.get_mut(id);
        entry.pins += 1;
        if entry.pins == 1 {
            self.pinned += entry.charge;
        }
        let len = entry.len;
        Some(Pinned { id, len, first })
    }

    pub(crate) fn unpin(&mut self, id: u32) {
        let entry = self.objects.get_mut(id);
        entry.pins -= 1;
        if entry.pins > 0 {
            return;
        }
        self.pinned -= entry.charge;
        if entry.detached {
            self.used -= entry.charge;
            self.objects.remove(id);
        }
    }

    /// Forgets an object for good, though those who read it may go on. Only the first call finds it.
    pub(crate) fn detach(&mut self, id: u32) -> Dropped {
        let mut dropped = Dropped::default();
        if !self.objects.get(id).detached {
            self.drop_object(id, &mut dropped);
        }
        dropped
    }

    fn drop_object(&mut self, id: u32, dropped: &mut Dropped) {
        let entry = self.objects.get_mut(id);
        let (hash, charge, read) = (entry.hash, entry.charge, entry.pins > 0);
        entry.detached = true;
        for record in std::mem::take(&mut entry.records) {
            dropped.records.push(self.unlink_record(record));
        }
        self.by_hash.remove(&hash);
        if !read {
            self.used -= charge;
            self.objects.remove(id);
        }
        dropped.objects.push((hash, charge));
    }

    /// Counts what a file still takes that could not be removed.
    pub(crate) fn strand(&mut self, charge: u64) {
        self.stranded += charge;
    }

    pub(crate) fn holdings(&self) -> Holdings {
        Holdings {
            objects: self.by_hash.len() as u64,
            bytes: self.used + self.stranded,
            reserved: self.reserved,
            records: self.records.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests;
