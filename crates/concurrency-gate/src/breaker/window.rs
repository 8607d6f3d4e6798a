//! Outcomes of the last while, in ten buckets of time.

use std::time::Duration;

use super::Outcome;

const BUCKETS: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct Window {
    bucket_length: Duration,
    buckets: [Bucket; BUCKETS],
    /// Failures since the last success, and when the first and the last of them were.
    row: u32,
    row_since: Duration,
    row_until: Duration,
    length: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Which stretch of time it counts, from the beginning of time.
    number: u64,
    successes: u32,
    failures: u32,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        Self {
            bucket_length: length / BUCKETS as u32,
            buckets: [Bucket::default(); BUCKETS],
            row: 0,
            row_since: Duration::ZERO,
            row_until: Duration::ZERO,
            length,
        }
    }

    pub(super) fn add(&mut self, now: Duration, outcome: Outcome) {
        let number = self.number(now);
        let bucket = &mut self.buckets[(number % BUCKETS as u64) as usize];
        if bucket.number != number {
            *bucket = Bucket {
                number,
                ..Bucket::default()
            };
        }
        match outcome {
            Outcome::Success => {
                bucket.successes = bucket.successes.saturating_add(1);
                self.row = 0;
            }
            Outcome::Failure => {
                bucket.failures = bucket.failures.saturating_add(1);
                if now.saturating_sub(self.row_until) > self.length {
                    self.row = 0;
                }
                if self.row == 0 {
                    self.row_since = now;
                }
                self.row = self.row.saturating_add(1);
                self.row_until = now;
            }
        }
    }

    /// Successes and failures that are not older than the window.
    pub(super) fn sums(&self, now: Duration) -> (u64, u64) {
        let newest = self.number(now);
        let oldest = newest.saturating_sub(BUCKETS as u64 - 1);
        let counted = self
            .buckets
            .iter()
            .filter(|bucket| (oldest..=newest).contains(&bucket.number));
        counted.fold((0, 0), |(successes, failures), bucket| {
            (
                successes + u64::from(bucket.successes),
                failures + u64::from(bucket.failures),
            )
        })
    }

    pub(super) fn failures_in_a_row(&self) -> u32 {
        self.row
    }

    /// Time between the first and the last of them.
    pub(super) fn row_lasted(&self) -> Duration {
        self.row_until.saturating_sub(self.row_since)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.length);
    }

    fn number(&self, now: Duration) -> u64 {
        (now.as_nanos() / self.bucket_length.as_nanos().max(1)) as u64
    }
}
