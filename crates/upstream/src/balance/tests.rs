use super::*;
use proptest::prelude::*;
use testkit::sim;

use fastrand::Rng;

impl Field for Vec<f32> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn share(&self, index: usize) -> f32 {
        self[index]
    }
}

fn shares() -> impl Strategy<Value = Vec<f32>> {
    proptest::collection::vec((0u8..6).prop_map(f32::from), 1..8)
}

fn counts(rounds: usize, len: usize, mut pick: impl FnMut() -> Option<usize>) -> Vec<usize> {
    let mut counts = vec![0; len];
    for _ in 0..rounds {
        counts[pick().expect("somebody may be chosen")] += 1;
    }
    counts
}

fn assert_shares(counts: &[usize], field: &[f32], tolerance: f32) {
    let rounds = counts.iter().sum::<usize>() as f32;
    let total: f32 = field.iter().sum();
    for (index, count) in counts.iter().enumerate() {
        let (got, due) = (*count as f32 / rounds, field[index] / total);
        assert!(
            (got - due).abs() <= tolerance * due,
            "{index}: {got} is not {due}"
        );
    }
}

proptest! {
    // req: GW-11
    #[test]
    fn turns_honour_weights_exactly_over_a_cycle_and_skip_who_is_out(field in shares()) {
        let cycle = field.iter().sum::<f32>() as usize;
        let mut turns = Turns::default();
        if cycle == 0 {
            prop_assert_eq!(turns.next(&field), None);
        } else {
            let counts = counts(cycle * 3, field.len(), || turns.next(&field));
            for (index, count) in counts.iter().enumerate() {
                prop_assert_eq!(*count, field[index] as usize * 3);
            }
        }
    }

    // req: GW-11
    #[test]
    fn least_never_leaves_somebody_with_less(
        field in shares(),
        costs in proptest::collection::vec(0u8..9, 8),
        seed: u64,
    ) {
        let cost = |index: usize| f32::from(costs[index]) + 1.0;
        let picked = least(&field, cost, &mut Rng::with_seed(seed));
        let burden = |index: usize| cost(index) / field[index];
        match picked {
            Some(picked) => for index in (0..field.len()).filter(|index| field[*index] > 0.0) {
                prop_assert!(burden(picked) <= burden(index));
            },
            None => prop_assert!(field.iter().all(|share| *share == 0.0)),
        }
    }

    // req: GW-11
    #[test]
    fn of_two_the_cheaper_is_taken_and_the_dearest_of_all_never(
        costs in proptest::collection::btree_set(1u16..999, 2..8),
        out in 0usize..8,
        seed: u64,
    ) {
        let costs: Vec<u16> = costs.into_iter().collect();
        let mut field = vec![1.0f32; costs.len()];
        if out < field.len() && field.len() > 2 {
            field[out] = 0.0;
        }
        let cost = |index: usize| f32::from(costs[index]);
        let dearest = (0..field.len()).rev().find(|index| field[*index] > 0.0);
        let rng = &mut Rng::with_seed(seed);
        for _ in 0..64 {
            let both = [cheaper_of_two(&field, cost, rng), cheaper_by_share(&field, cost, rng)];
            for picked in both.into_iter().flatten() {
                prop_assert!(field[picked] > 0.0);
                prop_assert_ne!(Some(picked), dearest);
            }
        }
    }

    // req: GW-11
    #[test]
    fn when_one_goes_only_its_keys_move(
        mut field in proptest::collection::vec((1u8..4).prop_map(f32::from), 2..9),
        gone in any::<prop::sample::Index>(),
        seed: u64,
    ) {
        let gone = gone.index(field.len());
        let identity = |index: usize| index as u64 * 7919;
        let keys: Vec<u64> = (0..500).map(|key| mix(seed ^ key)).collect();
        let before: Vec<_> = keys.iter().map(|key| rendezvous(&field, identity, *key)).collect();
        field[gone] = 0.0;
        for (key, before) in keys.iter().zip(before) {
            let after = rendezvous(&field, identity, *key);
            if before != Some(gone) {
                prop_assert_eq!(after, before);
            }
        }
    }
}

// req: GW-11
#[test]
fn turns_are_spread_and_not_in_bursts() {
    let (field, mut turns) = (vec![5.0f32, 1.0, 1.0], Turns::default());
    let order: Vec<_> = (0..7).map(|_| turns.next(&field).unwrap()).collect();
    assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
}

// req: GW-11
#[test]
fn keys_spread_by_weight_and_a_newcomer_takes_no_more_than_its_share() {
    let identity = |index: usize| index as u64 * 104_729;
    let mut field = vec![1.0f32, 2.0, 3.0, 2.0];
    let at = |field: &Vec<f32>, key: u64| rendezvous(field, identity, mix(key));
    let mut key = 0;
    let spread = counts(80_000, 4, || {
        key += 1;
        at(&field, key)
    });
    assert_shares(&spread, &field, 0.05);

    let before: Vec<_> = (0..80_000).map(|key| at(&field, key)).collect();
    field.push(2.0);
    let moved = (0..80_000).filter(|key| at(&field, *key) != before[*key as usize]);
    let moved = moved.count() as f32 / 80_000.0;
    assert!((moved - 0.2).abs() < 0.01, "{moved} of the keys moved");
}

// req: GW-11
#[test]
fn the_key_of_bytes_is_what_everybody_else_makes_of_them_and_spreads_names_evenly() {
    // From the reference of the function.
    assert_eq!(hash_key(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(hash_key(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(hash_key(b"foobar"), 0x8594_4171_f739_67e8);
    let identity = |index: usize| index as u64 * 104_729;
    let field = vec![1.0f32, 2.0, 3.0, 2.0];
    let mut number = 0;
    let spread = counts(80_000, 4, || {
        number += 1;
        let name = format!("tenant-{number}");
        rendezvous(&field, identity, hash_key(name.as_bytes()))
    });
    assert_shares(&spread, &field, 0.05);
}

// req: GW-11
#[test]
fn at_equal_cost_two_drawn_by_share_honour_weights() {
    sim::run("weights of p2c", 4, |rng| {
        let field = vec![1.0f32, 4.0, 10.0];
        let spread = counts(60_000, 3, || cheaper_by_share(&field, |_| 1.0, rng));
        assert_shares(&spread, &field, 0.05);
    });
}

// req: GW-11
#[test]
fn least_request_follows_weights_when_requests_are_equally_long() {
    sim::run("weights of least", 4, |rng| {
        let field = vec![1.0f32, 2.0, 5.0];
        let mut inside = [0u32; 3];
        let (mut order, mut served) = (std::collections::VecDeque::new(), vec![0; 3]);
        for _ in 0..40_000 {
            let picked = least(&field, |index| load(inside[index]), rng).unwrap();
            inside[picked] += 1;
            served[picked] += 1;
            order.push_back(picked);
            if order.len() > 64 {
                inside[order.pop_front().unwrap()] -= 1;
            }
        }
        assert_shares(&served, &field, 0.05);
    });
}

// req: GW-11
#[test]
fn those_who_have_nothing_to_do_are_asked_by_their_weights() {
    sim::run("weights of the idle", 4, |rng| {
        let field = vec![1.0f32, 2.0, 0.0, 7.0];
        let spread = counts(60_000, 4, || least(&field, |_| load(0), rng));
        assert_eq!(spread[2], 0);
        assert_shares(&spread, &field, 0.05);
        let busy = |index| load(u32::from(index == 3));
        let spread = counts(1_000, 4, || least(&field, busy, rng));
        assert_eq!(spread[3], 0, "while it has something to do");
    });
}
