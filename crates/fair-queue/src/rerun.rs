//! Shows that a model would notice: runs it again with a bug in place.

use std::process::Command;

use crate::bug::{self, Bug};

/// Runs the named test again, in a process with the bug in place, which must make it fail.
///
/// A process of its own because a deadlock found by a checker may end in an abort: the futures
/// that sleep are dropped outside of the model.
pub(crate) fn catches(seed: Bug, test: &str) {
    let mut rerun = Command::new(std::env::current_exe().expect("a test knows its program"));
    rerun
        .args(["--exact", test, "--nocapture"])
        .env(bug::SWITCH, format!("{seed:?}"))
        // Not cut off: the search ends at the bug.
        .env("LOOM_MAX_PREEMPTIONS", "2");
    let output = rerun.output().expect("the test program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{seed:?} survived {test}");
    assert!(
        complaint.contains("panicked at"),
        "{test} failed for another reason: {complaint}"
    );
    let first = complaint
        .lines()
        .skip_while(|line| !line.contains("panicked at"))
        .nth(1);
    println!("{seed:?} caught: {}", first.unwrap_or_default());
}
