mod sims;

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::*;
use crate::testing::Hand;
use model_kit::hand::{Bell, block_on, poll};

fn queue(limit: usize) -> (FairQueue, Hand) {
    let hand = Hand::default();
    let settings = Settings {
        limit,
        ..Settings::default()
    };
    let queue = FairQueue::new(settings, hand.reader()).expect("good settings");
    (queue, hand)
}

fn work(tenant: u64) -> Work {
    Work::of(Class::AUTHED, tenant)
}

fn take(queue: &FairQueue, tenant: u64) -> Slot {
    queue.try_acquire(work(tenant)).expect("a slot is free")
}

/// Pinned on the heap, so that it can be kept and dropped.
type Seeker<'a> = Pin<Box<Acquire<'a>>>;

fn wait(queue: &FairQueue, work: Work) -> Seeker<'_> {
    let mut waiting = Box::pin(queue.acquire(work));
    assert!(poll(&mut waiting, Waker::noop()).is_pending());
    waiting
}

fn answer(waiting: &mut Seeker<'_>) -> Option<Result<Slot, Refused>> {
    match poll(waiting, Waker::noop()) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

// req: FQ-06
#[test]
fn a_free_slot_is_taken_at_the_first_poll_and_no_more_are_out_than_there_are() {
    let (queue, _) = queue(2);
    let slot = answer(&mut Box::pin(queue.acquire(work(1))));
    assert!(matches!(slot, Some(Ok(_))));
    let second = take(&queue, 2);
    assert_eq!(queue.try_acquire(work(3)).unwrap_err(), Refused::Full);
    assert_eq!((queue.in_use(), queue.inflight(Class::AUTHED)), (2, 2));
    drop((slot, second));
    assert_eq!((queue.in_use(), queue.inflight(Class::AUTHED)), (0, 0));
}

// req: FQ-02, FQ-06
#[test]
fn a_freed_slot_goes_on_in_fair_order_and_nobody_barges_in() {
    let (queue, _) = queue(1);
    let held = take(&queue, 9);
    let mut bulk: Vec<Seeker> = (0..3).map(|_| wait(&queue, work(1))).collect();
    let mut polite = wait(&queue, work(2));
    drop(held);
    assert_eq!(queue.try_acquire(work(3)).unwrap_err(), Refused::Full);
    let first = answer(&mut bulk[0]).expect("the first has it");
    assert!(answer(&mut polite).is_none());
    drop(first);
    assert!(answer(&mut bulk[1]).is_none());
    assert!(matches!(answer(&mut polite), Some(Ok(_))));
    assert!(matches!(answer(&mut bulk[1]), Some(Ok(_))));
}

// req: FQ-05
#[test]
fn a_dropped_waiter_leaves_the_line() {
    let (queue, _) = queue(1);
    let held = take(&queue, 1);
    drop(wait(&queue, work(2)));
    drop(held);
    assert_eq!(queue.in_use(), 0);
    drop(take(&queue, 3));
}

// req: FQ-05
// attack: H-13
#[test]
fn a_waiter_dropped_with_the_slot_in_hand_passes_it_on_uncharged() {
    let (queue, _) = queue(1);
    let held = take(&queue, 1);
    let (_, waker) = Bell::new();
    let mut gone = Box::pin(queue.acquire(work(2)));
    assert!(poll(&mut gone, &waker).is_pending());
    let (bell, waker) = Bell::new();
    let mut next = Box::pin(queue.acquire(work(3)));
    assert!(poll(&mut next, &waker).is_pending());
    drop(held);
    drop(gone);
    assert_eq!(bell.rings(), 1);
    assert_eq!(
        queue.snapshot(9).classes[1].served,
        1,
        "only the second is charged"
    );
    assert!(matches!(answer(&mut next), Some(Ok(_))));
    assert_eq!(queue.in_use(), 0);
}

#[test]
fn a_holder_that_panics_gives_its_slot_back() {
    let (queue, _) = queue(1);
    let slot = take(&queue, 1);
    let mut waiting = wait(&queue, work(2));
    let worker = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _held = slot;
        panic!("the work failed");
    }));
    assert!(worker.is_err());
    assert!(matches!(answer(&mut waiting), Some(Ok(_))));
}

// req: FQ-05
#[test]
fn a_waiter_past_its_deadline_is_told_and_never_begins() {
    let (queue, hand) = queue(1);
    let held = take(&queue, 1);
    let mortal = work(2).deadline(Duration::from_secs(1));
    let (bell, waker) = Bell::new();
    let mut late = Box::pin(queue.acquire(mortal));
    assert!(poll(&mut late, &waker).is_pending());
    let mut patient = wait(&queue, work(3));
    hand.set(Duration::from_secs(1));
    drop(held);
    assert_eq!(bell.rings(), 1);
    assert_eq!(
        answer(&mut late).expect("told").unwrap_err(),
        Refused::Expired
    );
    assert!(matches!(answer(&mut patient), Some(Ok(_))));
    let again = queue.try_acquire(mortal);
    assert_eq!(again.unwrap_err(), Refused::Expired);
}

// req: FQ-05
#[test]
fn a_timer_can_tell_those_who_expired() {
    let (queue, hand) = queue(1);
    let held = take(&queue, 1);
    let mut first = wait(&queue, work(2).deadline(Duration::from_secs(1)));
    let mut second = wait(&queue, work(2).deadline(Duration::from_secs(2)));
    assert_eq!(queue.expire(), Some(Duration::from_secs(1)));
    hand.set(Duration::from_secs(1));
    assert_eq!(queue.expire(), Some(Duration::from_secs(2)));
    assert_eq!(
        answer(&mut first).expect("told").unwrap_err(),
        Refused::Expired
    );
    hand.set(Duration::from_secs(3));
    assert_eq!(queue.expire(), None);
    assert_eq!(
        answer(&mut second).expect("told").unwrap_err(),
        Refused::Expired
    );
    drop(held);
    drop(take(&queue, 3));
}

// req: FQ-04
#[test]
fn the_dropped_oldest_is_told() {
    let settings = Settings {
        limit: 1,
        max_items: 1,
        max_items_per_tenant: 1,
        overflow: crate::Overflow::DropOldest,
        ..Settings::default()
    };
    let queue = FairQueue::new(settings, || Duration::ZERO).expect("good settings");
    let held = take(&queue, 1);
    let mut old = wait(&queue, work(1));
    let mut new = wait(&queue, work(2));
    assert_eq!(
        answer(&mut old).expect("told").unwrap_err(),
        Refused::Dropped
    );
    drop(held);
    assert!(matches!(answer(&mut new), Some(Ok(_))));
}

#[test]
fn close_refuses_everybody_and_revokes_nothing() {
    let (queue, _) = queue(1);
    let held = take(&queue, 1);
    let (bell, waker) = Bell::new();
    let mut waiting = Box::pin(queue.acquire(work(2)));
    assert!(poll(&mut waiting, &waker).is_pending());
    queue.close();
    assert_eq!(bell.rings(), 1);
    assert_eq!(
        answer(&mut waiting).expect("told").unwrap_err(),
        Refused::Closed
    );
    assert_eq!(queue.in_use(), 1);
    drop(held);
    assert_eq!(queue.try_acquire(work(3)).unwrap_err(), Refused::Closed);
    let after = answer(&mut Box::pin(queue.acquire(work(3))));
    assert_eq!(after.expect("told").unwrap_err(), Refused::Closed);
    queue.close();
    assert_eq!(queue.in_use(), 0);
}

#[test]
fn bad_work_and_bad_limits_are_refused_at_once() {
    let (queue, _) = queue(1);
    let past = work(1).deadline(Duration::ZERO);
    let bad = [
        (past, Refused::Expired),
        (Work::of(Class(7), 1), Refused::UnknownClass),
        (work(1).cost(0), Refused::Cost),
        (work(1).cost(2), Refused::Cost),
        (work(1).weight(0), Refused::Weight),
    ];
    // A slot is free all the time: the refusal is the work's own fault.
    for (work, why) in bad {
        assert_eq!(queue.try_acquire(work).unwrap_err(), why);
        let polled = answer(&mut Box::pin(queue.acquire(work)));
        assert_eq!(polled.expect("at once").unwrap_err(), why);
    }
    assert_eq!(queue.resize(0), Err(SettingsError::Limit));
    assert_eq!(queue.resize(usize::MAX), Err(SettingsError::Limit));
    assert_eq!((queue.limit(), queue.in_use()), (1, 0));
}

#[test]
fn new_slots_are_handed_out_at_once_and_a_debt_is_worked_off_first() {
    let (queue, _) = queue(1);
    let mut held = vec![take(&queue, 1)];
    let mut waiting: Vec<Seeker> = (0..6).map(|_| wait(&queue, work(2))).collect();
    queue.resize(4).expect("a good limit");
    held.extend(
        waiting[..3]
            .iter_mut()
            .filter_map(|waiting| answer(waiting)?.ok()),
    );
    assert_eq!((held.len(), queue.in_use()), (4, 4));
    queue.resize(2).expect("a good limit");
    for left in [3, 2] {
        held.pop();
        assert_eq!(queue.in_use(), left);
        assert!(
            answer(&mut waiting[3]).is_none(),
            "a debt of slots is not handed on"
        );
    }
    held.pop();
    assert!(matches!(answer(&mut waiting[3]), Some(Ok(_))));
}

// req: FQ-07
#[test]
fn settling_a_slot_moves_the_next_turn() {
    let (queue, _) = queue(2);
    let (a, b) = (take(&queue, 1), take(&queue, 2));
    let mut one: Vec<Seeker> = (0..2).map(|_| wait(&queue, work(1))).collect();
    let mut two: Vec<Seeker> = (0..3).map(|_| wait(&queue, work(2))).collect();
    a.settle(3);
    assert!(answer(&mut one[0]).is_none(), "tenant 1 owes two turns");
    let got = answer(&mut two[0]).expect("tenant 2 goes first");
    drop(b);
    assert!(matches!(answer(&mut two[1]), Some(Ok(_))));
    drop(got);
    assert!(matches!(answer(&mut one[0]), Some(Ok(_))));
}

// req: FQ-07
#[test]
fn what_work_will_cost_is_owed_before_it_ends() {
    let (queue, _) = queue(2);
    let (mut a, b) = (take(&queue, 1), take(&queue, 2));
    a.expect(9);
    assert_eq!(a.account().cost, 1, "nobody waits: nothing is at stake");
    let mut one = wait(&queue, work(1));
    let mut two: Vec<Seeker> = (0..3).map(|_| wait(&queue, work(2))).collect();
    a.expect(3);
    assert!(queue.is_awaited());
    drop(b);
    let got = answer(&mut two[0]).expect("tenant 2 goes first");
    drop(got);
    let got = answer(&mut two[1]).expect("tenant 1 owes two turns");
    a.settle(3);
    assert!(
        matches!(answer(&mut one), Some(Ok(_))),
        "and no more than that"
    );
    drop((got, two));
    assert!(!queue.is_awaited());
}

// req: FQ-08
#[test]
fn weights_and_quanta_change_while_work_waits() {
    let (queue, _) = queue(1);
    let held = take(&queue, 1);
    let _waiting = [wait(&queue, work(1)), wait(&queue, work(2))];
    queue
        .set_class_weight(Class::ANON, 7)
        .expect("a good weight");
    queue.set_quantum(4).expect("a good quantum");
    assert_eq!(queue.snapshot(1).classes[0].weight, 7);
    assert_eq!(queue.set_quantum(0), Err(SettingsError::Quantum));
    drop(held);
    assert_eq!(queue.in_use(), 1);
}

#[test]
fn a_future_polled_after_its_end_neither_panics_nor_waits() {
    let (queue, _) = queue(1);
    let mut done = Box::pin(queue.acquire(work(1)));
    let slot = answer(&mut done);
    assert!(matches!(slot, Some(Ok(_))));
    assert!(matches!(answer(&mut done), Some(Err(Refused::Closed))));
    drop(done);
    assert_eq!(queue.in_use(), 1);
}

const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };

#[test]
fn under_threads_the_limit_holds_and_everybody_is_served() {
    let (queue, _) = queue(2);
    let (inside, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for tenant in 0..4 {
            let (queue, inside, served) = (&queue, &inside, &served);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let slot = block_on(queue.acquire(work(tenant))).expect("there is room");
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                    served.fetch_add(1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    slot.settle(1 + tenant);
                }
            });
        }
    });
    assert_eq!(served.into_inner(), 4 * ROUNDS);
    assert_eq!(queue.in_use(), 0);
}

// req: FQ-06
#[test]
fn who_knows_the_time_is_not_made_to_read_it_again() {
    let reads = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = reads.clone();
    let clock = move || Duration::from_secs(counted.fetch_add(1, Ordering::Relaxed) as u64);
    let settings = Settings {
        limit: 1,
        ..Settings::default()
    };
    let queue = FairQueue::new(settings, clock).expect("good settings");
    let (now, later) = (Duration::from_secs(5), Duration::from_secs(7));
    let first = answer(&mut Box::pin(
        queue.acquire_at(work(1).deadline(later), now),
    ));
    let mut second = Box::pin(queue.acquire_at(work(2), now));
    let mut mortal = Box::pin(queue.acquire_at(work(3).deadline(later), now));
    assert!(answer(&mut second).is_none() && answer(&mut mortal).is_none());
    first.unwrap().unwrap().settle_at(1, later);
    let second = answer(&mut second).expect("its turn has come").unwrap();
    second.settle_at(1, later);
    let told = answer(&mut mortal).expect("its time is over");
    assert_eq!(told.unwrap_err(), Refused::Expired, "by the caller's clock");
    let late = answer(&mut Box::pin(
        queue.acquire_at(work(1).deadline(now), later),
    ));
    assert_eq!(late.unwrap().unwrap_err(), Refused::Expired);
    assert_eq!(reads.load(Ordering::Relaxed), 0);
    drop(answer(&mut Box::pin(
        queue.acquire(work(1).deadline(later)),
    )));
    assert_eq!(reads.load(Ordering::Relaxed), 1, "who does not is");
}

// req: FQ-06
#[test]
fn slots_outlive_the_handles_and_the_last_of_all_frees_what_they_share() {
    let owned = std::sync::Arc::new(());
    let clock = || {
        let owned = owned.clone();
        move || {
            let _ = &owned;
            Duration::ZERO
        }
    };
    let kept = || std::sync::Arc::strong_count(&owned) - 1;
    let queue = FairQueue::new(Settings::default(), clock()).expect("good settings");
    let (first, second) = (take(&queue, 1), take(&queue, 2));
    drop(queue.clone());
    drop(first);
    drop(queue);
    assert_eq!(kept(), 1);
    drop(second);
    assert_eq!(kept(), 0);
    let queue = FairQueue::new(Settings::default(), clock()).expect("good settings");
    drop(take(&queue, 1));
    assert_eq!(kept(), 1);
    drop(queue);
    assert_eq!(kept(), 0);
}

// req: FQ-06
#[test]
fn whoever_is_handed_the_last_slot_may_be_the_last_of_all() {
    for _ in 0..20 {
        let (queue, _) = queue(1);
        let held = take(&queue, 1);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(block_on(queue.acquire(work(2)))));
            std::thread::yield_now();
            drop(held);
        });
    }
}
