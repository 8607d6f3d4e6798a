//! The store: who holds which lock when, and what happens on disk in which order.
//!
//! Locks are taken in this order: the stripe of an object's name, the end of the log, the index. No disk is touched
//! with the index held.

mod open;
mod records;

use crate::index::{Dropped, Holdings, Index};
use crate::shelf::Shelf;
use crate::standing::Gate;
use crate::stats::Counters;
use crate::{Hash, Limits, Object, Shortage, Standing, Stats, StoreError, Writing};
pub(crate) use records::Ledger;
pub use records::Records;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many names of objects are changed at a time.
const STRIPES: usize = 64;

/// Objects by their hash, and records by their key. A clone is the same store.
#[derive(Clone, Debug)]
pub struct Store(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) limits: Limits,
    pub(crate) shelf: Shelf,
    pub(crate) ledger: Ledger,
    pub(crate) gate: Gate,
    pub(crate) counters: Counters,
    index: Mutex<Index>,
    /// Whoever gives or takes an object's name holds its stripe, so that one's removal never hits another's object.
    stripes: [Mutex<()>; STRIPES],
    closed: AtomicBool,
    /// Held open for its lock; a store in memory has none.
    _lock: Option<File>,
}

impl Store {
    /// A place to write an object of `announced` bytes, or of as many as will come. Its room is made now, or as it is
    /// written.
    pub fn begin(&self, announced: Option<u64>) -> Result<Writing, StoreError> {
        Writing::begin(&self.0, announced)
    }

    /// The object of that hash, if it is here and can be read. As long as the answer is held it is not evicted.
    pub fn get(&self, hash: &Hash) -> Option<Object> {
        Object::open(&self.0, hash)
    }

    /// Whether the object is here, as far as is known without reading it.
    pub fn contains(&self, hash: &Hash) -> bool {
        self.0.index().contains(hash)
    }

    /// Whether new things can be stored.
    pub fn standing(&self) -> Standing {
        self.0.gate.standing()
    }

    /// What there is and what has happened.
    pub fn stats(&self) -> Stats {
        let Holdings {
            objects,
            bytes,
            reserved,
            records,
        } = self.0.index().holdings();
        Stats {
            objects,
            bytes,
            reserved,
            records,
            log_bytes: self.0.ledger.len(),
            ..self.0.counters.read()
        }
    }

    /// Refuses all further writes, also those under way. Reading goes on.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }
}

impl Inner {
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        lock(&self.index)
    }

    pub(crate) fn stripe(&self, hash: &Hash) -> MutexGuard<'_, ()> {
        lock(&self.stripes[usize::from(hash.as_bytes()[0]) % STRIPES])
    }

    pub(crate) fn is_open(&self) -> Result<(), StoreError> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(StoreError::Closed),
            false => Ok(()),
        }
    }

    /// Takes notice of how a write ended.
    pub(crate) fn noted<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &outcome {
            self.counters.failed.add(1);
            self.gate.bad(error);
        }
        outcome
    }

    /// Promises `more` bytes to a writer, by removing what is least wanted.
    pub(crate) fn make_room(&self, more: u64) -> Result<(), StoreError> {
        let dropped = self.index().reserve(more);
        let dropped = dropped.map_err(|_| StoreError::Full(Shortage::InUse))?;
        let cleared = self.evict(&dropped);
        let mut index = self.index();
        match cleared {
            Err(error) if index.is_over() => {
                index.release(more);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    fn evict(&self, dropped: &Dropped) -> Result<(), StoreError> {
        self.counters.evicted.add(dropped.objects.len() as u64);
        self.counters
            .evicted_records
            .add(dropped.records.len() as u64);
        self.clear_away(dropped)
    }

    /// Removes a bad object for good.
    pub(crate) fn quarantine(&self, id: u32) {
        let dropped = self.index().detach(id);
        self.counters.quarantined.add(dropped.objects.len() as u64);
        // Should it not go, it stays counted, and unread until the next start.
        let _ = self.clear_away(&dropped);
    }

    /// Has the disk forget what the index has forgotten. What it does not forget stays counted.
    fn clear_away(&self, dropped: &Dropped) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for (hash, charge) in &dropped.objects {
            if let Err(error) = self.remove(hash) {
                self.index().strand(*charge);
                outcome = Err(error.into());
            }
        }
        self.bury(&dropped.records);
        outcome.inspect_err(|error| self.gate.bad(error))
    }

    fn remove(&self, hash: &Hash) -> io::Result<()> {
        let _stripe = self.stripe(hash);
        // Somebody may have written it again in the meantime.
        if self.index().contains(hash) {
            return Ok(());
        }
        self.shelf.remove(hash)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
