//! The one place that reads a clock; everything pure takes `now` as an argument.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// Monotonic now. Follows tokio's paused time in tests.
#[expect(
    clippy::disallowed_methods,
    reason = "the shell's clock read that all others go through"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// Wall time since 1970, for people and logs only: nothing is decided by it.
#[expect(
    clippy::disallowed_methods,
    reason = "the shell's clock read that all others go through"
)]
pub fn unix_time() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Translates instants into the `Duration` since an origin that pure cores take as `now`.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    origin: Instant,
}

impl Timeline {
    /// Starts counting now.
    pub fn start() -> Self {
        Self { origin: now() }
    }

    /// Time since the origin.
    pub fn now(&self) -> Duration {
        self.at(now())
    }

    /// An instant as a core takes it.
    pub fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.origin)
    }

    /// The instant a core meant by `at`.
    pub fn instant(&self, at: Duration) -> Instant {
        self.origin + at
    }
}
