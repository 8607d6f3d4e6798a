//! Grows while growing pays: a step up must bring throughput and leave no standing delay.
//!
//! Outcomes are gathered for a window. Then, in this order:
//! 1. failures: the limit shrinks;
//! 2. mean hold time far over the calm one (the lowest mean of a window): a step of latency, it shrinks;
//! 3. a step up was tried and throughput did not follow: it is taken back, the next try is later;
//! 4. even the quickest of the window was delayed by more than the target: delay stands, no growth;
//! 5. the limit is used and no try is pending: a step up.
//!
//! Nobody is refused to find out: a try is a higher limit, never a lower one.

use std::time::Duration;

use super::{Bounds, Level, Sample};
use crate::breaker::Outcome;

/// Fewer outcomes say nothing, however long they took to gather.
const SAMPLES_MIN: u32 = 30;
/// Mean hold time over the calm one, in calm ones, that is a step and not noise. Mean against mean: work that is quick
/// and slow by nature has a mean far over its quickest, without any delay.
const STEP: f64 = 2.0;
/// How many standard errors of a window's mean chance may explain.
const CHANCE: f64 = 3.0;
/// The share of failures that means drops.
const DROPS: f64 = 0.05;
/// What remains after drops, at least what remains after a step.
const BACKOFF: f64 = 0.8;
/// A step up, as a share of the limit.
const GROWTH: f64 = 0.1;
/// The share of a step up that must be found again in throughput.
const PAYS: f64 = 0.3;
/// How far a lowest value goes towards a window above it.
const FLOOR_RISE: f64 = 0.05;
/// The share of the limit that must have been in flight at some moment for growth, and on average:
/// a caller that never meets the limit, or hardly ever, proves nothing about a higher one.
const USED_PEAK: f64 = 0.9;
const USED_MEAN: f64 = 0.4;
/// The longest pause between two tries, in windows.
const PAUSE_MAX: u32 = 32;

#[derive(Clone, Debug)]
pub(super) struct Guarded {
    level: Level,
    target_s: f64,
    length: Duration,
    window: Window,
    /// The undisturbed hold time of the quickest work, 0 until known.
    floor_s: f64,
    /// The undisturbed mean hold time, 0 until known.
    calm_s: f64,
    /// Throughput before the last step up, and the limit then.
    tried: Option<Try>,
    /// Windows until the next try, and the pause after a try that did not pay.
    wait: u32,
    pause: u32,
}

#[derive(Clone, Copy, Debug)]
struct Try {
    before: f64,
    throughput: f64,
    /// The first window after a step still holds work begun before it.
    settled: bool,
}

#[derive(Clone, Debug, Default)]
struct Window {
    since: Option<Duration>,
    successes: u32,
    failures: u32,
    hold_sum_s: f64,
    hold_square_sum: f64,
    hold_min_s: f64,
    in_flight_sum: u64,
    in_flight_peak: u32,
}

impl Guarded {
    pub(super) fn new(bounds: Bounds, target: Duration, length: Duration, initial: u32) -> Self {
        Self {
            level: Level::new(bounds, initial),
            target_s: target.as_secs_f64(),
            length,
            window: Window::default(),
            floor_s: 0.0,
            calm_s: 0.0,
            tried: None,
            wait: 0,
            pause: 1,
        }
    }

    pub(super) fn record(&mut self, sample: Sample) {
        let since = *self.window.since.get_or_insert(sample.now);
        self.window.add(sample);
        let passed = sample.now.saturating_sub(since);
        if passed >= self.length && self.window.samples() >= SAMPLES_MIN {
            let window = std::mem::take(&mut self.window);
            self.window.since = Some(sample.now);
            self.judge(&window, passed.as_secs_f64());
        }
    }

    fn judge(&mut self, window: &Window, passed_s: f64) {
        let failed = f64::from(window.failures) / f64::from(window.samples());
        if failed > DROPS {
            return self.shrink(BACKOFF);
        }
        let mean_s = window.hold_sum_s / f64::from(window.successes);
        learn(&mut self.floor_s, window.hold_min_s);
        learn(&mut self.calm_s, mean_s);
        let noise_s = self.target_s.max(CHANCE * window.standard_error_s(mean_s));
        if mean_s > self.calm_s * (1.0 + STEP) && mean_s - self.calm_s > noise_s {
            let proportion = self.calm_s * (1.0 + STEP) / mean_s;
            return self.shrink(proportion.max(0.5));
        }
        let throughput = f64::from(window.successes) / passed_s;
        if !self.has_paid(throughput) {
            return;
        }
        let stands = window.hold_min_s - self.floor_s > self.target_s;
        if !stands && window.has_used(self.level.whole()) {
            self.step_up(throughput);
        }
    }

    /// Judges the pending try; false if nothing is to be tried in this window.
    fn has_paid(&mut self, throughput: f64) -> bool {
        if let Some(tried) = &mut self.tried {
            if !tried.settled {
                tried.settled = true;
                return false;
            }
            let asked = (self.level.exact / tried.before - 1.0) * PAYS;
            let paid = throughput >= tried.throughput * (1.0 + asked);
            let before = tried.before;
            self.tried = None;
            if !paid {
                self.level.set(before);
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                self.wait = self.pause;
                return false;
            }
            self.pause = 1;
        }
        self.wait = self.wait.saturating_sub(1);
        self.wait == 0
    }

    fn step_up(&mut self, throughput: f64) {
        let before = self.level.exact;
        self.level.set(before + (before * GROWTH).max(1.0));
        if self.level.exact > before {
            self.tried = Some(Try {
                before,
                throughput,
                settled: false,
            });
        }
    }

    fn shrink(&mut self, to: f64) {
        self.tried = None;
        self.pause = 1;
        self.wait = 1;
        self.level
            .set((self.level.exact * to).min(self.level.exact - 1.0));
    }

    pub(super) fn limit(&self) -> u32 {
        self.level.whole()
    }

    pub(super) fn set(&mut self, limit: u32) {
        self.tried = None;
        self.level.set(f64::from(limit));
    }
}

/// Down at once, up slowly: a lasting change is believed in time.
fn learn(lowest_s: &mut f64, seen_s: f64) {
    if *lowest_s == 0.0 || seen_s < *lowest_s {
        *lowest_s = seen_s;
    } else {
        *lowest_s += (seen_s - *lowest_s) * FLOOR_RISE;
    }
}

impl Window {
    fn add(&mut self, sample: Sample) {
        self.in_flight_sum += u64::from(sample.in_flight);
        self.in_flight_peak = self.in_flight_peak.max(sample.in_flight);
        if sample.outcome == Outcome::Failure {
            self.failures += 1;
            return;
        }
        let hold_s = sample.hold.as_secs_f64();
        self.hold_min_s = if self.successes == 0 {
            hold_s
        } else {
            self.hold_min_s.min(hold_s)
        };
        self.successes += 1;
        self.hold_sum_s += hold_s;
        self.hold_square_sum += hold_s * hold_s;
    }

    /// How far the mean of the successes may lie from the true one by chance.
    fn standard_error_s(&self, mean_s: f64) -> f64 {
        let count = f64::from(self.successes);
        let variance = (self.hold_square_sum / count - mean_s * mean_s).max(0.0);
        (variance / count).sqrt()
    }

    fn has_used(&self, limit: u32) -> bool {
        let mean = self.in_flight_sum as f64 / f64::from(self.samples());
        let (peak, limit) = (f64::from(self.in_flight_peak), f64::from(limit));
        peak >= USED_PEAK * limit && mean >= USED_MEAN * limit
    }

    fn samples(&self) -> u32 {
        self.successes + self.failures
    }
}
