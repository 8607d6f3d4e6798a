//! Models of the counted slots.

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{self, JoinHandle};

use super::{catches, explore, poll_once};
use crate::bug::Bug;
use crate::{Permit, Slots};

/// Counts who is inside, apart from what the slots say of themselves.
#[derive(Clone)]
struct Room {
    slots: Slots,
    inside: Arc<AtomicUsize>,
}

impl Room {
    fn with(capacity: usize) -> Self {
        Self {
            slots: Slots::new(capacity),
            inside: Arc::new(AtomicUsize::new(0)),
        }
    }

    fn stay(&self, permit: Permit) {
        let others = self.inside.fetch_add(1, Ordering::AcqRel);
        assert!(others < self.slots.capacity(), "more inside than slots");
        self.inside.fetch_sub(1, Ordering::AcqRel);
        drop(permit);
    }

    fn visiting(&self) -> JoinHandle<()> {
        let room = self.clone();
        thread::spawn(move || {
            let permit = block_on(room.slots.acquire()).expect("nobody closes");
            room.stay(permit);
        })
    }
}

/// Two visitors and one who only tries, one slot: all get in, never two at once.
fn the_limit_holds_and_all_are_served() {
    let room = Room::with(1);
    let visitors = [room.visiting(), room.visiting()];
    if let Some(permit) = room.slots.try_acquire() {
        room.stay(permit);
    }
    visitors
        .into_iter()
        .for_each(|visitor| visitor.join().unwrap());
    assert_eq!(room.slots.in_use(), 0);
}

/// A seeker is cancelled while the slot is handed to it: the next one gets it.
fn a_cancelled_seeker_passes_its_slot_on() {
    let room = Room::with(1);
    let held = room.slots.try_acquire().expect("all are free");
    let quitter = {
        let room = room.clone();
        thread::spawn(move || drop(poll_once(&mut room.slots.acquire())))
    };
    let visitor = room.visiting();
    room.stay(held);
    quitter.join().unwrap();
    visitor.join().unwrap();
    assert_eq!(room.slots.in_use(), 0);
}

/// Two releases meet a watcher: it is told, and not before both are back.
fn idle_hears_the_last_release() {
    let slots = Slots::new(2);
    let returned = Arc::new(AtomicUsize::new(0));
    let holders = [(), ()].map(|()| {
        let (permit, returned) = (slots.try_acquire().expect("free"), Arc::clone(&returned));
        thread::spawn(move || {
            returned.fetch_add(1, Ordering::Relaxed);
            drop(permit);
        })
    });
    block_on(slots.idle());
    assert_eq!(
        returned.load(Ordering::Relaxed),
        2,
        "idle while a slot was out"
    );
    holders
        .into_iter()
        .for_each(|holder| holder.join().unwrap());
}

/// Close meets a release and a seeker: the seeker ends, with a slot or without, and none is lost.
fn close_lets_nobody_wait_on() {
    let slots = Slots::new(1);
    let held = slots.try_acquire().expect("all are free");
    let seekers = [(), ()].map(|()| {
        let slots = slots.clone();
        thread::spawn(move || drop(block_on(slots.acquire())))
    });
    let closer = {
        let slots = slots.clone();
        thread::spawn(move || slots.close())
    };
    drop(held);
    seekers
        .into_iter()
        .for_each(|seeker| seeker.join().unwrap());
    closer.join().unwrap();
    assert_eq!(slots.in_use(), 0);
    assert!(slots.try_acquire().is_none());
}

/// Close meets a seeker while the slot stays out: the seeker is told all the same.
fn close_refuses_those_in_line() {
    let slots = Slots::new(1);
    let held = slots.try_acquire().expect("all are free");
    let seekers = [(), ()].map(|()| {
        let slots = slots.clone();
        thread::spawn(move || block_on(slots.acquire()).is_none())
    });
    slots.close();
    assert!(seekers.into_iter().all(|seeker| seeker.join().unwrap()));
    drop(held);
    assert_eq!(slots.in_use(), 0);
}

// req: AC-06
#[test]
fn slots_never_exceed_their_number() {
    explore("slots limit", the_limit_holds_and_all_are_served);
}

// req: AC-06
#[test]
fn slots_survive_cancellation() {
    explore("slots cancel", a_cancelled_seeker_passes_its_slot_on);
}

// req: AC-06
#[test]
fn slots_report_idleness() {
    explore("slots idle", idle_hears_the_last_release);
}

// req: AC-06
#[test]
fn slots_close_for_all() {
    explore("slots close", close_lets_nobody_wait_on);
    explore("slots refuse", close_refuses_those_in_line);
}

// req: AC-06
#[test]
fn bugs_of_slots_are_caught() {
    catches(
        Bug::CountInTwoSteps,
        "models::slots::slots_never_exceed_their_number",
    );
    catches(
        Bug::FreeInsteadOfHandOver,
        "models::slots::slots_never_exceed_their_number",
    );
    catches(
        Bug::KeepSlotOnCancel,
        "models::slots::slots_survive_cancellation",
    );
    catches(Bug::IdleUnwatched, "models::slots::slots_report_idleness");
    catches(
        Bug::KeepRefusedWaiting,
        "models::slots::slots_close_for_all",
    );
}
