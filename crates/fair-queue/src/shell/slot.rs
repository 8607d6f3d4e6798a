//! A place to work in, held by value.

use std::fmt;
use std::time::Duration;

use super::FairQueue;
use crate::queue::Account;

/// A slot in use. Dropping it hands it to the next in fair order, also while a panic unwinds.
#[must_use = "the slot is given back as soon as it is dropped"]
pub struct Slot {
    queue: FairQueue,
    account: Account,
    /// As expected, unless it was settled.
    real_cost: u64,
    /// When it was settled, if that is known.
    ended_at: Option<Duration>,
}

impl Slot {
    #[inline]
    pub(super) fn new(queue: FairQueue, account: Account) -> Self {
        Self {
            queue,
            real_cost: account.cost,
            account,
            ended_at: None,
        }
    }

    /// Ends the work and replaces its expected cost by the real one.
    #[inline]
    pub fn settle(mut self, real_cost: u64) {
        self.real_cost = real_cost;
    }

    /// The same for who has read the clock a moment ago: it is not read again.
    #[inline]
    pub fn settle_at(mut self, real_cost: u64, now: Duration) {
        self.real_cost = real_cost;
        self.ended_at = Some(now);
    }

    /// Whom the work was charged to.
    pub fn account(&self) -> Account {
        self.account
    }
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        self.queue
            .release(&self.account, self.real_cost, self.ended_at);
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}
