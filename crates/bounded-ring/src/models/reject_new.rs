//! Models of the lock-free ring.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::{catches, explore, poll_once};
use crate::bug::Bug;
use crate::{PushError, RejectNew};

fn pushing(
    ring: &Arc<RejectNew<u8>>,
    items: impl IntoIterator<Item = u8> + Send + 'static,
) -> JoinHandle<()> {
    let ring = Arc::clone(ring);
    thread::spawn(move || {
        for mut item in items {
            while let Err(refused) = ring.try_push(item) {
                item = refused.into_inner();
                thread::yield_now();
            }
        }
    })
}

fn popping(ring: &Arc<RejectNew<u8>>) -> JoinHandle<Option<u8>> {
    let ring = Arc::clone(ring);
    thread::spawn(move || block_on(ring.pop()))
}

/// Two producers, one consumer, round the end of the cells: each item once, each producer's in
/// order.
fn nothing_lost_doubled_or_reordered() {
    let ring = Arc::new(RejectNew::new(3));
    for _ in 0..2 {
        assert!(ring.try_push(0).is_ok());
        assert_eq!(ring.try_pop(), Some(0));
    }
    let producers = [pushing(&ring, [1, 2]), pushing(&ring, [11])];
    let received: Vec<u8> = (0..3).filter_map(|_| block_on(ring.pop())).collect();
    producers
        .into_iter()
        .for_each(|producer| producer.join().unwrap());
    let place = |item| {
        received
            .iter()
            .position(|seen| *seen == item)
            .expect("every item arrives")
    };
    assert!(place(1) < place(2));
    assert_eq!((received.len(), ring.len()), (3, 0));
    place(11);
}

/// A producer that finds the single cell full tries again until the consumer has freed it.
fn a_freed_cell_is_found() {
    let ring = Arc::new(RejectNew::new(1));
    let producer = pushing(&ring, [1, 2]);
    assert_eq!(
        [block_on(ring.pop()), block_on(ring.pop())],
        [Some(1), Some(2)]
    );
    producer.join().unwrap();
}

/// Two poppers without waiting, two pushers: what is popped and what is left is what was pushed.
fn poppers_share_without_overlap() {
    let ring = Arc::new(RejectNew::new(2));
    assert!(ring.try_push(1).is_ok());
    let producer = pushing(&ring, [2]);
    let taker = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || ring.try_pop())
    };
    let mut seen: Vec<u8> = ring
        .try_pop()
        .into_iter()
        .chain(taker.join().unwrap())
        .collect();
    producer.join().unwrap();
    seen.extend(std::iter::from_fn(|| ring.try_pop()));
    seen.sort_unstable();
    assert_eq!(seen, [1, 2]);
}

/// One waiter, one item, nothing else in the way: explored to the end every day.
fn a_waiter_gets_the_item() {
    let ring = Arc::new(RejectNew::new(1));
    let waiter = popping(&ring);
    assert!(ring.try_push(1).is_ok());
    assert_eq!(waiter.join().unwrap(), Some(1));
}

/// One waiter, a push and a close: explored to the end every day.
fn close_and_push_leave_nobody_waiting() {
    let ring = Arc::new(RejectNew::new(1));
    let waiter = popping(&ring);
    let closer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || ring.close())
    };
    let accepted = ring.try_push(7).is_ok();
    assert_eq!(waiter.join().unwrap(), accepted.then_some(7));
    closer.join().unwrap();
}

/// Two waiters, two items from two pushers: nobody sleeps on.
fn no_wake_is_lost() {
    let ring = Arc::new(RejectNew::new(2));
    let waiters = [popping(&ring), popping(&ring)];
    let producer = pushing(&ring, [1]);
    assert!(ring.try_push(2).is_ok());
    producer.join().unwrap();
    let mut received = waiters.map(|waiter| waiter.join().unwrap());
    received.sort_unstable();
    assert_eq!(received, [Some(1), Some(2)]);
}

/// Close meets a push and two waiters: an accepted item arrives, everybody else is told.
fn close_wakes_all_and_keeps_what_was_accepted() {
    let ring = Arc::new(RejectNew::new(1));
    let waiters = [popping(&ring), popping(&ring)];
    let closer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || ring.close())
    };
    let accepted = match ring.try_push(7) {
        Ok(()) => 1,
        Err(PushError::Closed(7)) => 0,
        Err(refused) => panic!("{refused:?} in an empty ring"),
    };
    closer.join().unwrap();
    let received = waiters.map(|waiter| waiter.join().unwrap());
    assert_eq!(received.into_iter().flatten().count(), accepted);
    assert!(ring.try_push(8) == Err(PushError::Closed(8)));
}

/// A waiter is cancelled while an item comes: the other waiter gets it.
fn a_cancelled_pop_passes_its_wake_on() {
    let ring = Arc::new(RejectNew::new(1));
    let quitter = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || poll_once(&mut ring.pop()).flatten())
    };
    let producer = pushing(&ring, [7]);
    let waiter = popping(&ring);
    producer.join().unwrap();
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
fn reject_new_loses_doubles_and_reorders_nothing() {
    explore("reject_new order", nothing_lost_doubled_or_reordered);
    explore("reject_new full", a_freed_cell_is_found);
    explore("reject_new poppers", poppers_share_without_overlap);
}

// req: AC-06
#[test]
fn reject_new_loses_no_wake() {
    explore("reject_new wake one", a_waiter_gets_the_item);
    explore("reject_new wake", no_wake_is_lost);
}

// req: AC-06
#[test]
fn reject_new_closes_for_all() {
    explore("reject_new close one", close_and_push_leave_nobody_waiting);
    explore(
        "reject_new close",
        close_wakes_all_and_keeps_what_was_accepted,
    );
}

// req: AC-06
#[test]
fn reject_new_survives_cancellation() {
    explore("reject_new cancel", a_cancelled_pop_passes_its_wake_on);
}

// req: AC-06
#[test]
fn bugs_of_reject_new_are_caught() {
    catches(
        Bug::ForgetHeardCall,
        "models::reject_new::reject_new_closes_for_all",
    );
    catches(
        Bug::PublishBeforeWrite,
        "models::reject_new::reject_new_loses_doubles_and_reorders_nothing",
    );
    catches(
        Bug::SleepWithoutSecondLook,
        "models::reject_new::reject_new_loses_no_wake",
    );
    catches(
        Bug::LookWithoutFence,
        "models::reject_new::reject_new_loses_no_wake",
    );
    catches(
        Bug::KeepWakeOnCancel,
        "models::reject_new::reject_new_survives_cancellation",
    );
    catches(
        Bug::CloseSilently,
        "models::reject_new::reject_new_closes_for_all",
    );
}
