//! Whom the work of a slot was charged to.

use crate::queue::Account;
use crate::settings::Class;
use crate::work::Work;

/// An [`Account`] as a slot carries it: in whole words, as it is moved. A processor waits for a word that was
/// written in parts.
#[derive(Clone, Copy)]
pub(super) struct Charge {
    tenant: u64,
    pub(super) cost: u64,
    /// The weight above the class.
    weight_and_class: u64,
}

impl Charge {
    #[inline(always)]
    pub(super) fn of(work: &Work) -> Self {
        Self {
            tenant: work.tenant,
            cost: work.cost,
            weight_and_class: u64::from(work.weight) << 16 | u64::from(work.class.0),
        }
    }

    #[inline(always)]
    pub(super) fn class(&self) -> Class {
        Class(self.weight_and_class as u16)
    }

    pub(super) fn account(&self) -> Account {
        Account {
            class: self.class(),
            tenant: self.tenant,
            weight: (self.weight_and_class >> 16) as u32,
            cost: self.cost,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::settings::MAX_WEIGHT;

    #[test]
    fn an_account_comes_out_as_the_work_went_in() {
        for weight in [1, 7, MAX_WEIGHT] {
            let work = Work::of(Class(u16::MAX), u64::MAX)
                .weight(weight)
                .cost(u64::MAX);
            let account = Charge::of(&work).account();
            assert_eq!((account.class, account.tenant), (work.class, work.tenant));
            assert_eq!((account.weight, account.cost), (weight, work.cost));
        }
    }
}
