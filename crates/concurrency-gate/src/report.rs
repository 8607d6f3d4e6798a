//! How the busiest keys stand, for people and machines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;
use std::time::Duration;

use crate::breaker::BreakerState;
use crate::entry::Entry;
use crate::gate::Gate;
use crate::handle::Node;
use crate::histogram::Quantiles;
use crate::statistics::Statistics;
use crate::sync::Arc;

mod json;
mod text;

/// How many keys a report shows.
pub const TOP: usize = 50;

/// The counts of a gate and its keys under the most pressure, the hardest pressed first.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<K> {
    /// The gate as a whole.
    pub statistics: Statistics,
    /// At most [`TOP`] of its keys.
    pub keys: Vec<KeyReport<K>>,
}

/// Whose entry a line of a report is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose<K> {
    /// One key's.
    Key(K),
    /// That of several keys beyond the cap.
    Shared(usize),
}

/// One line of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyReport<K> {
    /// Whose.
    pub whose: Whose<K>,
    /// How many may be inside.
    pub capacity: u32,
    /// How many are.
    pub in_use: u32,
    /// How many more may be. None in debt, after the limit was lowered.
    pub available: u32,
    /// How many wait.
    pub queued: u32,
    /// How many may; zero without a queue.
    pub queue_max: u32,
    /// How long those served from the line had waited. Keys that were never crowded and never
    /// registered keep no distributions.
    pub wait: Quantiles,
    /// How long slots were held, where their holders told.
    pub hold: Quantiles,
    /// Nobody inside and nobody waiting.
    pub idle: bool,
    /// When somebody last entered, in whole seconds.
    pub last_used: Duration,
    /// `None` without a breaker.
    pub breaker: Option<BreakerState>,
}

impl<K> KeyReport<K> {
    /// Those inside and in line, in limits.
    pub fn pressure(&self) -> f64 {
        (f64::from(self.in_use) + f64::from(self.queued)) / f64::from(self.capacity)
    }

    fn of(whose: Whose<K>, entry: &Entry) -> Self {
        let glance = entry.glance();
        let (capacity, in_use) = (entry.limit(), entry.in_flight());
        let limit = &entry.setup().limit;
        Self {
            whose,
            capacity,
            in_use,
            available: capacity.saturating_sub(in_use),
            queued: glance.waiting,
            queue_max: if limit.queue { limit.queue_max } else { 0 },
            wait: glance.waits,
            hold: glance.holds,
            idle: in_use == 0 && glance.waiting == 0,
            last_used: entry.used(),
            breaker: glance.breaker,
        }
    }
}

/// An entry by its pressure.
struct Pressed<K> {
    millionths: u64,
    number: Option<usize>,
    node: Arc<Node<K>>,
}

impl<K: Hash + Eq + Clone> Gate<K> {
    /// The counts and the hardest pressed keys. Visits every key.
    pub fn report(&self) -> Report<K> {
        let mut top: BinaryHeap<Reverse<Pressed<K>>> = BinaryHeap::with_capacity(TOP + 1);
        self.core().table.each(|number, node| {
            let millionths = pressure_millionths(&node.entry);
            let crowded = top.len() >= TOP;
            if crowded
                && top
                    .peek()
                    .is_some_and(|last| millionths <= last.0.millionths)
            {
                return;
            }
            top.push(Reverse(Pressed {
                millionths,
                number,
                node: Arc::clone(node),
            }));
            if crowded {
                top.pop();
            }
        });
        let keys = top.into_sorted_vec().into_iter().map(|Reverse(pressed)| {
            let whose = match pressed.number {
                Some(number) => Whose::Shared(number),
                None => Whose::Key(pressed.node.key.clone()),
            };
            KeyReport::of(whose, &pressed.node.entry)
        });
        Report {
            keys: keys.collect(),
            statistics: self.statistics(),
        }
    }
}

fn pressure_millionths(entry: &Entry) -> u64 {
    let load = u64::from(entry.in_flight()) + u64::from(entry.waiting());
    load * 1_000_000 / u64::from(entry.limit())
}

impl<K> Ord for Pressed<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.millionths.cmp(&other.millionths)
    }
}

impl<K> PartialOrd for Pressed<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> PartialEq for Pressed<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<K> Eq for Pressed<K> {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
