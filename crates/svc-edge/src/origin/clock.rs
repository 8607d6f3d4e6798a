//! Wall time that no correction of the system's clock can turn back: ages are counted in it.

use kernel::clock;
#[cfg(not(test))]
use kernel::clock::Timeline;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};

/// What the wall said at the start, and the time since.
pub(crate) struct Clock {
    base_ms: u64,
    #[cfg(not(test))]
    timeline: Timeline,
    #[cfg(test)]
    passed_ms: AtomicU64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            base_ms: u64::try_from(clock::unix_time().as_millis()).unwrap_or(u64::MAX / 2),
            #[cfg(not(test))]
            timeline: Timeline::start(),
            #[cfg(test)]
            passed_ms: AtomicU64::new(0),
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.base_ms.saturating_add(self.since_ms())
    }

    #[cfg(not(test))]
    fn since_ms(&self) -> u64 {
        u64::try_from(self.timeline.now().as_millis()).unwrap_or(u64::MAX / 2)
    }

    /// In tests time passes only when it is told to.
    #[cfg(test)]
    fn since_ms(&self) -> u64 {
        self.passed_ms.load(Ordering::Relaxed)
    }

    /// Lets so much time pass at once.
    #[cfg(test)]
    pub(crate) fn advance(&self, ms: u64) {
        self.passed_ms.fetch_add(ms, Ordering::Relaxed);
    }
}
