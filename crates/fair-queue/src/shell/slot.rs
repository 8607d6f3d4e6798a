//! A place to work in, held by value.

use std::fmt;

use super::FairQueue;
use crate::queue::Account;

/// A slot in use. Dropping it hands it to the next in fair order, also while a panic unwinds.
#[must_use = "the slot is given back as soon as it is dropped"]
pub struct Slot {
    queue: FairQueue,
    account: Account,
    /// As expected, unless it was settled.
    real_cost: u64,
}

impl Slot {
    #[inline]
    pub(super) fn new(queue: FairQueue, account: Account) -> Self {
        Self {
            queue,
            real_cost: account.cost,
            account,
        }
    }

    /// Ends the work and replaces its expected cost by the real one.
    #[inline]
    pub fn settle(mut self, real_cost: u64) {
        self.real_cost = real_cost;
    }

    /// Whom the work was charged to.
    pub fn account(&self) -> Account {
        self.account
    }
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        self.queue.release(&self.account, self.real_cost);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}
