//! Models of the brief lock.

use loom::sync::Arc;
use loom::thread;

use super::{catches, explore};
use crate::BriefLock;
use crate::bug::Bug;

/// Two threads, one value that takes two steps to change: nobody sees it half changed, and no change is lost. A third
/// thread would add spinners that only yield to each other, which a model cannot tell from a livelock.
fn turns_do_not_overlap() {
    let lock = Arc::new(BriefLock::new((0, 0)));
    let turns = |lock: &BriefLock<(u32, u32)>| {
        for _ in 0..2 {
            lock.with(|pair| {
                assert_eq!(pair.0, pair.1, "seen between two steps");
                pair.0 += 1;
                pair.1 += 1;
            });
        }
    };
    let other = {
        let lock = Arc::clone(&lock);
        thread::spawn(move || turns(&lock))
    };
    turns(&lock);
    other.join().unwrap();
    assert_eq!(lock.with(|pair| *pair), (4, 4));
}

// req: KN-05
#[test]
fn brief_locks_exclude() {
    explore("brief lock", turns_do_not_overlap);
}

// req: KN-05
#[test]
fn bugs_of_brief_locks_are_caught() {
    for bug in [Bug::TakeInTwoSteps, Bug::LeaveUnordered] {
        catches(bug, "models::brief_lock::brief_locks_exclude");
    }
}
