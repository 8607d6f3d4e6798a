//! The fairness bound, under everything that may happen to a queue.

use std::time::Duration;

use testkit::sim;

use super::ledger::Ledger;
use crate::{Class, Handle, Settings, Work};

const STEPS: usize = if cfg!(miri) { 60 } else { 2_000 };
const SEEDS: u64 = if cfg!(miri) { 10 } else { 60 };

fn random_settings(rng: &mut sim::Rng) -> Settings {
    let mut settings = Settings {
        max_items: rng.usize(4..600),
        ..Settings::default()
    };
    settings.max_items_per_tenant = rng.usize(1..=settings.max_items);
    settings.max_cost = rng.u64(1..50);
    settings.quantum = settings.max_cost + rng.u64(0..50);
    for class in &mut settings.classes {
        class.weight = rng.u32(1..20);
    }
    settings
}

fn random_work(rng: &mut sim::Rng, settings: &Settings, tenants: u64) -> Work {
    let tenant = rng.u64(0..tenants);
    Work::of(Class(rng.u16(0..3)), tenant)
        .cost(rng.u64(1..=settings.max_cost))
        .weight(1 + (tenant % 3) as u32)
}

/// Random arrivals, dispatches and cancellations; the ledger asserts the bound at each dispatch.
fn drive(rng: &mut sim::Rng, cancelled_of_hundred: u8, expires: bool) {
    let settings = random_settings(rng);
    let tenants = rng.u64(2..20);
    let mut ledger = Ledger::new(settings.clone());
    let mut handles: Vec<Handle> = Vec::new();
    let mut now = Duration::from_secs(1_000);
    let arrivals = rng.u8(30..90);
    for _ in 0..STEPS {
        now = match rng.u8(0..100) {
            0 => now.saturating_sub(Duration::from_secs(rng.u64(0..100))),
            1 => now + Duration::from_secs(rng.u64(0..10)),
            _ => now + Duration::from_millis(rng.u64(0..5)),
        };
        if rng.u8(0..100) < arrivals {
            let mut work = random_work(rng, &settings, tenants);
            if expires {
                work = work.deadline(now + Duration::from_millis(rng.u64(1..2_000)));
            }
            let pushed = ledger.push(work, now);
            if let Ok(handle) = pushed
                && rng.u8(0..100) < cancelled_of_hundred
            {
                handles.push(handle);
            }
        } else {
            ledger.pop(now);
        }
        if !handles.is_empty() && rng.bool() {
            let handle = handles.swap_remove(rng.usize(0..handles.len()));
            ledger.cancel(handle);
        }
    }
}

// req: FQ-01, FQ-02
#[test]
fn nobody_drifts_further_than_a_quantum_and_two_items_under_random_arrivals() {
    sim::run("fair-queue arrivals", SEEDS, |rng| drive(rng, 0, false));
}

// req: FQ-02, FQ-05
#[test]
fn the_bound_holds_when_half_of_the_waiting_go_away() {
    sim::run("fair-queue cancel storm", SEEDS, |rng| {
        drive(rng, 50, false)
    });
}

// req: FQ-02, FQ-05
#[test]
fn the_bound_holds_under_expiry_and_a_clock_that_steps() {
    sim::run("fair-queue expiry", SEEDS, |rng| drive(rng, 20, true));
}

// req: FQ-08
#[test]
fn after_a_live_change_the_bound_holds_from_the_next_round() {
    sim::run("fair-queue live change", SEEDS / 10, |rng| {
        let settings = Settings {
            max_items: 300,
            max_items_per_tenant: 300,
            quantum: 20,
            max_cost: 20,
            ..Settings::default()
        };
        let mut ledger = Ledger::new(settings.clone());
        let refill = |ledger: &mut Ledger, rng: &mut sim::Rng| {
            while ledger.queue.len() < 250 {
                let work = random_work(rng, &settings, 4);
                ledger.push(work, Duration::ZERO).expect("there is room");
            }
        };
        for _ in 0..10 {
            ledger.change_class_weight(Class(rng.u16(0..3)), rng.u32(1..8));
            ledger.change_quantum(20 + rng.u64(0..30));
            // The turns that were open at the change end under the old credit: one round of all.
            for _ in 0..700 {
                refill(&mut ledger, rng);
                ledger.forget_gaps();
                ledger.pop(Duration::ZERO);
            }
            for _ in 0..600 {
                refill(&mut ledger, rng);
                ledger.pop(Duration::ZERO);
            }
        }
    });
}
