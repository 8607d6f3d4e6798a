//! What a gate has counted since it was made.

use std::hash::Hash;

use crate::gate::Gate;
use crate::rejection::Reason;
use crate::tally::Event;

/// Counts since the gate was made. All of them only grow, but for `keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Leases given out.
    pub acquired: u64,
    /// Refusals by reason.
    pub rejected: Rejected,
    /// Callers that had to wait.
    pub queued: u64,
    /// Of these, those whose time ended in line.
    pub timed_out: u64,
    /// Keys forgotten by sweeps.
    pub evicted: u64,
    /// How often a breaker opened.
    pub breaker_openings: u64,
    /// Lookups of keys beyond the cap.
    pub shared_lookups: u64,
    /// Keys that have an entry now.
    pub keys: usize,
}

/// Refusals by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected([u64; Reason::ALL.len()]);

impl Rejected {
    /// Those with this reason.
    pub fn by(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl<K: Hash + Eq + Clone> Gate<K> {
    /// The counts so far. Admissions are counted with their entries, so this visits every key.
    pub fn statistics(&self) -> Statistics {
        let core = self.core();
        let counts = core.table.counts();
        Statistics {
            acquired: counts.admitted,
            rejected: Rejected(Reason::ALL.map(|reason| core.tally.rejections(reason))),
            queued: counts.queued,
            timed_out: core.tally.events(Event::TimedOut),
            evicted: core.table.evicted(),
            breaker_openings: core.tally.events(Event::BreakerOpened),
            shared_lookups: core.table.shared(),
            keys: core.table.keys(),
        }
    }
}
