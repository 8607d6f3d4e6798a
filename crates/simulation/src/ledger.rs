//! What became of everything, counted, and the digest of the history.

use std::collections::BTreeMap;

/// Violations of one shape that are told in full.
const TOLD: usize = 4;
/// As much of a violation, without its numbers, is its shape.
const SHAPE: usize = 24;

/// The books of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// By way and fate.
    pub(crate) fates: BTreeMap<String, u64>,
    /// Faults and what else was done, by name.
    pub(crate) deeds: BTreeMap<&'static str, u64>,
    pub(crate) violations: Vec<String>,
    pub(crate) violated: u64,
    digest: u64,
}

impl Ledger {
    /// Folds a word of the history into the digest.
    pub(crate) fn note(&mut self, word: u64) {
        let mixed = (self.digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.digest = mixed ^ (mixed >> 29);
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn count(&mut self, fate: String) {
        *self.fates.entry(fate).or_default() += 1;
    }

    pub(crate) fn did(&mut self, deed: &'static str) {
        *self.deeds.entry(deed).or_default() += 1;
    }

    /// A promise was not kept.
    pub(crate) fn violated(&mut self, what: String) {
        self.violated += 1;
        let alike = self.violations.iter();
        if alike.filter(|told| shape(told) == shape(&what)).count() < TOLD {
            self.violations.push(what);
        }
    }
}

fn shape(violation: &str) -> String {
    let letters = violation.chars().filter(|letter| !letter.is_ascii_digit());
    letters.take(SHAPE).collect()
}
