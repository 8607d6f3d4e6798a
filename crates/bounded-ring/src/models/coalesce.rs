//! Models of the coalescing ring.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::{catches, explore, poll_once};
use crate::bug::Bug;
use crate::{Coalesce, Pushed};

type Ring = Coalesce<char, u8>;

fn pushing(ring: &Arc<Ring>, key: char, item: u8) -> JoinHandle<Option<u8>> {
    let ring = Arc::clone(ring);
    thread::spawn(move || replaced(ring.push(key, item)))
}

fn replaced(pushed: Result<Pushed<u8>, crate::PushError<u8>>) -> Option<u8> {
    match pushed.expect("there is room for every key") {
        Pushed::Queued => None,
        Pushed::Replaced(older) => Some(older),
    }
}

fn popping(ring: &Arc<Ring>) -> JoinHandle<Option<u8>> {
    let ring = Arc::clone(ring);
    thread::spawn(move || block_on(ring.pop()))
}

/// Pushes of one key and another meet a popper: every item comes out once, popped or replaced.
fn every_item_comes_out_once() {
    let ring = Arc::new(Ring::new(2));
    let producers = [pushing(&ring, 'a', 1), pushing(&ring, 'a', 2)];
    let older = replaced(ring.push('b', 3));
    let popped = ring.try_pop();
    let mut seen: Vec<u8> = older.into_iter().chain(popped).collect();
    seen.extend(
        producers
            .into_iter()
            .filter_map(|producer| producer.join().unwrap()),
    );
    seen.extend(std::iter::from_fn(|| ring.try_pop()));
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

/// Two waiters, two keys: nobody sleeps on, though a replacement wakes nobody.
fn no_wake_is_lost() {
    let ring = Arc::new(Ring::new(2));
    let waiters = [popping(&ring), popping(&ring)];
    let producer = pushing(&ring, 'a', 1);
    assert_eq!(replaced(ring.push('b', 2)), None);
    assert_eq!(producer.join().unwrap(), None);
    let mut received = waiters.map(|waiter| waiter.join().unwrap());
    received.sort_unstable();
    assert_eq!(received, [Some(1), Some(2)]);
}

/// A waiter always ends with the newest item, whichever of the pushes woke it.
fn the_newest_arrives_last() {
    let ring = Arc::new(Ring::new(1));
    let waiter = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            let mut last = None;
            while let Some(item) = block_on(ring.pop()) {
                last = Some(item);
            }
            last
        })
    };
    replaced(ring.push('a', 1));
    replaced(ring.push('a', 2));
    ring.close();
    assert_eq!(waiter.join().unwrap(), Some(2));
}

fn close_wakes_all() {
    let ring = Arc::new(Ring::new(1));
    let waiters = [popping(&ring), popping(&ring)];
    ring.close();
    assert_eq!(waiters.map(|waiter| waiter.join().unwrap()), [None, None]);
}

fn a_cancelled_pop_passes_its_wake_on() {
    let ring = Arc::new(Ring::new(1));
    let quitter = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || poll_once(&mut ring.pop()).flatten())
    };
    let producer = pushing(&ring, 'a', 7);
    let waiter = popping(&ring);
    assert_eq!(producer.join().unwrap(), None);
    match quitter.join().unwrap() {
        Some(item) => {
            assert_eq!(item, 7);
            ring.close();
            assert_eq!(waiter.join().unwrap(), None);
        }
        None => assert_eq!(waiter.join().unwrap(), Some(7)),
    }
}

// req: KN-03, AC-06
#[test]
fn coalesce_accounts_for_every_item() {
    explore("coalesce items", every_item_comes_out_once);
    explore("coalesce newest", the_newest_arrives_last);
}

// req: AC-06
#[test]
fn coalesce_loses_no_wake() {
    explore("coalesce wake", no_wake_is_lost);
    explore("coalesce close", close_wakes_all);
    explore("coalesce cancel", a_cancelled_pop_passes_its_wake_on);
}

// req: AC-06
#[test]
fn bugs_of_coalesce_are_caught() {
    catches(
        Bug::FindAndReplaceApart,
        "models::coalesce::coalesce_accounts_for_every_item",
    );
    catches(
        Bug::SleepWithoutSecondLook,
        "models::coalesce::coalesce_loses_no_wake",
    );
    catches(
        Bug::CloseSilently,
        "models::coalesce::coalesce_loses_no_wake",
    );
    catches(
        Bug::KeepWakeOnCancel,
        "models::coalesce::coalesce_loses_no_wake",
    );
}
