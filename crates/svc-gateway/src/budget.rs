//! How many retries an upstream may be given: a part of its requests, and a few in hand.

use std::sync::atomic::{AtomicI64, Ordering};

/// Thousandths of a retry that a request earns: one in ten.
const EARNED: i64 = 100;
/// Thousandths that a retry costs.
const COST: i64 = 1_000;
/// Retries in hand at first: a lone failure on a quiet upstream is tried again.
const IN_HAND: i64 = 10 * COST;
/// Never more than these are saved up: a long calm does not pay for a storm.
const MOST: i64 = 100 * COST;

/// The budget of one upstream.
#[derive(Debug)]
pub(crate) struct RetryBudget(AtomicI64);

impl Default for RetryBudget {
    fn default() -> Self {
        Self(AtomicI64::new(IN_HAND))
    }
}

impl RetryBudget {
    /// A request is sent for the first time.
    pub(crate) fn earn(&self) {
        // Read first: in calm weather it is full, and nobody has to write to a line all cores share.
        if self.0.load(Ordering::Relaxed) < MOST {
            self.0.fetch_add(EARNED, Ordering::Relaxed);
        }
    }

    /// Whether there may be one retry; it is paid for if so.
    pub(crate) fn spend(&self) -> bool {
        let pay = |left: i64| (left >= COST).then_some(left - COST);
        let paid = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay);
        paid.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-10
    // attack: H-08
    #[test]
    fn when_everything_fails_retries_stay_a_tenth_of_the_requests() {
        let budget = RetryBudget::default();
        let retries: usize = (0..10_000)
            .map(|_| {
                budget.earn();
                (0..2).take_while(|_| budget.spend()).count()
            })
            .sum();
        assert!((1_000..=1_010).contains(&retries), "{retries}");
    }

    // req: GW-10
    #[test]
    fn a_long_calm_does_not_pay_for_a_storm() {
        let budget = RetryBudget::default();
        (0..1_000_000).for_each(|_| budget.earn());
        let retries = (0..1_000).filter(|_| budget.spend()).count();
        assert!(retries <= 101, "{retries}");
    }
}
