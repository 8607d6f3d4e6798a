//! How a store comes to be: on a disk or in memory.

use super::{Inner, Ledger, Store};
use crate::files::{Disk, Files};
use crate::index::Index;
use crate::log::{Event, Log};
use crate::shelf::{Shelf, Tree};
use crate::standing::Gate;
use crate::stats::Counters;
use crate::{Hash, Limits, StoreError, start};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

impl Store {
    /// Opens the store in `dir`, or makes one there if `dir` is empty or missing. No object is read for it.
    ///
    /// A store on a disk that takes no writes opens too, if it was one before: what is there is served.
    pub fn open(dir: &Path, limits: Limits) -> Result<Self, StoreError> {
        Self::open_with(Arc::new(Disk), dir, limits)
    }

    /// A store that never touches a disk. Its objects are not checked when read: nothing can have changed them that
    /// could not change the check as well.
    pub fn in_memory(limits: Limits) -> Self {
        let parts = Parts {
            shelf: Shelf::memory(),
            ledger: Ledger::memory(),
            index: Index::new(limits),
            counters: Counters::default(),
            gate: Gate::default(),
            lock: None,
        };
        parts.assemble(limits)
    }

    pub(crate) fn open_with(
        files: Arc<dyn Files>,
        dir: &Path,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let lock = start::claim(&*files, dir)?;
        let tree = Arc::new(Tree::new(files, dir));
        let (counters, gate) = (Counters::default(), Gate::default());
        start::furnish(&tree)?;
        // On a disk that takes no writes the stale ones are not in the way either.
        if let Err(error) = start::collect_temps(&tree, &counters) {
            gate.bad(&error.into());
        }
        let shelf = Shelf::Disk(Arc::clone(&tree));
        let mut index = Index::new(limits);
        start::take_stock(&tree, &mut index, &counters, |len| shelf.charge(len))?;
        let mut orphans = Vec::new();
        let (log, damaged) = Log::open(&tree, |event| orphans.extend(replay(&mut index, event)))?;
        counters.corrupt.add(damaged);
        if log.tail().is_broken() {
            gate.bad(&StoreError::ReadOnly);
        }
        // Only now: that one made room for another stands in the log behind the other.
        orphans.extend(index.excess_records());
        let parts = Parts {
            shelf,
            ledger: Ledger::Disk(log),
            index,
            counters,
            gate,
            lock: Some(lock),
        };
        let store = parts.assemble(limits);
        store.0.bury(&orphans);
        // The limits may be lower than last time.
        let dropped = store.0.index().shrink();
        // An error is in its standing now; what is there can be served.
        let _ = store.0.evict(&dropped);
        Ok(store)
    }
}

/// A record whose object is gone is gone with it, and named.
fn replay(index: &mut Index, event: Event) -> Option<Hash> {
    match event {
        Event::Set(key, objects, spot) => {
            let orphan = index.set_record(key, &objects, spot).is_err();
            if orphan {
                index.forget_record(&key);
            }
            orphan.then_some(key)
        }
        Event::Remove(key) => {
            index.forget_record(&key);
            None
        }
    }
}

struct Parts {
    shelf: Shelf,
    ledger: Ledger,
    index: Index,
    counters: Counters,
    gate: Gate,
    lock: Option<File>,
}

impl Parts {
    fn assemble(self, limits: Limits) -> Store {
        Store(Arc::new(Inner {
            limits,
            shelf: self.shelf,
            ledger: self.ledger,
            gate: self.gate,
            counters: self.counters,
            index: Mutex::new(self.index),
            stripes: [const { Mutex::new(()) }; super::STRIPES],
            closed: AtomicBool::new(false),
            _lock: self.lock,
        }))
    }
}
