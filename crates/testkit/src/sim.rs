//! Seeded simulations: many small random runs, each repeatable from the seed that a failure prints.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[cfg(test)]
mod tests;

pub use fastrand::Rng;

/// Runs only this seed, written in decimal or as `0x…`.
pub const SEED_VARIABLE: &str = "MACRONODE_SEED";
/// Multiplies the number of seeds of every simulation.
pub const FACTOR_VARIABLE: &str = "MACRONODE_SIM_SEEDS";

/// Runs the closure once per seed; a panic is reported with its seed and goes on.
///
/// The seeds of a name are the same on every run, and differ from those of another name.
pub fn run(name: &str, seeds: u64, simulate: impl FnMut(&mut Rng)) {
    let variable = |key| std::env::var(key).ok();
    let plan = Plan::new(
        name,
        seeds,
        variable(SEED_VARIABLE),
        variable(FACTOR_VARIABLE),
    );
    run_plan(name, &plan, &mut std::io::stderr(), simulate);
}

#[derive(Debug, PartialEq, Eq)]
enum Plan {
    One(u64),
    Many { base: u64, count: u64 },
}

impl Plan {
    fn new(name: &str, seeds: u64, only: Option<String>, factor: Option<String>) -> Self {
        if let Some(only) = only {
            return Self::One(number(SEED_VARIABLE, &only));
        }
        let factor = factor.map_or(1, |factor| number(FACTOR_VARIABLE, &factor));
        Self::Many {
            base: fnv1a(name),
            count: seeds.saturating_mul(factor),
        }
    }

    fn seeds(&self) -> impl Iterator<Item = u64> {
        let (base, count, only) = match *self {
            Self::One(seed) => (0, 0, Some(seed)),
            Self::Many { base, count } => (base, count, None),
        };
        only.into_iter()
            .chain((0..count).map(move |index| mix(base.wrapping_add(index))))
    }
}

fn run_plan(name: &str, plan: &Plan, report: &mut impl Write, mut simulate: impl FnMut(&mut Rng)) {
    for seed in plan.seeds() {
        let mut rng = Rng::with_seed(seed);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| simulate(&mut rng))) {
            let line =
                format!("{name}: seed {seed:#x} failed; rerun with {SEED_VARIABLE}={seed:#x}");
            // The panic matters more than a report that cannot be written.
            let _ = writeln!(report, "{line}");
            resume_unwind(panic);
        }
    }
}

fn number(variable: &str, text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{variable}={text} is neither a decimal nor a 0x number"))
}

fn fnv1a(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// SplitMix64's finalizer: neighbouring indices give seeds that share nothing.
fn mix(index: u64) -> u64 {
    let z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
