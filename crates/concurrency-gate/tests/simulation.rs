//! Seeded storms: cancellations, panics, resizes, floods of keys, clocks that step.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use concurrency_gate::{BreakerConfig, Gate, GateConfig, KeyHandle, Lease, Limit, Reason, Wait};
use testkit::sim::{self, Rng};

const START: Duration = Duration::from_secs(1_000);

fn gate(limit: Limit) -> Gate<u64> {
    Gate::new(GateConfig::new(limit)).expect("the limit makes sense")
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Callers of one key, each inside or in line.
struct Crowd<'h> {
    door: &'h KeyHandle<u64>,
    inside: Vec<Lease<'h, u64>>,
    line: Vec<Pin<Box<Wait<'h, u64>>>>,
}

impl<'h> Crowd<'h> {
    fn at(door: &'h KeyHandle<u64>) -> Self {
        Self {
            door,
            inside: Vec::new(),
            line: Vec::new(),
        }
    }

    fn arrive(&mut self, now: Duration) {
        let mut wait = Box::pin(self.door.wait(now, None));
        match poll(&mut wait) {
            Poll::Ready(Ok(lease)) => self.inside.push(lease),
            Poll::Ready(Err(rejection)) => assert_ne!(rejection.reason(), Reason::Closed),
            Poll::Pending => self.line.push(wait),
        }
    }

    /// Those whose turn it is come in; they are the first in line.
    fn come_in(&mut self) -> usize {
        let mut called = 0;
        let mut still = Vec::new();
        for mut wait in self.line.drain(..) {
            match poll(&mut wait) {
                Poll::Ready(Ok(lease)) => {
                    assert!(still.is_empty(), "somebody overtook");
                    self.inside.push(lease);
                    called += 1;
                }
                Poll::Ready(Err(rejection)) => {
                    assert_eq!(rejection.reason(), Reason::BreakerOpen);
                }
                Poll::Pending => still.push(wait),
            }
        }
        self.line = still;
        called
    }

    fn somebody_leaves(&mut self, rng: &mut Rng, now: Duration) {
        if self.inside.is_empty() {
            return;
        }
        let lease = self.inside.swap_remove(rng.usize(..self.inside.len()));
        match rng.u8(..4) {
            0 => lease.success(now),
            1 => lease.ignore(),
            2 => drop(lease),
            _ => {
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    let _lease = lease;
                    std::panic::resume_unwind(Box::new("the holder's own trouble"));
                }));
                assert!(panicked.is_err());
            }
        }
    }

    fn empty(self) {
        let door = self.door;
        drop((self.line, self.inside));
        assert_eq!((door.in_flight(), door.waiting()), (0, 0));
    }
}

// req: GT-03, GT-04
#[test]
fn a_storm_of_cancellations_and_panics_loses_no_slot() {
    sim::run("gate cancel storm", 60, |rng| {
        let limit = rng.u32(1..8);
        let gate = gate(Limit::fixed(limit).with_queue(50));
        let door = gate.handle(&0, START);
        let mut crowd = Crowd::at(&door);
        for tick in 0..600 {
            let now = START + Duration::from_millis(tick);
            for _ in 0..rng.u32(..4) {
                crowd.arrive(now);
            }
            // Half of those who wait go away, some of them with the slot just handed to them.
            crowd.line.retain(|_| rng.u8(..8) != 0);
            crowd.somebody_leaves(rng, now);
            if rng.bool() {
                crowd.line.retain(|_| rng.bool());
            }
            crowd.come_in();
            assert!(crowd.inside.len() <= limit as usize);
            assert!(crowd.line.len() <= 50);
            let starved = crowd.inside.len() < limit as usize && !crowd.line.is_empty();
            assert!(!starved, "a slot is free and somebody waits");
            assert_eq!(door.in_flight() as usize, crowd.inside.len());
        }
        crowd.empty();
    });
}

// req: GT-06, GT-04
// attack: H-11
#[test]
fn resizing_between_a_thousand_and_ten_under_saturation_keeps_every_promise() {
    sim::run("gate resize", 5, |rng| {
        let gate = gate(Limit::fixed(1_000).with_queue(2_000));
        let door = gate.handle(&0, START);
        let mut crowd = Crowd::at(&door);
        let mut limit = 1_000;
        for tick in 0..120 {
            let now = START + Duration::from_millis(tick);
            while crowd.line.len() < 40 {
                crowd.arrive(now);
            }
            if rng.u8(..10) == 0 {
                limit = if limit == 10 { 1_000 } else { 10 };
                let before = crowd.inside.len();
                door.resize(limit).unwrap();
                crowd.come_in();
                assert!(crowd.inside.len() >= before, "nobody is sent away");
            }
            for _ in 0..rng.u32(..200) {
                let in_debt = crowd.inside.len() > limit as usize;
                crowd.somebody_leaves(rng, now);
                let came = crowd.come_in();
                assert!(!in_debt || came == 0, "debt is paid first");
            }
            let fits = crowd.inside.len() >= limit as usize || crowd.line.is_empty();
            assert!(
                fits,
                "{} of {limit} inside while others wait",
                crowd.inside.len()
            );
        }
        crowd.empty();
    });
}

// req: GT-05
#[test]
fn sweeps_come_each_minute_and_do_not_march_in_step() {
    let gate = gate(Limit::fixed(1));
    let pauses: Vec<_> = (0..100_u32)
        .map(|n| gate.sweep(START * n).next_in.as_secs_f64())
        .collect();
    assert!(pauses.iter().all(|pause| (60.0..=66.0).contains(pause)));
    let (least, most) = (
        pauses.iter().copied().fold(f64::MAX, f64::min),
        pauses.iter().copied().fold(0.0, f64::max),
    );
    assert!(most - least > 3.0, "from {least} to {most}");
}

// req: GT-05, GT-06
#[test]
fn a_limit_set_by_hand_is_not_forgotten_and_a_registered_key_stays() {
    let gate = gate(Limit::fixed(1));
    gate.register(7, Limit::fixed(3)).unwrap();
    gate.handle(&8, START).resize(5).unwrap();
    drop(gate.handle(&9, START));
    let swept = gate.sweep(START * 1_000);
    assert_eq!((swept.evicted, swept.kept), (1, 2));
    assert_eq!(gate.handle(&7, START).limit(), 3);
    assert_eq!(gate.handle(&8, START).limit(), 5);
}

// req: GT-11, GT-05
#[test]
fn a_flood_of_a_million_keys_is_admitted_and_bounded() {
    let config = GateConfig {
        keys_max: 10_000,
        ..GateConfig::new(Limit::fixed(4))
    };
    let gate = Gate::new(config).unwrap();
    for key in 0..1_000_000_u64 {
        let handle = gate.handle(&key, START);
        let lease = handle.try_enter(START);
        assert!(lease.is_ok(), "key {key} was refused: {lease:?}");
    }
    let counts = gate.statistics();
    assert_eq!(counts.acquired, 1_000_000);
    assert!(counts.keys <= 10_000, "{}", counts.keys);
    assert!(counts.shared_lookups >= 990_000);
    let later = START + Duration::from_secs(600);
    assert_eq!(gate.sweep(later).kept, 0);
    assert_eq!(
        gate.statistics().acquired,
        1_000_000,
        "what was counted stays so"
    );
    assert!(!gate.handle(&5, later).is_shared(), "there is room again");
}

// req: GT-11, GT-05
#[test]
fn a_key_is_never_admitted_by_a_shared_entry_and_its_own_at_once() {
    let config = GateConfig {
        keys_max: 1,
        ..GateConfig::new(Limit::fixed(1))
    };
    let gate = Gate::new(config).unwrap();
    drop(gate.handle(&1, START));
    let shared = gate.handle(&2, START);
    assert!(shared.is_shared());
    let lease = shared.try_enter_owned(START).unwrap();
    drop(shared);
    let later = START + Duration::from_secs(600);
    assert_eq!(
        gate.sweep(later).evicted,
        1,
        "there is room for the key now"
    );
    assert!(
        gate.handle(&2, later).is_shared(),
        "its shared entry is in use"
    );
    drop(lease);
    assert!(!gate.handle(&2, later).is_shared());
}

// req: GT-11
#[test]
fn a_noisy_key_beyond_the_cap_leaves_room_for_most_others() {
    let config = GateConfig {
        keys_max: 1,
        ..GateConfig::new(Limit::fixed(2))
    };
    let gate = Gate::new(config).unwrap();
    let _own = gate.handle(&0, START);
    let noisy = gate.handle(&1, START);
    let _held: Vec<_> = std::iter::from_fn(|| noisy.try_enter(START).ok()).collect();
    let admitted = (2..1_002).filter(|key| gate.handle(key, START).try_enter(START).is_ok());
    let admitted = admitted.count();
    assert!(
        admitted >= 990,
        "{admitted} of 1000 beside one that holds all it can get"
    );
}

// req: GT-05, GT-07, GT-02
#[test]
fn clocks_that_step_and_leap_neither_panic_nor_strand_anybody() {
    sim::run("gate clock steps", 60, |rng| {
        let breaker = BreakerConfig::consecutive(2);
        let gate = gate(Limit::fixed(2).with_queue(5).with_breaker(breaker));
        let times = [Duration::ZERO, START, START * 2, Duration::MAX];
        for _ in 0..200 {
            let key = rng.u64(..3);
            let now = times[rng.usize(..4)];
            let door = gate.handle(&key, now);
            let mut crowd = Crowd::at(&door);
            for _ in 0..rng.u8(..6) {
                crowd.arrive(times[rng.usize(..4)]);
            }
            if let Some(lease) = crowd.inside.pop() {
                lease.failure(times[rng.usize(..4)]);
            }
            crowd.come_in();
            crowd.somebody_leaves(rng, now);
            crowd.come_in();
            crowd.empty();
            gate.sweep(times[rng.usize(..4)]);
        }
        let counts = gate.statistics();
        assert!(counts.acquired > 0);
    });
}

// req: GT-04, GT-09
#[test]
fn threads_that_enter_and_leave_at_will_never_exceed_the_limit() {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    let gate = gate(Limit::fixed(3).with_queue(4));
    let door = gate.handle(&0, START);
    let (inside, admitted) = (AtomicU32::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..20_000 {
                    let entered = if round % 3 == 0 {
                        door.try_enter(START).ok()
                    } else {
                        let mut wait = Box::pin(door.wait(START, None));
                        match poll(&mut wait) {
                            Poll::Ready(entered) => entered.ok(),
                            Poll::Pending => wait.as_mut().expire().ok(),
                        }
                    };
                    if let Some(lease) = entered {
                        admitted.fetch_add(1, Ordering::Relaxed);
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lease);
                    }
                }
            });
        }
    });
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
    let counts = gate.statistics();
    let granted = admitted.load(Ordering::Relaxed);
    assert_eq!(counts.acquired, granted);
    assert_eq!(counts.acquired + counts.rejected.total(), 80_000);
}
