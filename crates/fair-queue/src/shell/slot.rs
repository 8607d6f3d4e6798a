//! A place to work in, held by value.

use std::fmt;
use std::time::Duration;

use super::charge::Charge;
use super::common::Common;
use crate::queue::Account;

/// A slot in use. Dropping it hands it to the next in fair order, also while a panic unwinds.
#[must_use = "the slot is given back as soon as it is dropped"]
pub struct Slot {
    /// `None` once it was given back.
    shared: Option<Common>,
    charge: Charge,
}

impl Slot {
    #[inline]
    pub(super) fn new(shared: Common, charge: Charge) -> Self {
        Self {
            shared: Some(shared),
            charge,
        }
    }

    /// Replaces the expected cost by a better guess while the work goes on: the tenant owes it from now on, and not
    /// only when the work has ended. Without anybody waiting nobody's share is at stake, and nothing changes.
    pub fn expect(&mut self, cost: u64) {
        let Some(shared) = &self.shared else {
            return;
        };
        if cost != self.charge.cost && !shared.word.is_unawaited() {
            shared.line().queue.settle(self.charge.account(), cost);
            self.charge.cost = cost;
        }
    }

    /// Ends the work and replaces its expected cost by the real one.
    #[inline]
    pub fn settle(mut self, real_cost: u64) {
        self.give_back(real_cost, None);
    }

    /// The same for who has read the clock a moment ago: it is not read again.
    #[inline]
    pub fn settle_at(mut self, real_cost: u64, now: Duration) {
        self.give_back(real_cost, Some(now));
    }

    #[inline(always)]
    fn give_back(&mut self, real_cost: u64, now: Option<Duration>) {
        if let Some(shared) = self.shared.take() {
            // SAFETY: it was counted when the slot was made, and is given back once.
            unsafe { shared.release(&self.charge, real_cost, now) };
        }
    }

    /// Whom the work was charged to.
    pub fn account(&self) -> Account {
        self.charge.account()
    }
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        self.give_back(self.charge.cost, None);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("account", &self.account())
            .finish_non_exhaustive()
    }
}
