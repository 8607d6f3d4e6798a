use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::BriefLock;

// req: KN-05
#[test]
fn no_turn_is_lost_among_threads() {
    const THREADS: u64 = 4;
    const TURNS: u64 = if cfg!(miri) { 50 } else { 50_000 };
    let lock = BriefLock::new(0_u64);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    lock.with(|count| *count += 1);
                }
            });
        }
    });
    assert_eq!(lock.with(|count| *count), THREADS * TURNS);
}

// req: KN-05
#[test]
fn who_waits_longer_than_it_spins_gets_its_turn_after_the_holder() {
    let lock = BriefLock::new(Vec::new());
    let (entered, inside) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            lock.with(|seen| {
                entered.wait();
                // Held until the other is at the lock, and for more pauses than it spins.
                while !inside.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                for _ in 0..1000 {
                    thread::yield_now();
                }
                seen.push("holder");
            });
        });
        entered.wait();
        inside.store(true, Ordering::Release);
        lock.with(|seen| seen.push("waiter"));
    });
    assert_eq!(lock.with(std::mem::take), ["holder", "waiter"]);
}

// attack: K-05
#[test]
fn a_panic_in_a_turn_frees_the_lock() {
    let lock = BriefLock::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| lock.with(|_| panic!("while holding"))));
    assert!(panicked.is_err());
    assert_eq!(lock.with(|value| *value), 1);
}
