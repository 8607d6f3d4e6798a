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
    #[cfg(feature = "simulation")]
    if let Some(told) = told::unix_time() {
        return told;
    }
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(feature = "simulation")]
pub use told::set_unix_time;

/// A wall clock that goes with tokio's and is set by hand. Only in builds with the `simulation` feature.
#[cfg(feature = "simulation")]
mod told {
    use std::cell::Cell;
    use std::time::Duration;

    use tokio::time::Instant;

    thread_local! {
        static SET: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
    }

    /// From now on it is `unix_time` on this thread, and goes on from there.
    pub fn set_unix_time(unix_time: Duration) {
        SET.set(Some((super::now(), unix_time)));
    }

    pub(super) fn unix_time() -> Option<Duration> {
        SET.get()
            .map(|(at, told)| told + super::now().saturating_duration_since(at))
    }
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
