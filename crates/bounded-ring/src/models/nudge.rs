//! Models of the nudge: one of those who wait is called and does not come.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::{catches, explore, poll_once};
use crate::bug::Bug;
use crate::pop::{Pop, Ring};
use crate::{Coalesce, DropOldest, RejectNew};

/// A ring, as far as a nudge is concerned.
trait Nudged: Ring<Item = u8> + Send + Sync + Sized + 'static {
    fn with_room_for_two() -> Self;
    fn put(&self, item: u8);
    fn nudged(&self);

    fn next(&self) -> Pop<'_, Self> {
        Pop::new(self)
    }
}

impl Nudged for RejectNew<u8> {
    fn with_room_for_two() -> Self {
        Self::new(2)
    }

    fn put(&self, item: u8) {
        assert_eq!(self.try_push(item), Ok(()));
    }

    fn nudged(&self) {
        self.nudge();
    }
}

impl Nudged for DropOldest<u8> {
    fn with_room_for_two() -> Self {
        Self::new(2)
    }

    fn put(&self, item: u8) {
        assert_eq!(self.push(item), Ok(None));
    }

    fn nudged(&self) {
        self.nudge();
    }
}

impl Nudged for Coalesce<u8, u8> {
    fn with_room_for_two() -> Self {
        Self::new(2)
    }

    fn put(&self, item: u8) {
        assert!(self.push(item, item).is_ok());
    }

    fn nudged(&self) {
        self.nudge();
    }
}

/// The first in line is called and never comes: whoever else waits gets the item.
fn another_comes<R: Nudged>() {
    let ring = Arc::new(R::with_room_for_two());
    let mut held_up = ring.next();
    assert_eq!(poll_once(&mut held_up), None);
    let waiter = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || block_on(ring.next()))
    };
    ring.put(7);
    ring.nudged();
    assert_eq!(waiter.join().unwrap(), Some(7));
}

/// Who was called comes late, while the nudged one is at it: each gets one item, nobody sleeps on.
fn who_comes_late_is_in_nobodys_way<R: Nudged>() {
    let ring = Arc::new(R::with_room_for_two());
    let late = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            let mut pop = ring.next();
            match poll_once(&mut pop) {
                Some(found) => found,
                None => block_on(pop),
            }
        })
    };
    let waiter = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || block_on(ring.next()))
    };
    ring.put(1);
    ring.nudged();
    ring.put(2);
    let mut received = [late, waiter].map(|popper| popper.join().unwrap());
    received.sort_unstable();
    assert_eq!(received, [Some(1), Some(2)]);
}

// req: AC-06
// attack: K-06
#[test]
fn a_nudge_brings_another() {
    explore("reject_new nudge", another_comes::<RejectNew<u8>>);
    explore("drop_oldest nudge", another_comes::<DropOldest<u8>>);
    explore("coalesce nudge", another_comes::<Coalesce<u8, u8>>);
}

// req: AC-06
#[test]
fn a_nudge_does_no_harm() {
    explore(
        "reject_new nudge, late",
        who_comes_late_is_in_nobodys_way::<RejectNew<u8>>,
    );
    explore(
        "drop_oldest nudge, late",
        who_comes_late_is_in_nobodys_way::<DropOldest<u8>>,
    );
    explore(
        "coalesce nudge, late",
        who_comes_late_is_in_nobodys_way::<Coalesce<u8, u8>>,
    );
}

// req: AC-06
#[test]
fn bugs_of_the_nudge_are_caught() {
    for seed in [Bug::TrustTheCalled, Bug::SleepWithoutSecondLook] {
        catches(seed, "models::nudge::a_nudge_brings_another");
    }
}
