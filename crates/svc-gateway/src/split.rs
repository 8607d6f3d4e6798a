//! Which of several upstreams a request of one route goes to.

use std::sync::Arc;

use crate::backend::Backend;

/// One or more upstreams.
pub(crate) struct Split {
    weights: Vec<u32>,
    parts: Vec<Arc<Backend>>,
}

impl Split {
    pub(crate) fn new(parts: impl Iterator<Item = (u32, Arc<Backend>)>) -> Self {
        let (weights, parts) = parts.unzip();
        Self { weights, parts }
    }

    /// One of them, as often as its weight says. Where nobody may be asked, its share goes to the others. `draw` is any
    /// number.
    pub(crate) fn choose(&self, draw: impl FnOnce() -> u64, hasty: bool) -> &Arc<Backend> {
        if let [only] = &self.parts[..] {
            return only;
        }
        let is_well = |part: usize| {
            let pool = &self.parts[part].body.pool;
            pool.may_be_asked(kernel::clock::now(), hasty)
        };
        &self.parts[choose(&self.weights, draw(), is_well)]
    }
}

/// One of so many parts, among those that are well if any of weight is.
fn choose(weights: &[u32], draw: u64, is_well: impl Fn(usize) -> bool) -> usize {
    let chosen = at(weights, draw);
    if is_well(chosen) {
        return chosen;
    }
    let of_the_well = |(part, weight): (usize, &u32)| *weight * u32::from(is_well(part));
    let well: Vec<u32> = weights.iter().enumerate().map(of_the_well).collect();
    match well.iter().all(|weight| *weight == 0) {
        true => chosen,
        // Not the digits that led here: they lead to the first of the others only.
        false => at(&well, draw.rotate_right(32)),
    }
}

/// The part in which a number lies.
fn at(weights: &[u32], draw: u64) -> usize {
    let whole: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let mut point = draw % whole.max(1);
    let lies = |weight: &u32| match point.checked_sub(u64::from(*weight)) {
        Some(beyond) => {
            point = beyond;
            false
        }
        None => true,
    };
    weights.iter().position(lies).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each is chosen of 100,000 draws.
    fn chosen(weights: &[u32], well: &[bool]) -> Vec<f64> {
        let mut counts = vec![0.0; weights.len()];
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..100_000 {
            counts[choose(weights, random.u64(..), |part| well[part])] += 1e-5;
        }
        counts
    }

    // req: GW-01, GW-11
    #[test]
    fn who_is_not_well_leaves_its_share_to_the_others_as_their_weights_say() {
        for (well, expected) in [
            ([true, true, true], [0.6, 0.3, 0.1]),
            ([false, true, true], [0.0, 0.75, 0.25]),
            ([true, false, true], [0.857, 0.0, 0.143]),
            ([false, false, true], [0.0, 0.0, 1.0]),
            ([false, false, false], [0.6, 0.3, 0.1]),
        ] {
            let got = chosen(&[60, 30, 10], &well);
            let near = |(got, expected): (&f64, f64)| (got - expected).abs() < 0.01;
            assert!(got.iter().zip(expected).all(near), "{got:?} for {well:?}");
        }
    }

    // req: GW-01
    #[test]
    fn who_has_no_weight_gets_nothing_however_the_others_are() {
        for well in [[true, true], [false, true], [true, false], [false, false]] {
            assert_eq!(chosen(&[5, 0], &well)[1], 0.0, "{well:?}");
        }
        assert_eq!(choose(&[0, 0], 3, |_| true), 0, "or all get as much");
    }
}
