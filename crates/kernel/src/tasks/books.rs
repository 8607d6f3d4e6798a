//! One kind's part of one group: how many were spawned, and what became of them.
//!
//! A task pays two additions in words of its group alone: one at its birth, in a word of its thread, and one at its
//! end. What the metrics say is carried over when somebody looks, and when the group is gone.

use std::sync::atomic::{AtomicU64, Ordering};

use super::births::Births;
use super::{ABORTED, CANCELED, COMPLETED, PANICKED, SPAWNED, TaskKind};
use crate::metrics::{Counter, MetricSpec, Registry};

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Completed,
    Canceled,
    Aborted,
}

/// Set in each word of ends once the group was written off: from then on the word counts nothing.
const WRITTEN_OFF: u64 = 1 << 63;

#[derive(Default)]
pub(super) struct Books {
    births: Births,
    /// Ends by fate; see [`WRITTEN_OFF`].
    ends: [AtomicU64; 3],
    /// What stood in each word of ends when the group was written off.
    settled: [AtomicU64; 3],
    panicked: AtomicU64,
}

impl Books {
    #[inline]
    pub(super) fn spawn(&self) {
        self.births.add();
    }

    pub(super) fn panicked(&self) {
        self.panicked.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn end(&self, fate: Fate) {
        self.ends[fate as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// Tasks that may still call [`Books::end`]: other than the live ones, those written off too.
    pub(super) fn unended(&self) -> u64 {
        let ended = |fate| {
            let word = self.ends[fate as usize].load(Ordering::SeqCst);
            self.settled(fate) + (word & !WRITTEN_OFF)
        };
        let ended = ended(Fate::Completed) + ended(Fate::Canceled) + ended(Fate::Aborted);
        self.births.sum().saturating_sub(ended)
    }

    /// Begins anew. Nobody writes any more.
    pub(super) fn clear(&self) {
        self.births.clear();
        for word in self.ends.iter().chain(&self.settled) {
            word.store(0, Ordering::SeqCst);
        }
        self.panicked.store(0, Ordering::SeqCst);
    }

    /// Tasks that have not ended. Ends are read before births, so it is never too low.
    pub(super) fn live(&self) -> u64 {
        let ended: u64 = [Fate::Completed, Fate::Canceled, Fate::Aborted]
            .into_iter()
            .map(|fate| self.ended(fate))
            .sum();
        self.births.sum().saturating_sub(ended)
    }

    /// Counts whoever is left as aborted, now and for good, and whoever comes later. Returns how many were left.
    pub(super) fn write_off(&self) -> u64 {
        // The aborted last: once their word is settled, so are the others, of which it is the rest.
        for fate in [Fate::Completed, Fate::Canceled, Fate::Aborted] {
            let before = self.ends[fate as usize].swap(WRITTEN_OFF, Ordering::SeqCst);
            if before & WRITTEN_OFF != 0 {
                return 0;
            }
            self.settled[fate as usize].store(before, Ordering::SeqCst);
        }
        self.ended(Fate::Aborted) - self.settled(Fate::Aborted)
    }

    fn settled(&self, fate: Fate) -> u64 {
        self.settled[fate as usize].load(Ordering::SeqCst)
    }

    /// In the order of [`Published`]. Births are read last: no scrape shows more ends than births.
    fn totals(&self) -> [u64; 5] {
        [
            self.ended(Fate::Completed),
            self.ended(Fate::Canceled),
            self.ended(Fate::Aborted),
            self.panicked.load(Ordering::SeqCst),
            self.births.sum(),
        ]
    }

    fn ended(&self, fate: Fate) -> u64 {
        let word = self.ends[fate as usize].load(Ordering::SeqCst);
        match (fate, word & WRITTEN_OFF != 0) {
            (_, false) => word,
            (Fate::Completed | Fate::Canceled, true) => self.settled(fate),
            (Fate::Aborted, true) => {
                let others = self.ended(Fate::Completed) + self.ended(Fate::Canceled);
                self.births.sum() - others
            }
        }
    }
}

/// Carries books over into the metrics.
pub(super) struct Published {
    lines: [(AtomicU64, Counter); 5],
}

impl Published {
    pub(super) fn new(registry: &Registry, kind: &'static TaskKind) -> Self {
        let line =
            |spec: &'static MetricSpec| (AtomicU64::new(0), registry.counter(spec, &[kind.name]));
        Self {
            lines: [&COMPLETED, &CANCELED, &ABORTED, &PANICKED, &SPAWNED].map(line),
        }
    }

    /// Adds what has come since the last time.
    pub(super) fn publish(&self, books: &Books) {
        for ((told, counter), now) in self.lines.iter().zip(books.totals()) {
            let before = told.fetch_max(now, Ordering::SeqCst);
            counter.inc_by(now.saturating_sub(before));
        }
    }

    /// Publishes for the last time: whatever the books say later is no more than what was told.
    pub(super) fn close(&self, books: &Books) {
        for ((told, counter), now) in self.lines.iter().zip(books.totals()) {
            let before = told.swap(u64::MAX, Ordering::SeqCst);
            counter.inc_by(now.saturating_sub(before));
        }
    }
}
