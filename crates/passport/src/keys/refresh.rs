//! When to fetch an issuer's keys again: a state machine without clock, network or randomness of its own.

use std::time::Duration;

/// How often, and how patiently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// From one good fetch to the next.
    pub every: Duration,
    /// After the first failure.
    pub retry_min: Duration,
    /// After many.
    pub retry_max: Duration,
    /// Between two fetches that unknown keys ask for.
    pub early_gap: Duration,
    /// How long old keys serve before somebody should be told.
    pub degraded_after: Duration,
}

impl Default for Refresh {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(900),
            retry_min: Duration::from_secs(1),
            retry_max: Duration::from_secs(300),
            early_gap: Duration::from_secs(30),
            degraded_after: Duration::from_secs(3_600),
        }
    }
}

/// How good the keys at hand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Never fetched: no token of this issuer can be verified.
    Missing,
    /// As good as they get.
    Fresh,
    /// The last good ones serve on.
    Stale,
    /// Stale for so long that the node should say that it is degraded.
    Degraded,
}

/// The fetching of one issuer's keys. Times are those of a monotonic clock of the caller's.
///
/// The caller fetches when [`Self::next_fetch`] has come, tells the outcome, and tells of keys that were asked for in
/// vain. `roll` is a random number, which spreads the fetches of many nodes.
#[derive(Clone, Debug)]
pub struct KeySetState {
    refresh: Refresh,
    next_fetch: Duration,
    fetched_at: Option<Duration>,
    failures: u32,
    failing_since: Option<Duration>,
    early_at: Option<Duration>,
}

impl KeySetState {
    /// Due at once.
    pub fn new(refresh: Refresh, now: Duration) -> Self {
        Self {
            refresh,
            next_fetch: now,
            fetched_at: None,
            failures: 0,
            failing_since: None,
            early_at: None,
        }
    }

    /// The same, from now on as often and as patiently as this says.
    pub fn under(self, refresh: Refresh, now: Duration) -> Self {
        Self {
            next_fetch: self.next_fetch.min(now + refresh.every),
            refresh,
            ..self
        }
    }

    /// When to fetch.
    pub fn next_fetch(&self) -> Duration {
        self.next_fetch
    }

    /// Keys came, and could be read.
    pub fn succeeded(&mut self, now: Duration, roll: u64) {
        self.fetched_at = Some(now);
        self.failures = 0;
        self.failing_since = None;
        self.next_fetch = now + jittered(self.refresh.every, self.refresh.every / 10, roll);
    }

    /// No answer, a bad one, or one that [`super::KeySet::parse`] refused.
    pub fn failed(&mut self, now: Duration, roll: u64) {
        let doublings = self.failures.min(20);
        let wait = self.refresh.retry_min * (1 << doublings);
        let wait = wait.min(self.refresh.retry_max);
        self.failures = self.failures.saturating_add(1);
        self.failing_since.get_or_insert(now);
        self.next_fetch = now + jittered(wait, wait / 2, roll);
    }

    /// A token named a key that is not at hand. Returns whether the next fetch was brought forward.
    ///
    /// At most once in [`Refresh::early_gap`], whatever tokens strangers send, and never against the backoff of an
    /// issuer that fails.
    pub fn wanted(&mut self, now: Duration) -> bool {
        let last = self.early_at.max(self.fetched_at);
        let recent = last.is_some_and(|last| now < last + self.refresh.early_gap);
        if recent || self.failures > 0 || self.next_fetch <= now {
            return false;
        }
        self.early_at = Some(now);
        self.next_fetch = now;
        true
    }

    /// Since when newer keys are overdue: from the first failure, or when nobody has fetched for two rounds.
    pub fn stale_since(&self, now: Duration) -> Option<Duration> {
        let overdue = self.fetched_at.map(|at| at + self.refresh.every * 2);
        let overdue = overdue.filter(|at| *at <= now);
        match (self.failing_since, overdue) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// What to report.
    pub fn freshness(&self, now: Duration) -> Freshness {
        if self.fetched_at.is_none() {
            return Freshness::Missing;
        }
        match self.stale_since(now) {
            None => Freshness::Fresh,
            Some(since) if now >= since + self.refresh.degraded_after => Freshness::Degraded,
            Some(_) => Freshness::Stale,
        }
    }
}

/// Up to `spread` less than `time`.
fn jittered(time: Duration, spread: Duration, roll: u64) -> Duration {
    let part = (roll >> 32) as f64 / f64::from(u32::MAX);
    time - spread.mul_f64(part)
}

#[cfg(test)]
mod tests;
