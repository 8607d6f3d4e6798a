//! Loom models of one set with one entry: charging, putting in and evicting against each other.
//!
//! `LOOM_MAX_PREEMPTIONS` deepens the search, `LOOM_LOG=trace` shows an execution.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use loom::sync::Arc;
use loom::thread;

use crate::bug::{self, Bug};
use crate::{Quota, Rate};

/// Two forced switches find nearly all bugs at a small part of the cost of all interleavings.
const PREEMPTIONS: usize = 2;

/// Explores `model` and prints how much was seen.
fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
    let executions = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&executions);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let executions = executions.load(Ordering::Relaxed);
    println!("loom: {name} explored {executions} executions");
    assert!(
        executions > 1,
        "a model with one execution has no concurrency"
    );
}

/// Runs the named test again, in a process with the bug in place, which must make it fail.
fn catches(seed: Bug, test: &str) {
    let output = Command::new(std::env::current_exe().expect("a test knows its program"))
        .args(["--exact", test, "--nocapture"])
        .env(bug::SWITCH, format!("{seed:?}"))
        .output()
        .expect("the test program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{seed:?} survived {test}");
    let mut lines = complaint
        .lines()
        .skip_while(|line| !line.contains("panicked at"));
    assert!(
        lines.next().is_some(),
        "{test} failed otherwise: {complaint}"
    );
    println!(
        "loom: {seed:?} caught: {}",
        lines.next().unwrap_or_default()
    );
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
