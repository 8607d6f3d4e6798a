//! Delays between tries: exponential, jittered, capped, bounded in number.

use std::time::Duration;

/// How to space tries.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The first delay is drawn between `first_min` and `first_max`.
    pub first_min: Duration,
    /// See `first_min`.
    pub first_max: Duration,
    /// No delay is longer.
    pub cap: Duration,
}

impl Backoff {
    /// The delay before try `failures + 1`; both ends of the drawn range double with each failure.
    ///
    /// `draw` is a uniform number in `0.0..1.0`, so that the policy itself stays deterministic.
    pub fn delay(&self, failures: u32, draw: f64) -> Duration {
        let factor = 2u32.saturating_pow(failures.min(31));
        let low = self.first_min.saturating_mul(factor).min(self.cap);
        let high = self.first_max.saturating_mul(factor).min(self.cap);
        low + (high - low).mul_f64(draw.clamp(0.0, 1.0))
    }
}

/// Restarts of supervised children.
pub const RESTART: Backoff = Backoff {
    first_min: crate::limits::RESTART_FIRST_MIN,
    first_max: crate::limits::RESTART_FIRST_MAX,
    cap: crate::limits::RESTART_CAP,
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // req: KN-06
        #[test]
        fn delay_stays_between_first_minimum_and_cap(failures in 0u32..100, draw in 0.0f64..1.0) {
            let delay = RESTART.delay(failures, draw);
            prop_assert!(delay >= RESTART.first_min && delay <= RESTART.cap);
            if failures == 0 {
                prop_assert!(delay <= RESTART.first_max);
            }
        }

        #[test]
        fn delay_never_shrinks_with_more_failures(failures in 0u32..40, draw in 0.0f64..1.0) {
            prop_assert!(RESTART.delay(failures + 1, draw) >= RESTART.delay(failures, draw));
        }
    }
}
