//! Latencies by quantile.

use hdrhistogram::Histogram;
use std::time::Duration;

/// Longest latency told apart, in microseconds.
const MAX_LATENCY_US: u64 = 600_000_000;

/// Latencies of one kind, from the intended instant to the last byte of the response.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

impl Latency {
    pub(super) fn new() -> Self {
        Self(Histogram::new_with_max(MAX_LATENCY_US, 3).expect("the bounds are valid"))
    }

    pub(super) fn record(&mut self, latency: Duration) {
        self.0
            .saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// How many took at least so long.
    #[must_use]
    pub fn count_at_least(&self, latency: Duration) -> u64 {
        let from = u64::try_from(latency.as_micros())
            .unwrap_or(u64::MAX)
            .min(MAX_LATENCY_US);
        self.0.count_between(from, MAX_LATENCY_US)
    }

    /// The latency at a quantile between 0 and 1; zero when there are none.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.0.value_at_quantile(quantile))
    }

    /// The median.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.quantile(0.50)
    }

    /// The 90th percentile.
    #[must_use]
    pub fn p90(&self) -> Duration {
        self.quantile(0.90)
    }

    /// The 95th percentile.
    #[must_use]
    pub fn p95(&self) -> Duration {
        self.quantile(0.95)
    }

    /// The 99th percentile.
    #[must_use]
    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    /// The longest.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.0.max())
    }
}
