//! The slot word, the lock and the wakers: hand-off, cancellation, resize and close against each
//! other.

use std::time::Duration;

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{explore, poll_once};
use crate::bug::Bug;
use crate::rerun::catches;
use crate::{Class, FairQueue, Refused, Settings, Slot, Work};

fn queue(limit: usize) -> FairQueue {
    let settings = Settings {
        limit,
        max_items: 2,
        max_items_per_tenant: 2,
        ..Settings::default()
    };
    FairQueue::new(settings, || Duration::ZERO).expect("good settings")
}

fn work(tenant: u64) -> Work {
    Work::of(Class::ANON, tenant)
}

fn acquire(queue: &FairQueue, tenant: u64) -> Slot {
    block_on(queue.acquire(work(tenant))).expect("there is room")
}

/// Asserts that no more are inside than may be.
fn visit(inside: &AtomicUsize, limit: usize, slot: Slot) {
    assert!(
        inside.fetch_add(1, Ordering::SeqCst) < limit,
        "too many slots are out"
    );
    inside.fetch_sub(1, Ordering::SeqCst);
    drop(slot);
}

fn is_as_new(queue: &FairQueue) {
    assert_eq!(queue.in_use(), 0);
    drop(
        queue
            .try_acquire(work(9))
            .expect("a free slot and nobody waits"),
    );
}

#[test]
fn one_slot_is_never_out_twice_and_everybody_gets_it() {
    explore("two seek one slot", || {
        let (queue, inside) = (queue(1), Arc::new(AtomicUsize::new(0)));
        let other = {
            let (queue, inside) = (queue.clone(), Arc::clone(&inside));
            thread::spawn(move || visit(&inside, 1, acquire(&queue, 1)))
        };
        visit(&inside, 1, acquire(&queue, 2));
        other.join().expect("the other ends");
        is_as_new(&queue);
    });
}

#[test]
fn three_share_one_slot() {
    explore("three seek one slot", || {
        let (queue, inside) = (queue(1), Arc::new(AtomicUsize::new(0)));
        let others: Vec<_> = (1..3)
            .map(|tenant| {
                let (queue, inside) = (queue.clone(), Arc::clone(&inside));
                thread::spawn(move || visit(&inside, 1, acquire(&queue, tenant)))
            })
            .collect();
        visit(&inside, 1, acquire(&queue, 3));
        others
            .into_iter()
            .for_each(|other| other.join().expect("the other ends"));
        is_as_new(&queue);
    });
}

#[test]
fn a_waiter_that_gives_up_passes_on_what_it_was_handed() {
    explore("give up while handed", || {
        let queue = queue(1);
        let held = acquire(&queue, 1);
        let fickle = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut wait = Box::pin(queue.acquire(work(2)));
                drop(poll_once(&mut wait));
            })
        };
        let patient = {
            let queue = queue.clone();
            thread::spawn(move || drop(acquire(&queue, 3)))
        };
        drop(held);
        fickle.join().expect("the fickle one ends");
        patient.join().expect("the patient one ends");
        is_as_new(&queue);
    });
}

#[test]
fn a_waiter_that_looks_again_uncalled_misses_nothing() {
    explore("look again while handed", || {
        let queue = queue(1);
        let held = acquire(&queue, 1);
        let restless = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut wait = Box::pin(queue.acquire(work(2)));
                // With a waker that nobody hears, and then with one that counts.
                let early = poll_once(&mut wait);
                let slot = early.unwrap_or_else(|| block_on(wait));
                drop(slot.expect("there is room"));
            })
        };
        drop(held);
        restless.join().expect("the restless one ends");
        is_as_new(&queue);
    });
}

#[test]
fn the_last_to_give_up_leaves_the_queue_open_to_passers_by() {
    explore("the last gives up", || {
        let queue = queue(1);
        let held = acquire(&queue, 1);
        let fickle = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut wait = Box::pin(queue.acquire(work(2)));
                drop(poll_once(&mut wait));
            })
        };
        fickle.join().expect("the fickle one ends");
        let free = {
            let queue = queue.clone();
            thread::spawn(move || drop(queue.try_acquire(work(3))))
        };
        drop(held);
        free.join().expect("the passer-by ends");
        is_as_new(&queue);
    });
}

#[test]
fn close_answers_whoever_waits() {
    explore("close against a waiter", || {
        let queue = queue(1);
        let held = acquire(&queue, 1);
        let waiter = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.acquire(work(2))).map(drop))
        };
        queue.close();
        let told = waiter.join().expect("the waiter ends");
        assert_eq!(
            told,
            Err(Refused::Closed),
            "the only slot is never given back"
        );
        drop(held);
        assert_eq!(queue.in_use(), 0);
    });
}

#[test]
fn new_slots_reach_whoever_waits() {
    explore("grow against a waiter", || {
        let queue = queue(1);
        let held = acquire(&queue, 1);
        let waiter = {
            let queue = queue.clone();
            thread::spawn(move || drop(acquire(&queue, 2)))
        };
        queue.resize(2).expect("a good limit");
        waiter.join().expect("the waiter ends");
        drop(held);
        is_as_new(&queue);
    });
}

#[test]
fn after_a_shrink_no_more_are_out_than_the_new_limit() {
    explore("shrink against takers", || {
        let (queue, inside) = (queue(2), Arc::new(AtomicUsize::new(0)));
        let (first, second) = (acquire(&queue, 1), acquire(&queue, 1));
        queue.resize(1).expect("a good limit");
        let other = {
            let (queue, inside) = (queue.clone(), Arc::clone(&inside));
            thread::spawn(move || visit(&inside, 1, acquire(&queue, 2)))
        };
        drop(first);
        // The second is still out: nobody may be inside beside it.
        assert_eq!(inside.load(Ordering::SeqCst), 0, "handed over in debt");
        assert!(queue.in_use() <= 1, "handed over in debt");
        drop(second);
        visit(&inside, 1, acquire(&queue, 3));
        other.join().expect("the other ends");
        is_as_new(&queue);
    });
}

#[test]
fn a_slot_taken_while_the_limit_falls_was_taken_under_the_old_one() {
    explore("shrink against a passer-by", || {
        let queue = queue(2);
        let held = acquire(&queue, 1);
        let passer_by = {
            let queue = queue.clone();
            thread::spawn(move || drop(queue.try_acquire(work(2))))
        };
        queue.resize(1).expect("a good limit");
        passer_by.join().expect("the passer-by ends");
        assert_eq!(queue.in_use(), 1);
        assert!(queue.try_acquire(work(3)).is_err());
        drop(held);
        is_as_new(&queue);
    });
}

#[test]
fn a_slot_outlives_the_handles_and_nothing_outlives_both() {
    explore("the last handle against the last slot", || {
        let queue = queue(2);
        let life = queue.life();
        let slot = acquire(&queue, 1);
        let holder = thread::spawn(move || drop(slot));
        let another = acquire(&queue, 2);
        drop(queue);
        drop(another);
        holder.join().expect("the holder ends");
        assert!(life.is_over(), "kept by nobody");
    });
}

#[test]
fn whoever_hands_over_is_done_before_all_is_freed() {
    explore("hand over to who frees", || {
        let queue = queue(1);
        let life = queue.life();
        let held = acquire(&queue, 1);
        let restless = thread::spawn(move || {
            let mut wait = Box::pin(queue.acquire(work(2)));
            // Looks again before it is called, so it may have the slot while who granted it holds the lock.
            let early = poll_once(&mut wait);
            drop(early.unwrap_or_else(|| block_on(wait)));
        });
        drop(held);
        restless.join().expect("the restless one ends");
        assert!(life.is_over(), "kept by nobody");
    });
}

#[test]
fn a_slot_that_nobody_wants_any_more_is_the_last_of_all() {
    explore("give back to who gives up", || {
        let queue = queue(1);
        let life = queue.life();
        let held = acquire(&queue, 1);
        let fickle = thread::spawn(move || {
            let mut wait = Box::pin(queue.acquire(work(2)));
            drop(poll_once(&mut wait));
        });
        drop(held);
        fickle.join().expect("the fickle one ends");
        assert!(life.is_over(), "kept by nobody");
    });
}

#[test]
fn seeded_bugs_are_caught() {
    let caught_by = [
        (
            Bug::TakeInTwoSteps,
            "one_slot_is_never_out_twice_and_everybody_gets_it",
        ),
        (
            Bug::FreeInsteadOfHandOver,
            "one_slot_is_never_out_twice_and_everybody_gets_it",
        ),
        (
            Bug::QueueInTwoSteps,
            "one_slot_is_never_out_twice_and_everybody_gets_it",
        ),
        (
            Bug::AnswerTooEarly,
            "one_slot_is_never_out_twice_and_everybody_gets_it",
        ),
        (
            Bug::KeepOldWaker,
            "a_waiter_that_looks_again_uncalled_misses_nothing",
        ),
        (
            Bug::KeepSlotOnCancel,
            "a_waiter_that_gives_up_passes_on_what_it_was_handed",
        ),
        (
            Bug::LeaveMark,
            "the_last_to_give_up_leaves_the_queue_open_to_passers_by",
        ),
        (Bug::CloseSilently, "close_answers_whoever_waits"),
        (Bug::GrowSilently, "new_slots_reach_whoever_waits"),
        (
            Bug::HandOverInDebt,
            "after_a_shrink_no_more_are_out_than_the_new_limit",
        ),
        (
            Bug::FreeUnderLock,
            "whoever_hands_over_is_done_before_all_is_freed",
        ),
        (
            Bug::CountTooLate,
            "a_slot_outlives_the_handles_and_nothing_outlives_both",
        ),
    ];
    for (bug, test) in caught_by {
        catches(bug, &format!("models::shell::{test}"));
    }
}
