//! Models of a limit that moves while others enter and leave.

use std::pin::pin;

use loom::future::block_on;
use loom::thread;

use super::{NOW, catches, door, explore, poll_once};
use crate::Limit;
use crate::bug::Bug;

/// The limit is raised while somebody joins the line and the slot stays out: the waiter gets in.
fn a_raise_is_heard_by_those_who_wait() {
    let door = door(Limit::fixed(1).with_queue(1));
    let held = door.try_enter(NOW).expect("all are free");
    let waiter = {
        let door = door.clone();
        thread::spawn(move || block_on(door.wait(NOW, None)).map(drop))
    };
    door.resize(2).expect("a limit");
    waiter.join().unwrap().expect("there is a slot for both");
    drop(held);
    assert_eq!(door.in_flight(), 0);
}

/// The limit is lowered from two to one; then one of two inside leaves while another waits and one
/// tries: nobody is admitted before the debt is paid.
fn debt_is_paid_before_anybody_enters() {
    let door = door(Limit::fixed(2).with_queue(1));
    let (first, second) = (door.try_enter(NOW).expect("free"), door.try_enter(NOW));
    door.resize(1).expect("a limit");
    let mut waiter = pin!(door.wait(NOW, None));
    assert!(poll_once(&mut waiter).is_none(), "in debt");
    let trier = {
        let door = door.clone();
        thread::spawn(move || door.try_enter(NOW).is_ok())
    };
    drop(first);
    assert!(!trier.join().unwrap(), "one is inside, one is allowed");
    assert!(
        poll_once(&mut waiter).is_none(),
        "the debt was paid with the slot"
    );
    drop(second);
    assert!(poll_once(&mut waiter).is_some_and(|entered| entered.is_ok()));
    assert_eq!(door.in_flight(), 0);
}

/// Lowering meets a release and a waiter: whatever comes first, the waiter gets in and the count
/// is right afterwards.
fn a_resize_races_a_release() {
    let door = door(Limit::fixed(2).with_queue(1));
    let (first, second) = (door.try_enter(NOW), door.try_enter(NOW));
    let waiter = {
        let door = door.clone();
        thread::spawn(move || block_on(door.wait(NOW, None)).map(drop))
    };
    let resizer = {
        let door = door.clone();
        thread::spawn(move || door.resize(1))
    };
    drop(first);
    drop(second);
    waiter.join().unwrap().expect("both have left");
    resizer.join().unwrap().expect("a limit");
    assert_eq!((door.in_flight(), door.limit()), (0, 1));
}

// req: GT-06
#[test]
fn a_raise_wakes() {
    explore("gate raise", a_raise_is_heard_by_those_who_wait);
}

// req: GT-06
// attack: H-11
#[test]
fn debt_holds() {
    explore("gate debt", debt_is_paid_before_anybody_enters);
}

// req: GT-06
#[test]
fn a_resize_loses_nobody() {
    explore("gate resize", a_resize_races_a_release);
}

// req: GT-06
#[test]
fn bugs_of_resize_are_caught() {
    catches(Bug::RaiseSilently, "models::limits::a_raise_wakes");
    catches(Bug::HandOverDebt, "models::limits::debt_holds");
}
