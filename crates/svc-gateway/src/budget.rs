//! How many retries an upstream may be given: a part of its requests, and what the last second's would have earned.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Thousandths of a retry that a request earns: one in ten.
const EARNED: i64 = 100;
/// Thousandths that a retry costs.
const COST: i64 = 1_000;
/// Retries that may always be in hand: a lone failure on a quiet upstream is tried again, and fifty requests of which
/// each fails are still no more than sixty calls.
const IN_HAND: i64 = 5 * COST;
/// Bits of the count of a second's requests, below the number of the second.
const COUNT_BITS: u32 = 32;

/// The budget of one upstream. A busy one may save what the requests of a second earn, so that what breaks off at once
/// is tried again; a long calm does not pay for a storm. While as many ask as before, there are no more than six calls
/// for five requests over a second, or over fifty requests where that takes longer. Besides, there may be one for each
/// answer: the connection it was good for is kept, and may be found closed.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    /// In thousandths.
    left: AtomicI64,
    /// What may be saved, by the requests of the second before.
    most: AtomicI64,
    /// The second, and its requests so far.
    counted: AtomicU64,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self {
            left: AtomicI64::new(IN_HAND),
            most: AtomicI64::new(IN_HAND),
            counted: AtomicU64::new(0),
        }
    }
}

impl RetryBudget {
    /// A request is sent for the first time.
    pub(crate) fn earn(&self, now: Duration) {
        let counted = self.counted.fetch_add(1, Ordering::Relaxed);
        if counted >> COUNT_BITS != second(now) {
            self.turn(counted, now);
        }
        // Read first: in calm weather it is full, and nothing has to be written.
        if self.left.load(Ordering::Relaxed) < self.most.load(Ordering::Relaxed) {
            self.left.fetch_add(EARNED, Ordering::Relaxed);
        }
    }

    /// Another second has begun. One of those who see it first says so; what the others count meanwhile may be lost.
    #[cold]
    fn turn(&self, counted: u64, now: Duration) {
        let (was, is) = (counted >> COUNT_BITS, second(now));
        if is < was {
            // Somebody who looked at the clock before the turn and counts after it.
            return;
        }
        let requests = match is - was {
            1 => (counted & ((1 << COUNT_BITS) - 1)) as i64,
            // There was a second without any.
            _ => 0,
        };
        let fresh = self.counted.compare_exchange(
            counted + 1,
            is << COUNT_BITS | 1,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if fresh.is_ok() {
            let most = (requests * EARNED).max(IN_HAND);
            self.most.store(most, Ordering::Relaxed);
            self.left.fetch_min(most, Ordering::Relaxed);
        }
    }

    /// Whether there may be one retry; it is paid for if so.
    pub(crate) fn spend(&self) -> bool {
        let pay = |left: i64| (left >= COST).then_some(left - COST);
        let paid = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay);
        paid.is_ok()
    }
}

/// The second's number; it fits above the count for longer than a node lives.
fn second(now: Duration) -> u64 {
    now.as_secs() & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests;
