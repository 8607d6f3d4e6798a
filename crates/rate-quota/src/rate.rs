//! The generic cell rate algorithm: all of a bucket's state is one moment, when it is full again.

use std::time::Duration;

use thiserror::Error;

/// Ticks in a nanosecond: fine enough for a gigabyte a second counted in bytes, and the clock still
/// runs for eighteen years.
const TICKS_PER_NANO: u64 = 32;
/// A bucket that took longer to fill could not be told from one that never does.
const MAX_FILL: Duration = Duration::from_secs(31 * 24 * 3600);

/// So many units in a time, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Ticks that one unit takes to come back.
    interval: u64,
    burst: u32,
}

/// Why a rate cannot be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RateError {
    /// Nothing would ever be allowed.
    #[error("the amount and the burst must be at least 1")]
    Zero,
    /// More units in a second than the clock can tell apart, or no time at all.
    #[error("the time is too short for the amount")]
    TooFast,
    /// The bucket would take more than a month to fill.
    #[error("the burst takes longer than 31 days to come back")]
    TooSlow,
}

/// What is left after an allowed check, for `RateLimit` headers. Worked out when asked: most checks
/// only want to know that they were allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    rate: Rate,
    /// Ticks until the bucket is full.
    used: u64,
}

impl Allowed {
    /// Units that could be taken now.
    pub fn remaining(&self) -> u32 {
        self.rate.units(self.rate.depth().saturating_sub(self.used))
    }

    /// Until all units are back.
    pub fn reset_after(&self) -> Duration {
        duration(self.used)
    }
}

/// Why a check was denied. Nothing was taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Denied {
    /// Not now.
    #[error("the quota is used up for {retry_after:?}")]
    For {
        /// When the same check would be allowed, if nothing else is taken.
        retry_after: Duration,
        /// What could be had instead.
        left: Allowed,
    },
    /// Not ever: it asks for more than the burst.
    #[error("the cost is above the burst")]
    Forever,
}

impl Denied {
    /// When to come again; `None` for never.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::For { retry_after, .. } => Some(*retry_after),
            Self::Forever => None,
        }
    }
}

impl Rate {
    /// So many units in this time, all of which may come at once.
    pub fn new(amount: u32, per: Duration) -> Result<Self, RateError> {
        if amount == 0 {
            return Err(RateError::Zero);
        }
        // Rounded up: a key is never given more than it was promised to be held to.
        let ticks = per.as_nanos().saturating_mul(TICKS_PER_NANO.into());
        let interval = ticks.div_ceil(amount.into());
        if ticks < u128::from(amount) {
            return Err(RateError::TooFast);
        }
        let interval = u64::try_from(interval).map_err(|_| RateError::TooSlow)?;
        Self {
            interval,
            burst: amount,
        }
        .checked()
    }

    /// With so many units at once.
    pub fn burst(self, burst: u32) -> Result<Self, RateError> {
        if burst == 0 {
            return Err(RateError::Zero);
        }
        Self { burst, ..self }.checked()
    }

    /// Units at once.
    pub fn max_burst(&self) -> u32 {
        self.burst
    }

    fn checked(self) -> Result<Self, RateError> {
        let fill = u128::from(self.interval) * u128::from(self.burst);
        match fill <= MAX_FILL.as_nanos() * u128::from(TICKS_PER_NANO) {
            true => Ok(self),
            false => Err(RateError::TooSlow),
        }
    }

    /// Decides on a bucket that is full again at `full_at`; the second is its new moment.
    #[inline]
    pub(crate) fn decide(
        &self,
        full_at: u64,
        cost: u32,
        now: u64,
    ) -> (Result<Allowed, Denied>, u64) {
        let (depth, wanted) = (self.depth(), u64::from(cost) * self.interval);
        let before = full_at.max(now) - now;
        let used = before + wanted;
        if used <= depth {
            return (Ok(Allowed { rate: *self, used }), now + used);
        }
        if wanted > depth {
            return (Err(Denied::Forever), full_at);
        }
        let left = Allowed {
            rate: *self,
            used: before,
        };
        let retry_after = duration(used - depth);
        (Err(Denied::For { retry_after, left }), full_at)
    }

    /// When a bucket is full again that is full at `full_at` under this rate, and lacks as many
    /// units under another; at most all of them.
    pub(crate) fn moved(&self, full_at: u64, to: &Self, now: u64) -> u64 {
        let used = u128::from(full_at.saturating_sub(now));
        let used = used * u128::from(to.interval) / u128::from(self.interval);
        now + u64::try_from(used).unwrap_or(u64::MAX).min(to.depth())
    }

    fn depth(&self) -> u64 {
        self.interval * u64::from(self.burst)
    }

    fn units(&self, ticks: u64) -> u32 {
        // Never above the burst, so it fits.
        (ticks / self.interval) as u32
    }
}

/// The last tick that a clock can show; beyond it the words of the table have their marks.
const LAST: u64 = u64::MAX / 4;

/// A moment in ticks.
#[inline]
pub(crate) fn ticks(now: Duration) -> u64 {
    let nanos = now.as_secs().saturating_mul(1_000_000_000);
    nanos
        .saturating_add(now.subsec_nanos().into())
        .saturating_mul(TICKS_PER_NANO)
        .min(LAST)
}

/// Rounded up: whoever comes after this has not come too early.
fn duration(ticks: u64) -> Duration {
    Duration::from_nanos(ticks.div_ceil(TICKS_PER_NANO))
}

#[cfg(all(test, not(loom)))]
mod tests;
