//! A moment in one word, half the size of a `Duration`: what waits is kept small.

use std::time::Duration;

/// Nanoseconds on the caller's clock. The last one stands for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const NEVER: Self = Self(u64::MAX);

    #[inline(always)]
    pub(crate) fn of(time: Duration) -> Self {
        let nanos = time.as_secs().saturating_mul(1_000_000_000);
        let nanos = nanos.saturating_add(time.subsec_nanos().into());
        Self(nanos.min(u64::MAX - 1))
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
