//! The limit follows the ratio of long-term to short-term hold time.

use super::aimd::is_used;
use super::{Bounds, Level, Sample};
use crate::breaker::Outcome;

/// Weights of a new sample in the two averages.
const LONG_WEIGHT: f64 = 1.0 / 600.0;
const SHORT_WEIGHT: f64 = 1.0 / 10.0;
/// How much of the way to its goal the limit goes per sample.
const SMOOTHING: f64 = 0.02;
/// The steepest descent of one goal.
const GRADIENT_MIN: f64 = 0.5;
/// What remains after a failure.
const FAILURE_BACKOFF: f64 = 0.95;

#[derive(Clone, Debug)]
pub(super) struct Gradient {
    level: Level,
    tolerance: f64,
    long_s: f64,
    short_s: f64,
    samples: u32,
}

/// Until then the long average is the mean of what was seen.
const WARM_UP: u32 = 20;

impl Gradient {
    pub(super) fn new(bounds: Bounds, tolerance: f64, initial: u32) -> Self {
        Self {
            level: Level::new(bounds, initial),
            tolerance,
            long_s: 0.0,
            short_s: 0.0,
            samples: 0,
        }
    }

    pub(super) fn record(&mut self, sample: Sample) {
        if sample.outcome == Outcome::Failure {
            self.level.set(self.level.exact * FAILURE_BACKOFF);
            return;
        }
        self.average(sample.hold.as_secs_f64());
        let gradient = (self.tolerance * self.long_s / self.short_s).clamp(GRADIENT_MIN, 1.0);
        let goal = self.level.exact * gradient + self.level.exact.sqrt();
        if goal > self.level.exact && !is_used(self.level.whole(), sample.in_flight) {
            return;
        }
        self.level
            .set(self.level.exact + (goal - self.level.exact) * SMOOTHING);
    }

    fn average(&mut self, hold_s: f64) {
        let hold_s = hold_s.max(1e-9);
        self.samples = self.samples.saturating_add(1);
        let early = 1.0 / f64::from(self.samples);
        let long = if self.samples <= WARM_UP {
            early
        } else {
            LONG_WEIGHT
        };
        self.long_s += (hold_s - self.long_s) * long;
        self.short_s += (hold_s - self.short_s) * SHORT_WEIGHT.max(early);
        // After a slow spell the long average must not call everything fast for minutes.
        if self.long_s > 2.0 * self.short_s {
            self.long_s *= 0.95;
        }
    }

    pub(super) fn limit(&self) -> u32 {
        self.level.whole()
    }

    pub(super) fn set(&mut self, limit: u32) {
        self.level.set(f64::from(limit));
    }
}
