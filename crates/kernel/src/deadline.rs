//! A point in time by which something must be done, that only ever moves closer.

use std::time::Duration;
use tokio::time::Instant;

use crate::reject::Reject;

/// By when; passed down with the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// `budget` from `now`.
    pub fn after(now: Instant, budget: Duration) -> Self {
        // A budget that overflows the clock is as good as a century.
        let century = Duration::from_secs(3_153_600_000);
        Self(now.checked_add(budget).unwrap_or(now + century))
    }

    /// The instant itself.
    pub fn at(self) -> Instant {
        self.0
    }

    /// What is left at `now`; zero once it has passed.
    pub fn remaining(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    /// Whether it has passed at `now`.
    pub fn passed(self, now: Instant) -> bool {
        self.0 <= now
    }

    /// The earlier of this and `budget` from `now`: a callee never gets more than its caller has.
    #[must_use]
    pub fn capped(self, now: Instant, budget: Duration) -> Self {
        self.min(Self::after(now, budget))
    }

    /// Runs `work` until it is done or the deadline passes.
    pub async fn bound<F: Future>(self, work: F) -> Result<F::Output, Reject> {
        tokio::time::timeout_at(self.0, work)
            .await
            .map_err(|_| Reject::Timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: KN-15
    #[tokio::test(start_paused = true)]
    async fn bounded_work_that_never_ends_is_a_timeout_at_the_deadline() {
        let began = crate::clock::now();
        let deadline = Deadline::after(began, Duration::from_secs(2));
        let ended = deadline.bound(std::future::pending::<()>()).await;
        assert_eq!(ended, Err(Reject::Timeout));
        assert_eq!(crate::clock::now() - began, Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn capping_never_extends() {
        let now = crate::clock::now();
        let short = Deadline::after(now, Duration::from_secs(1));
        assert_eq!(short.capped(now, Duration::from_secs(9)), short);
        assert!(short.capped(now, Duration::from_millis(10)) < short);
        assert!(Deadline::after(now, Duration::MAX) > short);
    }
}
