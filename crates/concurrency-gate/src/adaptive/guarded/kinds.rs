//! How long work of each kind takes against other kinds: what a hold time says beyond that, it says of the service.

use std::time::Duration;

/// Kinds that fall into one entry count as one.
const ENTRIES: usize = 256;
/// A kind is learnt from so many.
const YOUNG: u32 = 16;
/// How far it follows at a time, and what is the most that is believed.
const FOLLOW: f64 = 0.1;
const MOST: f64 = 4.0;
const SHORTEST_S: f64 = 1e-6;
const LONGEST_S: f64 = 1e6;

/// A table of fixed size: tenants and routes come and go.
#[derive(Clone, Debug)]
pub(super) struct Kinds(Box<[Kind]>);

#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    usual_s: f64,
    learnt: u32,
    /// Since it was last compared with the others, in what is usual.
    count: u32,
    sum: f64,
}

impl Kinds {
    pub(super) fn new() -> Self {
        Self(vec![Kind::default(); ENTRIES].into())
    }

    /// How long such work usually takes. `slow` is by how much all work is slower than usual when a kind is new.
    pub(super) fn usual_s(&mut self, kind: u64, hold: Duration, slow: f64) -> f64 {
        let mixed = kind.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let kind = &mut self.0[mixed as usize % ENTRIES];
        let hold_s = hold.as_secs_f64().clamp(SHORTEST_S, LONGEST_S);
        if kind.learnt < YOUNG {
            kind.learnt += 1;
            let own_s = (hold_s / slow).clamp(SHORTEST_S, LONGEST_S);
            kind.usual_s += (own_s - kind.usual_s) / f64::from(kind.learnt);
        }
        kind.count += 1;
        kind.sum += hold_s / kind.usual_s;
        kind.usual_s
    }

    /// What is usual of each follows where that kind differs from the mean of all, and only when nothing waits. All
    /// together never follow: they would follow the delay, and none would be seen.
    pub(super) fn compare(&mut self, at_ease: bool) {
        let all = self.0.iter().map(|kind| (kind.sum, kind.count));
        let (sum, count) = all.fold((0.0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let mean = sum / f64::from(count.max(1));
        for kind in self.0.iter_mut().filter(|kind| kind.count > 0) {
            let own = kind.sum / f64::from(kind.count) / mean;
            (kind.count, kind.sum) = (0, 0.0);
            if at_ease {
                let own = own.clamp(MOST.recip(), MOST);
                let usual_s = kind.usual_s * (1.0 + (own - 1.0) * FOLLOW);
                kind.usual_s = usual_s.clamp(SHORTEST_S, LONGEST_S);
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Two kinds, and what is usual for each in milliseconds after so many comparisons.
    fn after(kinds: &mut Kinds, rounds: u32, holds: [Duration; 2], at_ease: bool) -> [u64; 2] {
        let mut usual = [0; 2];
        for _ in 0..rounds {
            for _ in 0..20 {
                let now = [0, 1].map(|kind| kinds.usual_s(kind as u64, holds[kind], 1.0));
                usual = now.map(|usual_s| (usual_s * 1e3).round() as u64);
            }
            kinds.compare(at_ease);
        }
        usual
    }

    // req: GT-12
    #[test]
    fn what_slows_all_kinds_down_is_usual_for_none() {
        let mut kinds = Kinds::new();
        assert_eq!(after(&mut kinds, 1, [ms(20), ms(640)], true), [20, 640]);
        let slowed = [ms(60), ms(1_920)];
        assert_eq!(after(&mut kinds, 100, slowed, true), [20, 640]);
    }

    // req: GT-12
    #[test]
    fn a_kind_that_changes_is_followed_unless_something_waits() {
        let mut kinds = Kinds::new();
        after(&mut kinds, 1, [ms(20), ms(20)], true);
        assert_eq!(after(&mut kinds, 100, [ms(20), ms(80)], false), [20, 20]);
        let [same, changed] = after(&mut kinds, 100, [ms(20), ms(80)], true);
        assert_eq!(changed, same * 4, "against the other");
    }

    // req: GT-12
    #[test]
    fn a_kind_that_comes_while_all_are_slow_is_taken_for_as_slow() {
        let mut kinds = Kinds::new();
        let usual_s = kinds.usual_s(7, ms(60), 3.0);
        assert!((usual_s - 0.02).abs() < 1e-6, "{usual_s}");
    }
}
