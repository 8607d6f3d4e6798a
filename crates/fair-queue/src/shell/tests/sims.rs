//! The shell under storms: resizes, cancellations, floods of tenants, all from a seed.

use std::time::Duration;

use testkit::sim;

use super::{FairQueue, Hand, Seeker, Slot, answer, queue, work};
use crate::{Class, Refused, Settings, Work};

const STEPS: usize = if cfg!(miri) { 100 } else { 3_000 };
const SEEDS: u64 = if cfg!(miri) { 2 } else { 30 };

/// Everybody who wants or has a slot.
#[derive(Default)]
struct Crowd<'a> {
    waiting: Vec<Seeker<'a>>,
    held: Vec<Slot>,
    refused: usize,
}

impl<'a> Crowd<'a> {
    fn come(&mut self, queue: &'a FairQueue, work: Work) {
        let mut seeker = Box::pin(queue.acquire(work));
        match answer(&mut seeker) {
            None => self.waiting.push(seeker),
            Some(Ok(slot)) => self.held.push(slot),
            Some(Err(_)) => self.refused += 1,
        }
    }

    /// Takes up every answer.
    fn look(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain_mut(|seeker| match answer(seeker) {
            None => true,
            Some(Ok(slot)) => {
                self.held.push(slot);
                false
            }
            Some(Err(_)) => {
                self.refused += 1;
                false
            }
        });
        self.waiting = waiting;
    }

    fn end_one(&mut self, rng: &mut sim::Rng) {
        if !self.held.is_empty() {
            let slot = self.held.swap_remove(rng.usize(0..self.held.len()));
            slot.settle(rng.u64(0..4));
        }
    }

    fn give_up_one(&mut self, rng: &mut sim::Rng) {
        if !self.waiting.is_empty() {
            drop(self.waiting.swap_remove(rng.usize(0..self.waiting.len())));
        }
    }

    /// All work ends and nobody new comes: everybody must be served, and nothing stay behind.
    fn go_home(mut self, queue: &FairQueue, rng: &mut sim::Rng) {
        while !self.held.is_empty() {
            self.end_one(rng);
            self.look();
        }
        assert!(self.waiting.is_empty(), "{} are stuck", self.waiting.len());
        assert_eq!(queue.in_use(), 0);
        assert_eq!(queue.snapshot(1).waiting, 0);
        drop(queue.try_acquire(work(1)).expect("the queue is as new"));
    }
}

#[test]
fn a_limit_that_swings_between_1000_and_10_under_saturation_holds_and_loses_nobody() {
    sim::run("fair-queue resize", SEEDS, |rng| {
        let (queue, hand) = queue(1000);
        let mut crowd = Crowd::default();
        let mut allowed = 1000;
        for _ in 0..STEPS {
            hand.advance(Duration::from_micros(rng.u64(0..500)));
            match rng.u8(0..100) {
                0 => {
                    queue
                        .resize(if rng.bool() { 10 } else { 1000 })
                        .expect("a good limit");
                    // Those out may stay; nobody may be added to them.
                    allowed = queue.limit().max(queue.in_use());
                }
                1..70 => crowd.come(&queue, work(rng.u64(0..30))),
                _ => crowd.end_one(rng),
            }
            if rng.bool() {
                crowd.look();
            }
            assert!(queue.in_use() <= allowed);
            allowed = queue.limit().max(queue.in_use());
            let idle = queue.in_use() < queue.limit();
            assert!(
                !idle || queue.snapshot(1).waiting == 0,
                "a free slot beside a waiter"
            );
        }
        crowd.look();
        crowd.go_home(&queue, rng);
    });
}

// req: FQ-05
#[test]
fn when_half_of_the_waiting_give_up_no_slot_is_lost() {
    sim::run("fair-queue give up", SEEDS, |rng| {
        let (queue, hand) = queue(8);
        let mut crowd = Crowd::default();
        for _ in 0..STEPS {
            hand.advance(Duration::from_micros(rng.u64(0..500)));
            match rng.u8(0..4) {
                0 | 1 => crowd.come(&queue, work(rng.u64(0..10))),
                2 => crowd.give_up_one(rng),
                _ => crowd.end_one(rng),
            }
            // Some give up before they have seen that the slot is theirs.
            if rng.u8(0..3) == 0 {
                crowd.look();
            }
            assert!(queue.in_use() <= 8);
        }
        crowd.look();
        crowd.go_home(&queue, rng);
    });
}

// req: FQ-05
#[test]
fn under_expiry_and_a_stepping_clock_everybody_gets_an_answer() {
    sim::run("fair-queue clock steps", SEEDS, |rng| {
        let (queue, hand) = queue(4);
        hand.set(Duration::from_secs(1_000));
        let mut crowd = Crowd::default();
        for _ in 0..STEPS {
            match rng.u8(0..50) {
                0 => hand.set(hand.now().saturating_sub(Duration::from_secs(30))),
                1 => hand.advance(Duration::from_secs(30)),
                _ => hand.advance(Duration::from_millis(rng.u64(0..3))),
            }
            match rng.u8(0..10) {
                0..6 => {
                    let lives = Duration::from_millis(rng.u64(0..200));
                    crowd.come(&queue, work(rng.u64(0..10)).deadline(hand.now() + lives));
                }
                6 => {
                    queue.expire();
                }
                _ => crowd.end_one(rng),
            }
            crowd.look();
        }
        crowd.go_home(&queue, rng);
    });
}

// req: FQ-02, FQ-03
#[test]
fn a_flood_of_a_million_tenants_neither_grows_the_queue_nor_shuts_out_a_class() {
    let count = if cfg!(miri) { 3_000 } else { 1_000_000 };
    let (queue, _) = queue(4);
    let mut crowd = Crowd::default();
    let mut rng = sim::Rng::with_seed(1);
    for tenant in 0..count {
        crowd.come(&queue, Work::of(Class::ANON, tenant));
        if tenant % 16 == 0 {
            crowd.end_one(&mut rng);
            crowd.look();
        }
    }
    assert!(crowd.waiting.len() <= Settings::default().max_items);
    assert_eq!(
        crowd.refused + crowd.waiting.len() + crowd.held.len() + ended(count),
        count as usize
    );
    // Full, and yet the first of another class waits for no more than the open turn.
    let spare = crowd.waiting.pop();
    drop(spare);
    let mut known = Box::pin(queue.acquire(Work::of(Class::AUTHED, 1)));
    assert!(answer(&mut known).is_none());
    crowd.end_one(&mut rng);
    crowd.end_one(&mut rng);
    assert!(matches!(answer(&mut known), Some(Ok(_))));
}

/// How many units the flood ends: one in sixteen, once there is one.
fn ended(count: u64) -> usize {
    count.div_ceil(16) as usize
}

/// A server of eight places with 10 ms each; the wait that is foretold is the wait that comes.
// req: GW-07
#[test]
fn retry_after_is_the_wait_at_the_measured_drain_rate() {
    let (queue, hand) = queue(8);
    let mut crowd = Crowd::default();
    let mut rng = sim::Rng::with_seed(7);
    assert_eq!(
        queue.retry_after(Class::AUTHED, 1),
        None,
        "nothing was measured yet"
    );
    let step = |crowd: &mut Crowd<'_>, hand: &Hand, rng: &mut sim::Rng| {
        hand.advance(Duration::from_micros(1_250));
        if !crowd.held.is_empty() {
            drop(crowd.held.swap_remove(rng.usize(0..crowd.held.len())));
        }
        crowd.look();
    };
    for _ in 0..2_000 {
        while crowd.waiting.len() < 60 {
            crowd.come(&queue, work(crowd.waiting.len() as u64 % 2));
        }
        step(&mut crowd, &hand, &mut rng);
    }
    let foretold = queue.retry_after(Class::AUTHED, 1).expect("measured");
    // The last of sixty at 800 a second.
    let truth = Duration::from_secs_f64(61.0 / 800.0);
    let error = foretold.abs_diff(truth);
    assert!(error < truth / 10, "{foretold:?} instead of {truth:?}");
    let stranger = queue.retry_after(Class::AUTHED, 99).expect("measured");
    assert!(
        stranger < truth / 10,
        "one who has nothing waiting is next: {stranger:?}"
    );
}

#[test]
fn a_refusal_says_which_bound_was_met() {
    let (queue, _) = queue(1);
    let mut crowd = Crowd::default();
    for _ in 0..65 {
        crowd.come(&queue, work(1));
    }
    let more = answer(&mut Box::pin(queue.acquire(work(1))));
    assert_eq!(more.expect("at once").unwrap_err(), Refused::TenantFull);
    for tenant in 2..500 {
        crowd.come(&queue, work(tenant));
    }
    let more = answer(&mut Box::pin(queue.acquire(work(999))));
    assert_eq!(more.expect("at once").unwrap_err(), Refused::Full);
}
