//! Durations in a fixed number of counters: four to an octave, from a microsecond to a minute.

use std::time::Duration;

use crate::sync::counter::{AtomicU32, Relaxed};

const STEPS: u32 = 4;
const OCTAVES: u32 = 26;
const BUCKETS: usize = (OCTAVES * STEPS) as usize;

/// Counters stop at their maximum rather than wrap: a quantile is a share, not a count.
pub(crate) struct Histogram {
    buckets: [AtomicU32; BUCKETS],
}

/// What of a distribution is shown. The true value is at most a fifth below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// How many durations were seen.
    pub samples: u64,
    /// Half were not longer.
    pub p50: Duration,
    /// Nine of ten were not longer.
    pub p90: Duration,
    /// 99 of 100 were not longer.
    pub p99: Duration,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self {
            buckets: [const { AtomicU32::new(0) }; BUCKETS],
        }
    }

    pub(crate) fn add(&self, duration: Duration) {
        let bucket = &self.buckets[index(duration)];
        if bucket.load(Relaxed) < u32::MAX / 2 {
            bucket.fetch_add(1, Relaxed);
        }
    }

    /// Like `add`, by one writer at a time.
    pub(crate) fn add_alone(&self, duration: Duration) {
        let bucket = &self.buckets[index(duration)];
        bucket.store(bucket.load(Relaxed).saturating_add(1), Relaxed);
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| u64::from(bucket.load(Relaxed)))
            .collect();
        let samples = counts.iter().sum();
        let at = |share: f64| {
            let rank = (share * samples as f64).ceil() as u64;
            let mut seen = 0;
            let found = counts.iter().position(|count| {
                seen += count;
                seen >= rank.max(1)
            });
            found.map_or(Duration::ZERO, upper_end)
        };
        Quantiles {
            samples,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
        }
    }
}

/// Octave by the highest bit, step within it by the two bits below.
fn index(duration: Duration) -> usize {
    // In one word, unlike `as_micros`: this is on the way of every hand-over.
    let us = duration.as_secs().saturating_mul(1_000_000);
    let us = us.saturating_add(u64::from(duration.subsec_micros()));
    let us = us.clamp(1, u64::from(u32::MAX)) as u32;
    let octave = us.ilog2();
    let step = ((u64::from(us) << 2) >> octave) as u32 - STEPS;
    ((octave * STEPS + step) as usize).min(BUCKETS - 1)
}

fn upper_end(index: usize) -> Duration {
    let (octave, step) = (index as u32 / STEPS, index as u32 % STEPS);
    Duration::from_nanos(((u64::from(STEPS + step + 1) * 1000) << octave) >> 2)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    // req: GT-09
    #[test]
    fn a_bucket_holds_what_is_at_most_a_fifth_below_its_end() {
        for us in (1..20_000_000).step_by(997) {
            let duration = Duration::from_micros(us);
            let end = upper_end(index(duration));
            assert!(end > duration, "{duration:?} is not below {end:?}");
            assert!(end <= duration * 5 / 4 + Duration::from_micros(1));
        }
        assert_eq!(index(Duration::ZERO), 0);
        assert_eq!(index(Duration::MAX), BUCKETS - 1);
    }

    // req: GT-09
    #[test]
    fn quantiles_are_shares_of_the_samples() {
        let histogram = Histogram::new();
        assert_eq!(histogram.quantiles(), Quantiles::default());
        for ms in 1..=100 {
            histogram.add(Duration::from_millis(ms));
        }
        let seen = histogram.quantiles();
        assert_eq!(seen.samples, 100);
        for (quantile, truth) in [(seen.p50, 50), (seen.p90, 90), (seen.p99, 99)] {
            let truth = Duration::from_millis(truth);
            assert!(quantile >= truth && quantile <= truth * 13 / 10, "{seen:?}");
        }
    }
}
