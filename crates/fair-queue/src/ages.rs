//! How long dispatched work had waited, counted in buckets that double.

use std::time::Duration;

/// Buckets: below 1 ms, below 2 ms, below 4 ms, …; the last one takes the rest.
pub const AGE_BUCKETS: usize = 18;

/// A histogram of waiting times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// Dispatches per bucket.
    pub buckets: [u64; AGE_BUCKETS],
}

impl Ages {
    /// The upper end of a bucket; `None` for the last.
    pub fn bound(bucket: usize) -> Option<Duration> {
        (bucket + 1 < AGE_BUCKETS).then(|| Duration::from_millis(1 << bucket))
    }

    #[inline(always)]
    pub(crate) fn note(&mut self, age_nanos: u64) {
        let millis = age_nanos / 1_000_000;
        let doublings = (u64::BITS - millis.leading_zeros()) as usize;
        self.buckets[doublings.min(AGE_BUCKETS - 1)] += 1;
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    // req: FQ-09
    #[test]
    fn an_age_falls_below_the_bound_of_its_bucket_and_not_below_the_one_before() {
        for micros in [
            0,
            1,
            999,
            1_000,
            1_999,
            2_000,
            63_999,
            64_000,
            10_000_000_000,
        ] {
            let age = Duration::from_micros(micros);
            let mut ages = Ages::default();
            ages.note(micros * 1_000);
            let bucket = ages.buckets.iter().position(|count| *count == 1);
            let bucket = bucket.expect("every age has a bucket");
            assert!(
                Ages::bound(bucket).is_none_or(|bound| age < bound),
                "{age:?}"
            );
            let before = bucket.checked_sub(1).and_then(Ages::bound);
            assert!(before.is_none_or(|bound| age >= bound), "{age:?}");
        }
    }
}
