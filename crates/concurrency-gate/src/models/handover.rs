//! Models of the word and the line: entering, leaving, cancelling, closing.

use std::pin::pin;

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{self, JoinHandle};

use super::{NOW, catches, door, explore, poll_once};
use crate::bug::Bug;
use crate::{KeyHandle, Lease, Limit, Reason};

/// Counts who is inside, apart from what the gate says of itself.
#[derive(Clone)]
struct Room {
    door: KeyHandle<u8>,
    inside: Arc<AtomicU32>,
}

impl Room {
    fn with(limit: Limit) -> Self {
        Self {
            door: door(limit),
            inside: Arc::new(AtomicU32::new(0)),
        }
    }

    fn stay(&self, lease: Lease<'_, u8>) {
        let others = self.inside.fetch_add(1, Ordering::AcqRel);
        assert!(others < self.door.limit(), "more inside than the limit");
        self.inside.fetch_sub(1, Ordering::AcqRel);
        drop(lease);
    }

    fn visiting(&self) -> JoinHandle<()> {
        let room = self.clone();
        thread::spawn(move || {
            let lease = block_on(room.door.wait(NOW, None)).expect("there is room to wait");
            room.stay(lease);
        })
    }
}

/// Two visitors and one who only tries, one slot: all get in, never two at once.
fn the_limit_holds_and_all_are_served() {
    let room = Room::with(Limit::fixed(1).with_queue(2));
    let visitors = [room.visiting(), room.visiting()];
    if let Ok(lease) = room.door.try_enter(NOW) {
        room.stay(lease);
    }
    visitors
        .into_iter()
        .for_each(|visitor| visitor.join().unwrap());
    assert_eq!((room.door.in_flight(), room.door.waiting()), (0, 0));
}

/// A waiter is cancelled while the slot is handed to it: the next one gets it.
fn a_cancelled_waiter_passes_its_slot_on() {
    let room = Room::with(Limit::fixed(1).with_queue(2));
    let held = room.door.try_enter(NOW).expect("all are free");
    let quitter = {
        let room = room.clone();
        thread::spawn(move || drop(poll_once(&mut pin!(room.door.wait(NOW, None)))))
    };
    let visitor = room.visiting();
    room.stay(held);
    quitter.join().unwrap();
    visitor.join().unwrap();
    assert_eq!(room.door.in_flight(), 0);
}

/// A waiter looks again before it is called, by another task: the call reaches that one.
fn a_waiter_that_looks_again_misses_nothing() {
    let room = Room::with(Limit::fixed(1).with_queue(1));
    let held = room.door.try_enter(NOW).expect("all are free");
    let restless = {
        let room = room.clone();
        thread::spawn(move || {
            let mut wait = Box::pin(room.door.wait(NOW, None));
            let entered = poll_once(&mut wait).unwrap_or_else(|| block_on(wait));
            room.stay(entered.expect("there is room to wait"));
        })
    };
    room.stay(held);
    restless.join().unwrap();
    assert_eq!((room.door.in_flight(), room.door.waiting()), (0, 0));
}

/// One place in line, two who want it while a slot comes free: a refusal means that the line was
/// full, and whoever got a place gets in.
fn the_line_is_never_longer_than_allowed() {
    let door = door(Limit::fixed(1).with_queue(1));
    let held = door.try_enter(NOW).expect("all are free");
    let callers = [(), ()].map(|()| {
        let door = door.clone();
        thread::spawn(move || match block_on(door.wait(NOW, None)) {
            Ok(lease) => drop(lease),
            Err(rejection) => assert_eq!(rejection.reason(), Reason::QueueFull),
        })
    });
    assert!(door.waiting() <= 1);
    drop(held);
    callers
        .into_iter()
        .for_each(|caller| caller.join().unwrap());
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

/// Close meets two waiters while the slot stays out: both are told.
fn close_lets_nobody_wait_on() {
    let gate = super::gate(Limit::fixed(1).with_queue(2));
    let door = gate.handle(&0, NOW);
    let held = door.try_enter(NOW).expect("all are free");
    let waiters = [(), ()].map(|()| {
        let door = door.clone();
        thread::spawn(move || block_on(door.wait(NOW, None)).is_err())
    });
    gate.close();
    assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap()));
    drop(held);
    assert_eq!(door.in_flight(), 0);
    assert!(door.try_enter(NOW).is_err());
}

// req: GT-04
#[test]
fn the_limit_holds() {
    explore("gate limit", the_limit_holds_and_all_are_served);
}

// req: GT-03, GT-04
#[test]
fn cancellation_loses_no_slot() {
    explore("gate cancel", a_cancelled_waiter_passes_its_slot_on);
}

// req: GT-04
#[test]
fn looking_again_loses_no_call() {
    explore("gate look again", a_waiter_that_looks_again_misses_nothing);
}

// req: GT-04
#[test]
fn the_line_is_bounded() {
    explore("gate queue", the_line_is_never_longer_than_allowed);
}

// req: GT-08
#[test]
fn close_is_heard() {
    explore("gate close", close_lets_nobody_wait_on);
}

// req: GT-04
#[test]
fn bugs_of_the_hand_over_are_caught() {
    let limit = "models::handover::the_limit_holds";
    catches(Bug::CountInTwoSteps, limit);
    catches(Bug::FreeInsteadOfHandOver, limit);
    catches(Bug::JoinUnseen, limit);
    catches(Bug::CallBeforeAnswer, limit);
    catches(Bug::LookOnce, limit);
    catches(
        Bug::KeepOldWaker,
        "models::handover::looking_again_loses_no_call",
    );
    catches(
        Bug::KeepSlotOnCancel,
        "models::handover::cancellation_loses_no_slot",
    );
    catches(Bug::CloseSilently, "models::handover::close_is_heard");
}
