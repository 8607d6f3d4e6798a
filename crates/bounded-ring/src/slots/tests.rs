use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;

use super::Slots;
use model_kit::hand::{Bell, block_on, poll};

#[test]
fn no_more_slots_are_out_than_there_are() {
    let slots = Slots::new(2);
    let (a, b) = (slots.try_acquire(), slots.try_acquire());
    assert!(a.is_some() && b.is_some());
    assert!(slots.try_acquire().is_none());
    drop(a);
    assert_eq!(slots.in_use(), 1);
    assert!(slots.try_acquire().is_some());
}

#[test]
fn a_freed_slot_goes_to_the_first_in_line_and_nobody_barges_in() {
    let slots = Slots::new(1);
    let held = slots.try_acquire();
    let ((bell_a, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (slots.acquire(), slots.acquire());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    drop(held);
    assert_eq!((bell_a.rings(), bell_b.rings()), (1, 0));
    assert!(slots.try_acquire().is_none());
    assert!(poll(&mut slots.acquire(), &waker_b).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    let Poll::Ready(Some(permit)) = poll(&mut a, &waker_a) else {
        panic!("the first in line has the slot")
    };
    drop(permit);
    assert!(matches!(poll(&mut b, &waker_b), Poll::Ready(Some(_))));
}

#[test]
fn a_dropped_waiter_leaves_the_line() {
    let slots = Slots::new(1);
    let held = slots.try_acquire();
    let (_, waker) = Bell::new();
    let mut waiting = slots.acquire();
    assert!(poll(&mut waiting, &waker).is_pending());
    drop(waiting);
    drop(held);
    assert_eq!(slots.in_use(), 0);
    assert!(slots.try_acquire().is_some());
}

// attack: H-13
#[test]
fn a_waiter_dropped_with_the_slot_in_hand_passes_it_on() {
    let slots = Slots::new(1);
    let held = slots.try_acquire();
    let ((_, waker_a), (bell_b, waker_b)) = (Bell::new(), Bell::new());
    let (mut a, mut b) = (slots.acquire(), slots.acquire());
    assert!(poll(&mut a, &waker_a).is_pending());
    assert!(poll(&mut b, &waker_b).is_pending());
    drop(held);
    drop(a);
    assert_eq!(bell_b.rings(), 1);
    assert!(matches!(poll(&mut b, &waker_b), Poll::Ready(Some(_))));
    drop(b);
    assert_eq!(slots.in_use(), 0);
}

#[test]
fn idle_is_a_level() {
    let slots = Slots::new(2);
    block_on(slots.idle());
    let (a, b) = (slots.try_acquire(), slots.try_acquire());
    let (bell, waker) = Bell::new();
    let mut idle = slots.idle();
    assert!(poll(&mut idle, &waker).is_pending());
    drop(a);
    assert_eq!(bell.rings(), 0);
    assert!(poll(&mut idle, &waker).is_pending());
    drop(b);
    assert_eq!(bell.rings(), 1);
    assert!(poll(&mut idle, &waker).is_ready());
}

#[test]
fn a_dropped_watcher_leaves_nothing_behind() {
    let slots = Slots::new(1);
    let held = slots.try_acquire();
    let (bell, waker) = Bell::new();
    let mut idle = slots.idle();
    assert!(poll(&mut idle, &waker).is_pending());
    drop(idle);
    drop(held);
    assert_eq!(bell.rings(), 0);
    assert_eq!(slots.in_use(), 0);
}

#[test]
fn close_refuses_everybody_and_revokes_nothing() {
    let slots = Slots::new(1);
    let held = slots.try_acquire();
    let (bell, waker) = Bell::new();
    let mut waiting = slots.acquire();
    assert!(poll(&mut waiting, &waker).is_pending());
    slots.close();
    assert!(slots.is_closed());
    assert_eq!(bell.rings(), 1);
    assert!(matches!(poll(&mut waiting, &waker), Poll::Ready(None)));
    assert_eq!(slots.in_use(), 1);
    drop(held);
    block_on(slots.idle());
    assert!(slots.try_acquire().is_none());
    assert!(block_on(slots.acquire()).is_none());
}

const ROUNDS: usize = if cfg!(miri) { 30 } else { 5_000 };

#[test]
fn under_threads_the_limit_holds_and_everybody_is_served() {
    let (slots, inside, served) = (Slots::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let _permit = block_on(slots.acquire());
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                    served.fetch_add(1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(served.into_inner(), 4 * ROUNDS);
    assert_eq!(slots.in_use(), 0);
}
