//! Loom models of one set with one entry: charging, putting in and evicting against each other.

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use model_kit::explore;

use crate::bug::{self, Bug};
use crate::{Quota, Rate};

fn catches(seed: Bug, test: &str) {
    model_kit::catches(bug::SWITCH, seed, test);
}

const INTERVAL: Duration = Duration::from_secs(1);

/// One unit a second, one at once, and a single entry: the smallest crowd.
fn quota() -> Arc<Quota> {
    let rate = Rate::new(1, INTERVAL).expect("a good rate");
    Arc::new(Quota::new(rate, 1))
}

fn allowed(quota: &Quota, key: u64, now: Duration) -> usize {
    usize::from(quota.check(key, 1, now).is_ok())
}

#[test]
fn two_threads_with_one_new_key_get_one_unit() {
    explore("one new key", || {
        let quota = quota();
        let other = {
            let quota = Arc::clone(&quota);
            thread::spawn(move || allowed(&quota, 1, INTERVAL))
        };
        let here = allowed(&quota, 1, INTERVAL);
        assert_eq!(here + other.join().expect("the other ends"), 1);
    });
}

#[test]
fn two_threads_with_one_known_key_get_one_unit() {
    explore("one known key", || {
        let quota = quota();
        assert_eq!(allowed(&quota, 1, INTERVAL), 1);
        let other = {
            let quota = Arc::clone(&quota);
            thread::spawn(move || allowed(&quota, 1, 2 * INTERVAL))
        };
        let here = allowed(&quota, 1, 2 * INTERVAL);
        assert_eq!(here + other.join().expect("the other ends"), 1);
    });
}

#[test]
fn an_entry_that_changes_hands_is_charged_to_nobody_else() {
    explore("evict against charge", || {
        let quota = quota();
        // Known, and full again at the moment of the race.
        assert_eq!(allowed(&quota, 1, INTERVAL), 1);
        let newcomer = {
            let quota = Arc::clone(&quota);
            thread::spawn(move || allowed(&quota, 2, 2 * INTERVAL))
        };
        let owner = allowed(&quota, 1, 2 * INTERVAL);
        let newcomer = newcomer.join().expect("the newcomer ends");
        assert_eq!(
            (owner, newcomer),
            (1, 1),
            "each has its unit, one of them in the overflow"
        );
        assert_eq!(
            allowed(&quota, 1, 2 * INTERVAL),
            0,
            "the owner's unit was charged"
        );
        assert_eq!(
            allowed(&quota, 2, 2 * INTERVAL),
            0,
            "the newcomer's unit was charged"
        );
    });
}

#[test]
fn two_newcomers_do_not_get_the_same_entry() {
    explore("two newcomers", || {
        let quota = quota();
        let other = {
            let quota = Arc::clone(&quota);
            thread::spawn(move || allowed(&quota, 2, INTERVAL))
        };
        let here = allowed(&quota, 3, INTERVAL);
        assert_eq!((here, other.join().expect("the other ends")), (1, 1));
        assert_eq!(allowed(&quota, 2, INTERVAL), 0);
        assert_eq!(allowed(&quota, 3, INTERVAL), 0);
    });
}

#[test]
fn seeded_bugs_are_caught() {
    let caught_by = [
        (
            Bug::ChargeInTwoSteps,
            "two_threads_with_one_known_key_get_one_unit",
        ),
        (
            Bug::EvictUnmarked,
            "an_entry_that_changes_hands_is_charged_to_nobody_else",
        ),
        (
            Bug::InsertUnseen,
            "two_threads_with_one_new_key_get_one_unit",
        ),
        (
            Bug::TrustFirstLook,
            "an_entry_that_changes_hands_is_charged_to_nobody_else",
        ),
    ];
    for (bug, test) in caught_by {
        catches(bug, &format!("models::{test}"));
    }
}
