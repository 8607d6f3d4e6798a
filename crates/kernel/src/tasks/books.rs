//! One kind's part of one group: how many were spawned, and what became of them.
//!
//! A task pays two additions, one at its birth and one at its end, in words of its group alone. What the metrics say is
//! carried over when somebody looks, and when the group is gone.

use std::sync::atomic::{AtomicU64, Ordering};

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
    spawned: AtomicU64,
    /// Ends by fate; see [`WRITTEN_OFF`].
    ends: [AtomicU64; 3],
    /// What stood in each word of ends when the group was written off.
    settled: [AtomicU64; 3],
    panicked: AtomicU64,
}

impl Books {
    #[inline]
    pub(super) fn spawn(&self) {
        self.spawned.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn panicked(&self) {
        self.panicked.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes note of an end; says whether it still counted.
    #[inline]
    pub(super) fn end(&self, fate: Fate) -> bool {
        self.ends[fate as usize].fetch_add(1, Ordering::SeqCst) & WRITTEN_OFF == 0
    }

    /// Tasks that have not ended. Ends are read before births, so it is never too low.
    pub(super) fn live(&self) -> u64 {
        let ended: u64 = [Fate::Completed, Fate::Canceled, Fate::Aborted]
            .into_iter()
            .map(|fate| self.ended(fate))
            .sum();
        self.spawned.load(Ordering::SeqCst).saturating_sub(ended)
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

    fn ended(&self, fate: Fate) -> u64 {
        let word = self.ends[fate as usize].load(Ordering::SeqCst);
        match (fate, word & WRITTEN_OFF != 0) {
            (_, false) => word,
            (Fate::Completed | Fate::Canceled, true) => self.settled(fate),
            (Fate::Aborted, true) => {
                let others = self.ended(Fate::Completed) + self.ended(Fate::Canceled);
                self.spawned.load(Ordering::SeqCst) - others
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

    /// Adds what has come since the last time. Births are read last: no scrape shows more ends than births.
    pub(super) fn publish(&self, books: &Books) {
        let now = [
            books.ended(Fate::Completed),
            books.ended(Fate::Canceled),
            books.ended(Fate::Aborted),
            books.panicked.load(Ordering::SeqCst),
            books.spawned.load(Ordering::SeqCst),
        ];
        for ((told, counter), now) in self.lines.iter().zip(now) {
            let before = told.fetch_max(now, Ordering::SeqCst);
            counter.inc_by(now.saturating_sub(before));
        }
    }
}
