use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use proptest::prelude::*;

use super::RejectNew;
use crate::PushError;
use model_kit::hand::{Bell, block_on, poll};

// req: KN-04
#[test]
fn a_full_ring_gives_the_new_item_back_at_once() {
    let ring = RejectNew::new(2);
    assert_eq!(ring.try_push('a'), Ok(()));
    assert_eq!(ring.try_push('b'), Ok(()));
    assert_eq!(ring.try_push('c'), Err(PushError::Full('c')));
    assert_eq!(ring.len(), 2);
    assert_eq!(ring.try_pop(), Some('a'));
    assert_eq!(ring.try_push('d'), Ok(()));
    assert_eq!(
        [ring.try_pop(), ring.try_pop(), ring.try_pop()],
        [Some('b'), Some('d'), None]
    );
}

#[test]
#[should_panic(expected = "at least one item")]
fn a_ring_of_nothing_is_refused() {
    drop(RejectNew::<u8>::new(0));
}

#[test]
fn a_closed_ring_drains_and_then_ends() {
    let ring = RejectNew::new(3);
    assert_eq!(ring.try_push(1), Ok(()));
    ring.close();
    assert!(ring.is_closed());
    assert_eq!(ring.try_push(2), Err(PushError::Closed(2)));
    assert_eq!(ring.len(), 1);
    assert_eq!(block_on(ring.pop()), Some(1));
    assert_eq!(block_on(ring.pop()), None);
}

#[test]
fn a_closed_full_ring_says_closed() {
    let ring = RejectNew::new(1);
    assert_eq!(ring.try_push(1), Ok(()));
    ring.close();
    assert_eq!(ring.try_push(2), Err(PushError::Closed(2)));
}

// attack: K-06
#[test]
fn a_nudge_brings_another_where_who_was_woken_does_not_come() {
    let ring = RejectNew::new(4);
    let ((_, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    assert_eq!(ring.try_push(7), Ok(()));
    assert_eq!(bell_b.rings(), 0);
    ring.nudge();
    assert_eq!(bell_b.rings(), 1);
    assert_eq!(poll(&mut b, &waker_b), Poll::Ready(Some(7)));
    assert!(poll(&mut a, &waker_a).is_pending(), "it comes late");
    ring.nudge();
    assert!(poll(&mut a, &waker_a).is_pending(), "there is nothing");
    assert_eq!(ring.try_push(8), Ok(()));
    assert_eq!(poll(&mut a, &waker_a), Poll::Ready(Some(8)));
}

#[test]
fn a_push_wakes_exactly_one_waiter_and_the_first() {
    let ring = RejectNew::new(4);
    let ((bell_a, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    assert_eq!(ring.try_push(7), Ok(()));
    assert_eq!((bell_a.rings(), bell_b.rings()), (1, 0));
    assert_eq!(poll(&mut a, &waker_a), Poll::Ready(Some(7)));
    assert!(poll(&mut b, &waker_b).is_pending());
}

#[test]
fn a_dropped_woken_pop_passes_the_wake_on() {
    let ring = RejectNew::new(4);
    let ((_, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    assert_eq!(ring.try_push(7), Ok(()));
    drop(a);
    assert_eq!(bell_b.rings(), 1);
    assert_eq!(poll(&mut b, &waker_b), Poll::Ready(Some(7)));
}

#[test]
fn a_dropped_unwoken_pop_takes_no_wake_with_it() {
    let ring = RejectNew::new(4);
    let ((bell_a, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    drop(a);
    assert_eq!(ring.try_push(7), Ok(()));
    assert_eq!((bell_a.rings(), bell_b.rings()), (0, 1));
}

#[test]
fn a_pop_polled_by_another_task_wakes_that_task() {
    let ring = RejectNew::new(1);
    let ((bell_old, waker_old), (bell_new, waker_new)) = (Bell::new(), Bell::new());
    let mut pop = ring.pop();
    assert!(poll(&mut pop, &waker_old).is_pending());
    assert!(poll(&mut pop, &waker_new).is_pending());
    assert_eq!(ring.try_push(1), Ok(()));
    assert_eq!((bell_old.rings(), bell_new.rings()), (0, 1));
}

#[test]
fn a_woken_pop_that_finds_nothing_waits_again() {
    let ring = RejectNew::new(1);
    let (bell, waker) = Bell::new();
    let mut pop = ring.pop();
    assert!(poll(&mut pop, &waker).is_pending());
    assert_eq!(ring.try_push(1), Ok(()));
    assert_eq!(ring.try_pop(), Some(1));
    assert!(poll(&mut pop, &waker).is_pending());
    assert_eq!(ring.try_push(2), Ok(()));
    assert_eq!(bell.rings(), 2);
    assert_eq!(poll(&mut pop, &waker), Poll::Ready(Some(2)));
}

#[test]
fn close_wakes_all_waiters() {
    let ring = RejectNew::<u8>::new(1);
    let ((bell_a, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (ring.pop(), ring.pop());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    ring.close();
    assert_eq!((bell_a.rings(), bell_b.rings()), (1, 1));
    assert_eq!(poll(&mut a, &waker_a), Poll::Ready(None));
    assert_eq!(poll(&mut b, &waker_b), Poll::Ready(None));
}

#[test]
fn what_is_left_inside_is_dropped_once() {
    let witness = Arc::new(());
    let ring = RejectNew::new(5);
    for _ in 0..7 {
        if ring.len() == 4 {
            ring.try_pop();
        }
        assert!(ring.try_push(Arc::clone(&witness)).is_ok());
    }
    assert_eq!(Arc::strong_count(&witness), 5);
    drop(ring);
    assert_eq!(Arc::strong_count(&witness), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Push,
    Pop,
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![40 => Just(Step::Push), 40 => Just(Step::Pop), 1 => Just(Step::Close)];
    prop::collection::vec(step, 0..if cfg!(miri) { 40 } else { 400 })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    // req: KN-03
    #[test]
    fn it_behaves_as_a_bounded_deque(capacity in 1_usize..20, steps in steps()) {
        let ring = RejectNew::new(capacity);
        let (mut model, mut closed) = (VecDeque::new(), false);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Close => {
                    ring.close();
                    closed = true;
                }
                Step::Pop => prop_assert_eq!(ring.try_pop(), model.pop_front()),
                Step::Push => {
                    let expected = if closed {
                        Err(PushError::Closed(number))
                    } else if model.len() == capacity {
                        Err(PushError::Full(number))
                    } else {
                        model.push_back(number);
                        Ok(())
                    };
                    prop_assert_eq!(ring.try_push(number), expected);
                }
            }
            prop_assert_eq!(ring.len(), model.len());
        }
    }
}

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 2;
const PER_PRODUCER: usize = if cfg!(miri) { 50 } else { 20_000 };

#[test]
fn under_threads_every_item_arrives_once_and_in_order_per_producer() {
    let ring = RejectNew::new(7);
    let received = thread::scope(|scope| {
        let consumers: Vec<_> = (0..CONSUMERS)
            .map(|_| scope.spawn(|| drain(&ring)))
            .collect();
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                scope.spawn({
                    let ring = &ring;
                    move || produce(ring, producer)
                })
            })
            .collect();
        producers
            .into_iter()
            .for_each(|producer| producer.join().unwrap());
        ring.close();
        consumers
            .into_iter()
            .map(|consumer| consumer.join().unwrap())
            .collect::<Vec<_>>()
    });
    for share in &received {
        for producer in 0..PRODUCERS {
            let numbers: Vec<_> = share
                .iter()
                .filter(|item| item.0 == producer)
                .map(|item| item.1)
                .collect();
            assert!(
                numbers.is_sorted_by(|a, b| a < b),
                "a producer's items were reordered"
            );
        }
    }
    let mut all: Vec<_> = received.into_iter().flatten().collect();
    all.sort_unstable();
    let expected: Vec<_> = (0..PRODUCERS)
        .flat_map(|p| (0..PER_PRODUCER).map(move |n| (p, n)))
        .collect();
    assert_eq!(all, expected);
}

fn drain(ring: &RejectNew<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut received = Vec::new();
    while let Some(item) = block_on(ring.pop()) {
        received.push(item);
    }
    received
}

fn produce(ring: &RejectNew<(usize, usize)>, producer: usize) {
    for number in 0..PER_PRODUCER {
        while ring.try_push((producer, number)).is_err() {
            thread::yield_now();
        }
    }
}
