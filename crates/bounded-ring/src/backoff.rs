//! How long to stay out of the way of another thread that is between two of its steps.

use crate::sync::{rest, spin_loop, yield_now};

/// Spins of the last round before the thread gives up its time slice: 2^6.
const SPIN_ROUNDS: u32 = 6;
/// Yields after that before the thread rests.
const YIELD_ROUNDS: u32 = 64;

pub(crate) struct Backoff {
    round: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { round: 0 }
    }

    /// After a lost race: somebody else made progress, so a short pause is enough.
    pub(crate) fn lost_race(&mut self) {
        self.spin(self.round.min(SPIN_ROUNDS));
        self.round += 1;
    }

    /// While another thread must finish its step first: it may have been preempted, so let it run.
    pub(crate) fn await_other(&mut self) {
        if self.round <= SPIN_ROUNDS && !cfg!(loom) {
            self.spin(self.round);
        } else if self.round <= SPIN_ROUNDS + YIELD_ROUNDS {
            yield_now();
        } else {
            rest();
        }
        self.round = self.round.saturating_add(1);
    }

    fn spin(&self, exponent: u32) {
        // One pause tells a model as much as many.
        let pauses = if cfg!(loom) { 1 } else { 1 << exponent };
        for _ in 0..pauses {
            spin_loop();
        }
    }
}
