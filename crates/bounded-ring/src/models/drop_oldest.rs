//! Models of the evicting ring.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::{catches, explore, poll_once};
use crate::DropOldest;
use crate::bug::Bug;

fn pushing(ring: &Arc<DropOldest<u8>>, item: u8) -> JoinHandle<Option<u8>> {
    let ring = Arc::clone(ring);
    thread::spawn(move || ring.push(item).expect("nobody closes"))
}

fn popping(ring: &Arc<DropOldest<u8>>) -> JoinHandle<Option<u8>> {
    let ring = Arc::clone(ring);
    thread::spawn(move || block_on(ring.pop()))
}

/// Three pushes into room for one, and a popper: every item comes out once, popped or evicted.
fn every_item_comes_out_once() {
    let ring = Arc::new(DropOldest::new(1));
    let producers = [pushing(&ring, 1), pushing(&ring, 2)];
    let evicted = ring.push(3).expect("nobody closes");
    let popped = ring.try_pop();
    let mut seen: Vec<u8> = evicted.into_iter().chain(popped).collect();
    seen.extend(
        producers
            .into_iter()
            .filter_map(|producer| producer.join().unwrap()),
    );
    assert!(ring.len() <= 1, "more inside than fits");
    seen.extend(std::iter::from_fn(|| ring.try_pop()));
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

/// Two waiters, two items: nobody sleeps on.
fn no_wake_is_lost() {
    let ring = Arc::new(DropOldest::new(2));
    let waiters = [popping(&ring), popping(&ring)];
    let producer = pushing(&ring, 1);
    assert_eq!(ring.push(2), Ok(None));
    assert_eq!(producer.join().unwrap(), None);
    let mut received = waiters.map(|waiter| waiter.join().unwrap());
    received.sort_unstable();
    assert_eq!(received, [Some(1), Some(2)]);
}

fn close_wakes_all() {
    let ring = Arc::new(DropOldest::new(1));
    let waiters = [popping(&ring), popping(&ring)];
    let accepted = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || usize::from(ring.push(7).is_ok()))
    };
    ring.close();
    let received = waiters.map(|waiter| waiter.join().unwrap());
    assert_eq!(
        received.into_iter().flatten().count(),
        accepted.join().unwrap()
    );
}

fn a_cancelled_pop_passes_its_wake_on() {
    let ring = Arc::new(DropOldest::new(1));
    let quitter = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || poll_once(&mut ring.pop()).flatten())
    };
    let producer = pushing(&ring, 7);
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
fn drop_oldest_accounts_for_every_item() {
    explore("drop_oldest items", every_item_comes_out_once);
}

// req: AC-06
#[test]
fn drop_oldest_loses_no_wake() {
    explore("drop_oldest wake", no_wake_is_lost);
    explore("drop_oldest close", close_wakes_all);
    explore("drop_oldest cancel", a_cancelled_pop_passes_its_wake_on);
}

// req: AC-06
#[test]
fn bugs_of_drop_oldest_are_caught() {
    catches(
        Bug::EvictAndPushApart,
        "models::drop_oldest::drop_oldest_accounts_for_every_item",
    );
    catches(
        Bug::SleepWithoutSecondLook,
        "models::drop_oldest::drop_oldest_loses_no_wake",
    );
    catches(
        Bug::CloseSilently,
        "models::drop_oldest::drop_oldest_loses_no_wake",
    );
    catches(
        Bug::KeepWakeOnCancel,
        "models::drop_oldest::drop_oldest_loses_no_wake",
    );
}
