//! Who had to wait or was refused: the busiest tenants by name, in a table that never grows.

use std::net::IpAddr;
use std::sync::Arc;

use fair_queue::Class;
use hashbrown::HashMap;
use kernel::lock::{Lock, LockSpec};
use passport::Identity;

use crate::caller::Caller;

/// Guards the ledger.
pub(crate) static LEDGER: LockSpec = LockSpec {
    name: "gateway_ledger",
    level: 63,
    doc: "tenants by name; taken when a request had to wait or is refused, never for one that passes",
};

/// Tenants kept.
pub(crate) const KEPT: usize = 64;
/// After so many entries what is past counts half, so that who was busy long ago makes room.
const FADE_AFTER: u32 = 4_096;

/// The busiest tenants.
pub(crate) struct Ledger {
    book: Lock<Book>,
}

#[derive(Default)]
struct Book {
    accounts: HashMap<u64, Account>,
    entries: u32,
}

/// What is known of one tenant since it came into the ledger.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) whose: Whose,
    pub(crate) class: Class,
    pub(crate) weight: u32,
    /// Requests that waited and then had a place.
    pub(crate) waited: u64,
    /// Refusals by reason.
    pub(crate) refused: Vec<(&'static str, u64)>,
    /// What it has to be busier than to be pushed out. Includes that of whom it pushed out, as it may have been as
    /// busy before it was kept.
    activity: u64,
}

/// Whose account it is.
#[derive(Clone, Debug)]
pub(crate) enum Whose {
    Tenant(Arc<Identity>),
    Address(IpAddr),
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            book: Lock::new(&LEDGER, Book::default()),
        }
    }

    /// A request had a place after it had waited.
    pub(crate) fn waited(&self, caller: &Caller) {
        self.book.lock().account(caller).waited += 1;
    }

    /// A request was refused.
    pub(crate) fn refused(&self, caller: &Caller, reason: &'static str) {
        let mut book = self.book.lock();
        let refused = &mut book.account(caller).refused;
        match refused.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => refused.push((reason, 1)),
        }
    }

    /// All accounts by their keys, the busiest first.
    pub(crate) fn accounts(&self) -> Vec<(u64, Account)> {
        let book = self.book.lock();
        let kept = book.accounts.iter();
        let mut accounts: Vec<_> = kept.map(|(key, account)| (*key, account.clone())).collect();
        drop(book);
        accounts.sort_by(|(a, x), (b, y)| y.activity.cmp(&x.activity).then(a.cmp(b)));
        accounts
    }
}

impl Book {
    /// The caller's account. A newcomer takes the place of the least busy.
    fn account(&mut self, caller: &Caller) -> &mut Account {
        self.fade();
        let mut inherited = 0;
        if self.accounts.len() >= KEPT && !self.accounts.contains_key(&caller.key) {
            let least = self.accounts.iter().map(|(key, one)| (one.activity, *key));
            if let Some((activity, key)) = least.min() {
                self.accounts.remove(&key);
                inherited = activity;
            }
        }
        let account = self.accounts.entry(caller.key);
        let account = account.or_insert_with(|| Account::of(caller, inherited));
        (account.class, account.weight) = (caller.class, caller.weight);
        account.activity += 1;
        account
    }

    fn fade(&mut self) {
        self.entries += 1;
        if self.entries >= FADE_AFTER {
            self.entries = 0;
            for account in self.accounts.values_mut() {
                account.activity /= 2;
            }
        }
    }
}

impl Account {
    fn of(caller: &Caller, activity: u64) -> Self {
        Self {
            whose: match &caller.identity {
                Some(identity) => Whose::Tenant(identity.clone()),
                None => Whose::Address(caller.address),
            },
            class: caller.class,
            weight: caller.weight,
            waited: 0,
            refused: Vec::new(),
            activity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(address: u32) -> Caller {
        let address = IpAddr::from(address.to_be_bytes());
        Caller {
            address,
            trusted: false,
            identity: None,
            key: crate::quota::address_key(address),
            class: Class::ANON,
            weight: 1,
        }
    }

    // req: KN-22
    #[test]
    fn any_number_of_tenants_takes_no_more_room_than_the_table_has() {
        let ledger = Ledger::new();
        for tenant in 0..100_000 {
            ledger.refused(&caller(tenant), "share-full");
        }
        let book = ledger.book.lock();
        assert_eq!(book.accounts.len(), KEPT);
        assert!(book.accounts.capacity() <= 4 * KEPT);
    }

    // req: FQ-09
    #[test]
    fn the_busy_stay_among_a_crowd_of_strangers() {
        let ledger = Ledger::new();
        let (busy, strangers) = (caller(1), 1_000..21_000);
        for (turn, stranger) in strangers.enumerate() {
            ledger.refused(&caller(stranger), "rate-ip");
            if turn % 10 == 0 {
                ledger.refused(&busy, "share-full");
                ledger.waited(&busy);
            }
        }
        let accounts = ledger.accounts();
        let (key, first) = &accounts[0];
        assert_eq!(*key, busy.key);
        assert_eq!(first.waited, 2_000);
        assert_eq!(first.refused, [("share-full", 2_000)]);
    }

    #[test]
    fn who_was_busy_long_ago_makes_room() {
        let ledger = Ledger::new();
        for _ in 0..10_000 {
            ledger.waited(&caller(1));
        }
        for _ in 0..20 {
            for tenant in 100..100 + 2 * KEPT as u32 {
                for _ in 0..20 {
                    ledger.waited(&caller(tenant));
                }
            }
        }
        let kept = ledger.accounts();
        assert!(kept.iter().all(|(key, _)| *key != caller(1).key));
    }
}
