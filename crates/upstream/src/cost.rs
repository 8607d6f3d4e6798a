//! Peak-EWMA: what an endpoint's latency is worth, rising at once and falling slowly.

use std::time::Duration;

/// The time in which a peak fades to a third.
const FADE: Duration = Duration::from_secs(10);
/// What is expected of somebody unknown who is already busy.
const EXPECTED: f32 = 0.03;
/// What a failure costs at least: failing fast must not look like being fast.
const FAILURE: Duration = Duration::from_secs(1);

/// The latency of one endpoint as balancers see it; a word, so that it is read without a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Latency {
    /// In seconds; zero as long as nothing is known.
    seconds: f32,
    /// Milliseconds on the pool's clock, modulo 2³².
    at_ms: u32,
}

impl Latency {
    /// Nothing known yet.
    pub(crate) const UNKNOWN: Self = Self {
        seconds: 0.0,
        at_ms: 0,
    };

    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.seconds.to_bits()) << 32 | u64::from(self.at_ms)
    }

    pub(crate) fn from_word(word: u64) -> Self {
        Self {
            seconds: f32::from_bits((word >> 32) as u32),
            at_ms: word as u32,
        }
    }

    /// After an answer that took `took`.
    pub(crate) fn heard(self, now: Duration, took: Duration) -> Self {
        let (took, before) = (took.as_secs_f32().max(1e-6), self.seconds);
        let seconds = if took >= before {
            took
        } else {
            took + (before - took) * self.kept(now)
        };
        Self {
            seconds,
            at_ms: now.as_millis() as u32,
        }
    }

    /// After a failure that took `took`.
    pub(crate) fn failed(self, now: Duration, took: Duration) -> Self {
        self.heard(now, took.max(FAILURE))
    }

    /// As it was when it was last heard of, if ever.
    pub(crate) fn known(self) -> Option<Duration> {
        (self.seconds > 0.0).then(|| Duration::from_secs_f32(self.seconds))
    }

    /// In seconds, faded since it was last heard of.
    pub(crate) fn seconds(self, now: Duration) -> f32 {
        self.seconds * self.kept(now)
    }

    /// What one more request costs on top of `in_flight`. Somebody unknown is tried by one, who is then waited for.
    pub(crate) fn cost(self, now: Duration, in_flight: u32) -> f32 {
        let load = in_flight as f32;
        if self.seconds == 0.0 {
            return EXPECTED * load;
        }
        self.seconds(now) * (load + 1.0)
    }

    fn kept(self, now: Duration) -> f32 {
        // A stamp from another thread may be a little ahead: then nothing has faded.
        let passed = (now.as_millis() as u32).wrapping_sub(self.at_ms);
        let passed = if passed > u32::MAX / 2 { 0 } else { passed };
        (-(passed as f32) / FADE.as_millis() as f32).exp()
    }
}

#[cfg(test)]
mod tests;
