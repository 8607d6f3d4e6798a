//! Records: put, found, removed, and gone with the objects they need.

use super::{Inner, Store, lock};
use crate::index::Spot;
use crate::log::{Log, OBJECTS_MAX, Opened, RECORD_MAX, Record, Tail};
use crate::{Hash, Shortage, StoreError};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Where the bytes of records are.
#[derive(Debug)]
pub(crate) enum Ledger {
    Memory(Mutex<HashMap<Hash, Record>>),
    Disk(Log),
}

impl Ledger {
    pub(crate) fn memory() -> Self {
        Self::Memory(Mutex::default())
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(records) => lock(records)
                .values()
                .map(|record| record.bytes.len() as u64)
                .sum(),
            Self::Disk(log) => log.len(),
        }
    }
}

impl Store {
    /// Sets the record of `key`, which goes when any of the `objects` goes. Returns once the disk keeps it.
    pub fn put_record(
        &self,
        key: &Hash,
        objects: &[Hash],
        record: &[u8],
    ) -> Result<(), StoreError> {
        let inner = &*self.0;
        inner.is_open()?;
        let limit = inner.limits.record_bytes.min(RECORD_MAX);
        if record.len() > limit || objects.len() > OBJECTS_MAX {
            return Err(StoreError::TooLarge {
                limit: limit as u64,
            });
        }
        if inner.limits.records == 0 {
            return Err(StoreError::Full(Shortage::InUse));
        }
        match &inner.ledger {
            Ledger::Memory(records) => inner.put_in_memory(records, *key, objects, record),
            Ledger::Disk(log) => {
                let _pass = inner.gate.pass()?;
                let put = inner.put_on_disk(log, *key, objects, record);
                inner.noted(put)?;
                inner.gate.good();
                Ok(())
            }
        }
    }

    /// The record of `key`, if there is one and it is undamaged.
    pub fn record(&self, key: &Hash) -> Option<Record> {
        let (spot, from) = {
            let mut index = self.0.index();
            (index.record(key)?, self.0.ledger.source())
        };
        self.0.read_record(key, spot, from)
    }

    /// Removes the record of `key`, and says whether there was one. It is gone at once; an error says that it may
    /// come back with the next start.
    pub fn remove_record(&self, key: &Hash) -> Result<bool, StoreError> {
        match &self.0.ledger {
            Ledger::Memory(records) => {
                lock(records).remove(key);
                Ok(self.0.index().forget_record(key))
            }
            Ledger::Disk(log) => {
                let removed = self.0.remove_on_disk(log, key);
                self.0.noted(removed)
            }
        }
    }

    /// All records, the oldest first, as they are when the iterator comes to them.
    pub fn records(&self) -> Records {
        let all = self.0.index().all_records();
        Records {
            store: self.clone(),
            all: all.into_iter(),
        }
    }
}

/// See [`Store::records`].
#[derive(Debug)]
pub struct Records {
    store: Store,
    all: std::vec::IntoIter<(Hash, Spot)>,
}

impl Iterator for Records {
    type Item = (Hash, Record);

    fn next(&mut self) -> Option<Self::Item> {
        let inner = &self.store.0;
        self.all.find_map(|(key, _)| {
            let (spot, from) = {
                let index = inner.index();
                (index.spot(&key)?, inner.ledger.source())
            };
            Some((key, inner.read_record(&key, spot, from)?))
        })
    }
}

impl Ledger {
    /// What the index's spots point into, as long as the caller holds the index.
    fn source(&self) -> Option<Arc<Opened>> {
        match self {
            Self::Memory(_) => None,
            Self::Disk(log) => Some(log.current()),
        }
    }
}

impl Inner {
    fn put_in_memory(
        &self,
        records: &Mutex<HashMap<Hash, Record>>,
        key: Hash,
        objects: &[Hash],
        record: &[u8],
    ) -> Result<(), StoreError> {
        let spot = Spot { at: 0, len: 0 };
        let mut records = lock(records);
        let dropped = {
            let mut index = self.index();
            index.all_here(objects).map_err(StoreError::Missing)?;
            let dropped = index.room_for_record(&key);
            index
                .set_record(key, objects, spot)
                .map_err(StoreError::Missing)?;
            dropped
        };
        self.counters.evicted_records.add(dropped.len() as u64);
        dropped.iter().for_each(|key| {
            records.remove(key);
        });
        let record = Record {
            objects: objects.to_vec(),
            bytes: Bytes::copy_from_slice(record),
        };
        records.insert(key, record);
        Ok(())
    }

    fn put_on_disk(
        &self,
        log: &Log,
        key: Hash,
        objects: &[Hash],
        record: &[u8],
    ) -> Result<(), StoreError> {
        let mut tail = log.tail();
        self.index()
            .all_here(objects)
            .map_err(StoreError::Missing)?;
        self.mend(log, &mut tail)?;
        let spot = tail.set(key, objects, record)?;
        let set = {
            let mut index = self.index();
            let dropped = index.room_for_record(&key);
            index.set_record(key, objects, spot).map(|()| dropped)
        };
        let gone = set.as_ref().map_or_else(|_| vec![key], Vec::clone);
        self.bury_in(&mut tail, &gone);
        self.counters
            .evicted_records
            .add(set.map_err(StoreError::Missing)?.len() as u64);
        let mark = tail.mark();
        log.measure(&tail);
        drop(tail);
        log.sync(mark).inspect_err(|_| {
            self.index().forget_record(&key);
        })?;
        Ok(())
    }

    fn remove_on_disk(&self, log: &Log, key: &Hash) -> Result<bool, StoreError> {
        let mut tail = log.tail();
        let was_here = self.index().forget_record(key);
        if was_here {
            tail.bury(*key);
        }
        self.mend(log, &mut tail)?;
        let mark = tail.mark();
        log.measure(&tail);
        drop(tail);
        // Also if it was gone before: that it went may not be on the disk yet.
        log.sync(mark)?;
        Ok(was_here)
    }

    /// Rewrites the log if too much of it is dead, or if it cannot be trusted.
    fn mend(&self, log: &Log, tail: &mut Tail) -> Result<(), StoreError> {
        let alive = self.index().record_bytes();
        if !tail.is_due(alive) {
            return Ok(());
        }
        let alive = self.index().all_records();
        let rewritten = match log.rewrite(tail, alive) {
            Ok(rewritten) => rewritten,
            Err(error) if tail.is_broken() => return Err(error.into()),
            Err(_) => {
                tail.postpone();
                return Ok(());
            }
        };
        self.counters.corrupt.add(rewritten.lost.len() as u64);
        let mut index = self.index();
        log.adopt(tail, &rewritten);
        for (key, from, to) in rewritten.moved {
            index.move_record(&key, from, to);
        }
        for (key, from) in rewritten.lost {
            if index.spot(&key) == Some(from) {
                index.forget_record(&key);
            }
        }
        match tail.is_broken() {
            true => Err(std::io::Error::other("the records could not be synced").into()),
            false => Ok(()),
        }
    }

    fn read_record(&self, key: &Hash, spot: Spot, from: Option<Arc<Opened>>) -> Option<Record> {
        let Some(from) = from else {
            return match &self.ledger {
                Ledger::Memory(records) => lock(records).get(key).cloned(),
                Ledger::Disk(_) => None,
            };
        };
        let read = from.read(key, spot);
        if let Ok(Some(record)) = read {
            return Some(record);
        }
        match read {
            Ok(_) => self.counters.corrupt.add(1),
            Err(_) => self.counters.unreadable.add(1),
        }
        self.give_up(key, spot);
        None
    }

    /// Forgets a record that cannot be read, unless it was put anew or moved since.
    fn give_up(&self, key: &Hash, spot: Spot) {
        let gone = {
            let mut index = self.index();
            index.spot(key) == Some(spot) && index.forget_record(key)
        };
        if gone {
            self.bury(&[*key]);
        }
    }

    /// Writes down that records are gone; nobody waits for the disk to keep it.
    pub(crate) fn bury(&self, keys: &[Hash]) {
        if keys.is_empty() {
            return;
        }
        match &self.ledger {
            Ledger::Disk(log) => self.bury_in(&mut log.tail(), keys),
            Ledger::Memory(records) => {
                let mut records = lock(records);
                let index = self.index();
                for key in keys.iter().filter(|key| !index.has_record(key)) {
                    records.remove(key);
                }
            }
        }
    }

    fn bury_in(&self, tail: &mut Tail, keys: &[Hash]) {
        for key in keys {
            // Whoever put it anew since has superseded it already.
            if !self.index().has_record(key) {
                tail.bury(*key);
            }
        }
    }
}
