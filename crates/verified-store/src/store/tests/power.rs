//! Power cuts: at every step of some operations, with any part of what was not synced lost.

use super::model::{Op, ROOMY, TIGHT, cases, ops};
use super::place::Place;
use crate::Limits;
use crate::files::faulty::Plan;
use proptest::prelude::*;

/// Every step of the operations, on a fresh directory each.
fn at_every_step(ops: &[Op], limits: Limits, seed: u64) {
    let steps = Place::furnished(limits).survives(ops, limits, Plan::Nothing, seed);
    for step in 0..steps {
        let seed = seed.wrapping_add(step);
        Place::furnished(limits).survives(ops, limits, Plan::PowerCut(step), seed);
    }
}

proptest! {
    #![proptest_config(cases(8))]

    // req: ED-03
    // attack: K-03, L-16, J-10
    #[test]
    fn a_power_cut_at_any_step_loses_nothing_promised_and_shows_nothing_partial(ops in ops(), seed: u64) {
        at_every_step(&ops, ROOMY, seed);
    }

    // req: ED-03
    // attack: K-03, L-16
    #[test]
    fn a_power_cut_amid_evictions_shows_nothing_partial(ops in ops(), seed: u64) {
        at_every_step(&ops, TIGHT, seed);
    }
}

// req: ED-03
// attack: K-03
#[test]
fn a_power_cut_while_the_records_are_rewritten_loses_none_of_them() {
    let put = |key, version| Op::Record {
        key,
        objects: [1, 1],
        version,
    };
    let mut ops = vec![Op::Object(1), put(0, 7), put(1, 8)];
    ops.extend((0..5).map(|_| put(2, 5)));
    ops.push(Op::Remove(1));
    for seed in 0..4 {
        at_every_step(&ops, ROOMY, seed);
    }
}

// req: ED-03
#[test]
fn a_power_cut_at_any_step_of_the_first_start_leaves_a_store_or_a_place_for_one() {
    let ops = [Op::Object(1)];
    let steps = Place::new().survives(&ops, ROOMY, Plan::Nothing, 0);
    assert!(steps > 260, "the start makes the directories");
    // The directories are all made alike, so of those a few will do.
    let worth = (0..=steps).filter(|step| *step < 12 || *step % 32 == 0 || *step + 12 > steps);
    for step in worth {
        for seed in 3 * step..3 * step + 3 {
            Place::new().survives(&ops, ROOMY, Plan::PowerCut(step), seed);
        }
    }
}
