//! Additive increase, multiplicative decrease.

use std::time::Duration;

use super::{Bounds, Level, Sample};
use crate::breaker::Outcome;

#[derive(Clone, Debug)]
pub(super) struct Aimd {
    level: Level,
    slow: Duration,
    backoff: f64,
    /// Work that began before the last decrease tells of the limit before it.
    decreased_at: Option<Duration>,
}

impl Aimd {
    pub(super) fn new(bounds: Bounds, slow: Duration, backoff: f64, initial: u32) -> Self {
        Self {
            level: Level::new(bounds, initial),
            slow,
            backoff,
            decreased_at: None,
        }
    }

    pub(super) fn record(&mut self, sample: Sample) {
        let trouble = sample.outcome == Outcome::Failure || sample.hold > self.slow;
        if trouble {
            self.decrease(sample);
        } else if is_used(self.level.whole(), sample.in_flight) {
            // One more per round: a round has as many ends as there are slots.
            self.level.set(self.level.exact + 1.0 / self.level.exact);
        }
    }

    fn decrease(&mut self, sample: Sample) {
        let began = sample.now.saturating_sub(sample.hold);
        if self.decreased_at.is_some_and(|at| began < at) {
            return;
        }
        self.decreased_at = Some(sample.now);
        let lower = (self.level.exact * self.backoff).min(self.level.exact - 1.0);
        self.level.set(lower);
    }

    pub(super) fn limit(&self) -> u32 {
        self.level.whole()
    }

    pub(super) fn set(&mut self, limit: u32) {
        self.level.set(f64::from(limit));
    }
}

/// An idle caller proves nothing about a higher limit.
pub(super) fn is_used(limit: u32, in_flight: u32) -> bool {
    in_flight.saturating_mul(2) > limit
}
