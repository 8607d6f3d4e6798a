use std::collections::VecDeque;
use std::task::Poll;
use std::thread;

use proptest::prelude::*;

use super::DropOldest;
use crate::Closed;
use model_kit::hand::{Bell, block_on, poll};

// req: KN-03
#[test]
fn a_full_ring_gives_back_the_oldest_item() {
    let ring = DropOldest::new(2);
    assert_eq!(ring.push('a'), Ok(None));
    assert_eq!(ring.push('b'), Ok(None));
    assert_eq!(ring.push('c'), Ok(Some('a')));
    assert_eq!(ring.len(), 2);
    assert_eq!(
        [ring.try_pop(), ring.try_pop(), ring.try_pop()],
        [Some('b'), Some('c'), None]
    );
}

#[test]
fn a_closed_ring_drains_and_then_ends() {
    let ring = DropOldest::new(2);
    assert_eq!(ring.push(1), Ok(None));
    ring.close();
    assert_eq!(ring.push(2), Err(Closed(2)));
    assert_eq!(block_on(ring.pop()), Some(1));
    assert_eq!(block_on(ring.pop()), None);
}

#[test]
fn a_dropped_woken_pop_passes_the_wake_on() {
    let ring = DropOldest::new(2);
    let ((_, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    assert_eq!(ring.push(7), Ok(None));
    drop(a);
    assert_eq!(bell_b.rings(), 1);
    assert_eq!(poll(&mut b, &waker_b), Poll::Ready(Some(7)));
}

#[test]
fn close_wakes_all_waiters() {
    let ring = DropOldest::<u8>::new(1);
    let ((bell_a, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    ring.close();
    assert_eq!((bell_a.rings(), bell_b.rings()), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn it_behaves_as_a_deque_that_forgets_its_front(
        capacity in 1_usize..12,
        pushes in prop::collection::vec(any::<bool>(), 0..if cfg!(miri) { 40 } else { 300 }),
    ) {
        let ring = DropOldest::new(capacity);
        let mut model = VecDeque::new();
        for (number, push) in pushes.into_iter().enumerate() {
            if push {
                let evicted = if model.len() == capacity { model.pop_front() } else { None };
                model.push_back(number);
                prop_assert_eq!(ring.push(number), Ok(evicted));
            } else {
                prop_assert_eq!(ring.try_pop(), model.pop_front());
            }
            prop_assert_eq!(ring.len(), model.len());
        }
    }
}

const PER_PRODUCER: usize = if cfg!(miri) { 50 } else { 20_000 };

#[test]
fn under_threads_every_item_is_either_received_or_given_back() {
    let ring = DropOldest::new(4);
    let mut seen = thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            let mut received = Vec::new();
            while let Some(item) = block_on(ring.pop()) {
                received.push(item);
            }
            received
        });
        let producers = [0, PER_PRODUCER].map(|from| {
            let ring = &ring;
            scope.spawn(move || {
                (from..from + PER_PRODUCER)
                    .filter_map(|number| ring.push(number).expect("open"))
                    .collect::<Vec<_>>()
            })
        });
        let mut seen: Vec<_> = producers
            .into_iter()
            .flat_map(|producer| producer.join().unwrap())
            .collect();
        ring.close();
        seen.extend(consumer.join().unwrap());
        seen
    });
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..2 * PER_PRODUCER));
}
