//! Models of calls by number.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{catches, explore};
use crate::Calls;
use crate::bug::Bug;

/// Two call while one answers and leaves: each call is answered, or somebody is told to wake who answers.
fn nobody_calls_in_vain() {
    let (calls, woken) = (Arc::new(Calls::new(2)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..2)
        .map(|number| {
            let (calls, woken) = (calls.clone(), woken.clone());
            thread::spawn(move || {
                if calls.call(number) {
                    woken.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut answered = 0;
    calls.attend();
    while calls.answer(0).is_some() {
        answered += 1;
    }
    let again = calls.leave();
    callers
        .into_iter()
        .for_each(|caller| caller.join().unwrap());
    if !again && woken.load(Ordering::Relaxed) == 0 {
        assert_eq!(answered, 2, "somebody was not heard");
    }
}

/// What was done before a call is seen by whoever answers it.
fn what_was_done_before_is_seen() {
    let (calls, done) = (Arc::new(Calls::new(1)), Arc::new(AtomicUsize::new(0)));
    let caller = {
        let (calls, done) = (calls.clone(), done.clone());
        thread::spawn(move || {
            done.store(1, Ordering::Relaxed);
            let _to_be_woken = calls.call(0);
        })
    };
    calls.attend();
    if calls.answer(0).is_some() {
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }
    caller.join().unwrap();
}

// req: KN-05
#[test]
fn calls_are_answered() {
    explore("calls", nobody_calls_in_vain);
}

// req: KN-05
#[test]
fn calls_carry_what_was_done() {
    explore("calls carry", what_was_done_before_is_seen);
}

// req: KN-05
#[test]
fn bugs_of_calls_are_caught() {
    for bug in [Bug::CallWithoutFence, Bug::LeaveWithoutSecondLook] {
        catches(bug, "models::calls::calls_are_answered");
    }
}
