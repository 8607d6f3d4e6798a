//! What a store holds and what has happened to it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers for metrics: first what there is, then what has happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Objects that can be had.
    pub objects: u64,
    /// What they take.
    pub bytes: u64,
    /// What is promised to those who write.
    pub reserved: u64,
    /// Records that can be had.
    pub records: u64,
    /// What their log takes.
    pub log_bytes: u64,
    /// Objects written and made visible.
    pub committed: u64,
    /// Objects written that were there already.
    pub duplicates: u64,
    /// Objects that made room.
    pub evicted: u64,
    /// Records that made room, or went with their object.
    pub evicted_records: u64,
    /// Objects, records or parts of the log whose bytes were not what they should be.
    pub corrupt: u64,
    /// Objects or records that the disk did not give back.
    pub unreadable: u64,
    /// Objects removed for being corrupt or unreadable.
    pub quarantined: u64,
    /// Writes that failed.
    pub failed: u64,
    /// Unfinished files that the start found and removed.
    pub stale_temps: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) committed: Counter,
    pub(crate) duplicates: Counter,
    pub(crate) evicted: Counter,
    pub(crate) evicted_records: Counter,
    pub(crate) corrupt: Counter,
    pub(crate) unreadable: Counter,
    pub(crate) quarantined: Counter,
    pub(crate) failed: Counter,
    pub(crate) stale_temps: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    /// What has happened; what there is, is left at zero.
    pub(crate) fn read(&self) -> Stats {
        Stats {
            committed: self.committed.get(),
            duplicates: self.duplicates.get(),
            evicted: self.evicted.get(),
            evicted_records: self.evicted_records.get(),
            corrupt: self.corrupt.get(),
            unreadable: self.unreadable.get(),
            quarantined: self.quarantined.get(),
            failed: self.failed.get(),
            stale_temps: self.stale_temps.get(),
            ..Stats::default()
        }
    }
}
