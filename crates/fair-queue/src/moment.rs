//! A moment in one word, half the size of a `Duration`: what waits is kept small.

use std::time::Duration;

const NANOS_PER_SEC: u64 = 1_000_000_000;
/// All moments of this second and later are the same, five centuries from the clock's start.
const LAST_SECOND: u64 = u64::MAX / NANOS_PER_SEC;

/// Nanoseconds on the caller's clock. The last one stands for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const NEVER: Self = Self(u64::MAX);

    #[inline(always)]
    pub(crate) fn of(time: Duration) -> Self {
        let (secs, nanos) = (time.as_secs(), u64::from(time.subsec_nanos()));
        match secs < LAST_SECOND {
            true => Self(secs * NANOS_PER_SEC + nanos),
            false => Self(u64::MAX - 1),
        }
    }

    /// From then to now; zero if the clock has gone back.
    pub(crate) fn until(self, now: Self) -> Duration {
        Duration::from_nanos(now.0.saturating_sub(self.0))
    }

    /// `None` if the clock has gone back.
    #[inline(always)]
    pub(crate) fn nanos_until(self, now: Self) -> Option<u64> {
        now.0.checked_sub(self.0)
    }

    pub(crate) fn time(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_moment_comes_out_as_it_went_in_unless_it_is_centuries_away() {
        let last = Duration::new(LAST_SECOND - 1, 999_999_999);
        for time in [Duration::ZERO, Duration::from_nanos(1), last] {
            assert_eq!(Moment::of(time).time(), time);
        }
        for time in [Duration::from_secs(LAST_SECOND), Duration::MAX] {
            assert!(Moment::of(last) < Moment::of(time));
            assert!(Moment::of(time) < Moment::NEVER);
        }
    }
}
