//! What is gathered of finished work between two judgements, in constant space.

use std::time::Duration;

use super::Sample;
use crate::breaker::Outcome;

/// Fewer outcomes say nothing, however long they took to gather.
const SAMPLES_MIN: u32 = 20;
const SAMPLES_LATE: u32 = 100;
/// Work that takes longer is not waited for.
const SPAN_MAX: Duration = Duration::from_secs(2);
/// How often each place must have been given: work that goes in step would be counted once more, or once less.
const ROUNDS_MIN: u32 = 1;
/// The share of what is inside that must have been seen to end.
const KNOWN: f64 = 0.5;
/// A window that is not certain by then is judged as it is, in lengths of a window.
const LENGTHS_MAX: u32 = 5;
/// The share of the successes that is called quick.
const QUICK: f64 = 0.25;
/// The share of the limit that must have been in flight at some moment, and on average, for the limit to be used.
const USED_PEAK: f64 = 0.9;
const USED_MEAN: f64 = 0.7;
/// Work is told apart by half a power of two, from a thousandth of what is usual to sixty thousand times that.
const CLASSES: usize = 52;
const LEAST: f64 = 1e-3;
const SHORTEST_S: f64 = 1e-6;
/// The variance of what is in one class, at most, over the square of its mean.
const WITHIN_CLASS: f64 = 0.015;

#[derive(Clone, Debug)]
pub(super) struct Window {
    length: Duration,
    /// So many more tell of the limit before this one.
    unsettled: u32,
    settled_at: Option<Duration>,
    since: Option<Duration>,
    successes: u32,
    failures: u32,
    /// Sent away, and with how few inside.
    refused: u32,
    refused_inside: u32,
    /// In seconds.
    hold_sum_s: f64,
    hold_square_sum: f64,
    /// What they usually take, and the reciprocals of that.
    usual_sum_s: f64,
    usual_reciprocals: f64,
    /// In what is usual for each.
    sum: f64,
    square_sum: f64,
    classes: [Class; CLASSES],
    in_flight_sum: u64,
    in_flight_peak: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    count: u32,
    sum: f32,
}

/// What a window has shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) failed: f64,
    /// The share that was sent away, its standard error, and with how few inside.
    pub(super) refused: f64,
    pub(super) refused_error: f64,
    pub(super) refused_inside: f64,
    /// How many of those inside are worked on.
    pub(super) inside: f64,
    /// How long work took, in what is usual for each.
    pub(super) mean: f64,
    /// The mean of the quickest.
    pub(super) quick: f64,
    /// The standard error of that, as a share.
    pub(super) quick_error: f64,
    /// Work done a second, by what is usual for each.
    pub(super) throughput: f64,
    /// The standard error of mean and throughput, as a share of them.
    pub(super) error: f64,
    /// How long work took, and how long a place is held.
    pub(super) mean_s: f64,
    pub(super) held_s: f64,
    /// One where all work usually takes as long; less, the more it differs.
    pub(super) evenness: f64,
    /// What work usually takes, by the harmonic mean: little more than what the quickest kind does.
    pub(super) quick_s: f64,
    /// The mean where each counts by what it usually takes: the places that wait are found again in it.
    pub(super) mean_by_work: f64,
    /// It will not get better.
    pub(super) is_late: bool,
    /// By how many were inside for how long: as throughput, but less subject to where the window ends.
    pub(super) flow: f64,
    /// The standard deviation, as a share of the mean.
    pub(super) spread: f64,
    in_flight_mean: f64,
    in_flight_peak: f64,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        Self {
            length,
            unsettled: 0,
            settled_at: None,
            since: None,
            successes: 0,
            failures: 0,
            refused: 0,
            refused_inside: u32::MAX,
            hold_sum_s: 0.0,
            hold_square_sum: 0.0,
            usual_sum_s: 0.0,
            usual_reciprocals: 0.0,
            sum: 0.0,
            square_sum: 0.0,
            classes: [Class::default(); CLASSES],
            in_flight_sum: 0,
            in_flight_peak: 0,
        }
    }

    pub(super) fn settling(mut self, inside: u32) -> Self {
        self.unsettled = inside;
        self
    }

    pub(super) fn add(&mut self, sample: Sample, usual_s: f64) {
        self.unsettled = self.unsettled.saturating_sub(1);
        if self.unsettled > 0 || self.settled_at.is_some_and(|at| sample.now < at) {
            return;
        }
        self.settled_at = None;
        if self.since.is_none() {
            self.since = Some(sample.now);
            return;
        }
        self.in_flight_sum += u64::from(sample.in_flight);
        self.in_flight_peak = self.in_flight_peak.max(sample.in_flight);
        if sample.outcome == Outcome::Failure {
            self.failures += 1;
            return;
        }
        let hold_s = sample.hold.as_secs_f64().max(SHORTEST_S);
        self.successes += 1;
        self.hold_sum_s += hold_s;
        self.hold_square_sum += hold_s * hold_s;
        self.usual_sum_s += usual_s;
        self.usual_reciprocals += usual_s.recip();
        let times = hold_s / usual_s;
        self.sum += times;
        self.square_sum += times * times;
        let class = &mut self.classes[class(times)];
        class.count += 1;
        class.sum += times as f32;
    }

    /// One was sent away. What is nothing but that is no window: it says nothing about how much is too much.
    pub(super) fn add_refused(&mut self, now: Duration, held: Duration, in_flight: u32) {
        let Some(since) = self.since else {
            return;
        };
        if self.successes + self.failures == 0 && now.saturating_sub(since) >= self.length {
            return self.restart(now);
        }
        // What came in before the window tells of the limit before this one.
        if now.saturating_sub(held) >= since {
            self.refused += 1;
            self.refused_inside = self.refused_inside.min(in_flight);
        }
    }

    /// What was seen, if it is enough to look at.
    pub(super) fn look(&self, now: Duration) -> Option<Seen> {
        let passed = now.saturating_sub(self.since?);
        if self.successes + self.failures == 0 {
            return None;
        }
        let samples = self.successes + self.failures + self.refused;
        let rounds = self.in_flight_peak.saturating_mul(ROUNDS_MIN);
        let least = self.length.max(span(self.held_s()));
        let enough = passed >= least && samples >= SAMPLES_MIN.max(rounds);
        (enough && self.is_known(passed)).then(|| self.seen(passed))
    }

    /// Whether what has ended is like what is inside: places are held by what is slow, of which little ends at first.
    fn is_known(&self, passed: Duration) -> bool {
        let in_flight = self.in_flight_sum as f64 / f64::from(self.successes + self.failures);
        let ended = self.hold_sum_s / passed.as_secs_f64();
        let spoilt = self.failures + self.refused > self.successes;
        passed >= SPAN_MAX || spoilt || ended >= KNOWN * in_flight
    }

    /// The next one begins.
    pub(super) fn restart(&mut self, now: Duration) {
        *self = Self {
            since: Some(now),
            ..Self::new(self.length)
        };
    }

    /// The limit has moved: what is inside must go first.
    pub(super) fn settle(&mut self, now: Duration, inside: u32, held_s: f64) {
        self.unsettled = inside;
        self.settled_at = Some(now.saturating_add(span(held_s)));
        self.since = None;
    }

    /// How long a place is held by whoever holds it at some moment: longer than the mean, since the slow hold places
    /// for longer.
    fn held_s(&self) -> f64 {
        self.hold_square_sum / self.hold_sum_s.max(SHORTEST_S)
    }

    fn seen(&self, passed: Duration) -> Seen {
        let successes = f64::from(self.successes).max(1.0);
        let samples = f64::from(self.successes + self.failures);
        let mean = (self.sum / successes).max(LEAST);
        let variance = (self.square_sum / successes - mean * mean).max(0.0);
        let (quick, quick_error) = self.quick(successes * QUICK);
        let mean_s = self.hold_sum_s.max(SHORTEST_S) / successes;
        let usual_s = self.usual_sum_s.max(SHORTEST_S) / successes;
        let in_flight_mean = self.in_flight_sum as f64 / samples;
        let all = samples + f64::from(self.refused);
        let refused = f64::from(self.refused) / all;
        Seen {
            failed: f64::from(self.failures) / samples,
            refused,
            refused_error: (refused / all).sqrt(),
            refused_inside: f64::from(self.refused_inside),
            inside: self.hold_sum_s / passed.as_secs_f64(),
            mean,
            quick,
            quick_error,
            throughput: self.usual_sum_s / passed.as_secs_f64(),
            error: (variance / successes).sqrt() / mean,
            spread: variance.sqrt() / mean,
            mean_by_work: mean_s / usual_s,
            flow: in_flight_mean * usual_s / mean_s,
            mean_s,
            held_s: self.held_s(),
            quick_s: successes / self.usual_reciprocals.max(f64::MIN_POSITIVE),
            evenness: (successes / (usual_s * self.usual_reciprocals)).min(1.0),
            is_late: passed >= self.length.saturating_mul(LENGTHS_MAX)
                && self.successes >= SAMPLES_LATE,
            in_flight_mean,
            in_flight_peak: f64::from(self.in_flight_peak),
        }
    }

    /// The mean of that many of the quickest, and its standard error as a share; of the last class as many as it takes,
    /// at its mean.
    fn quick(&self, wanted: f64) -> (f64, f64) {
        let (mut left, mut sum, mut square_sum) = (wanted, 0.0, 0.0);
        for class in self.classes.iter().filter(|class| class.count > 0) {
            let mean = f64::from(class.sum) / f64::from(class.count);
            let taken = left.min(f64::from(class.count));
            sum += mean * taken;
            square_sum += mean * mean * taken;
            left -= taken;
            if left <= 0.0 {
                break;
            }
        }
        let mean = (sum / wanted).max(LEAST);
        let variance = (square_sum / wanted / (mean * mean) - 1.0).max(0.0);
        (mean, ((variance + WITHIN_CLASS) / wanted).sqrt())
    }
}

impl Seen {
    /// Whether the limit was what kept more from coming in.
    pub(super) fn has_used(&self, limit: u32) -> bool {
        let limit = f64::from(limit);
        let mean = self.in_flight_mean.max(self.throughput * self.mean_by_work);
        self.in_flight_peak >= USED_PEAK * limit && mean >= USED_MEAN * limit
    }
}

/// Of that many seconds, if it is not too long.
fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).map_or(SPAN_MAX, |span| span.min(SPAN_MAX))
}

/// By the exponent and the first bit of the fraction.
fn class(times: f64) -> usize {
    let halves = |times: f64| (times.to_bits() >> 51) as usize;
    (halves(times.max(LEAST)) - halves(LEAST)).min(CLASSES - 1)
}
