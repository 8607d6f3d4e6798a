//! Wall time that no correction of the system's clock can turn back: ages are counted in it.

use kernel::clock::{self, Timeline};
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};

/// What the wall said at the start, and the time since.
pub(crate) struct Clock {
    base_ms: u64,
    timeline: Timeline,
    #[cfg(test)]
    skew_ms: AtomicU64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            base_ms: u64::try_from(clock::unix_time().as_millis()).unwrap_or(u64::MAX / 2),
            timeline: Timeline::start(),
            #[cfg(test)]
            skew_ms: AtomicU64::new(0),
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        let since = u64::try_from(self.timeline.now().as_millis()).unwrap_or(u64::MAX / 2);
        let now = self.base_ms.saturating_add(since);
        #[cfg(test)]
        let now = now.saturating_add(self.skew_ms.load(Ordering::Relaxed));
        now
    }

    /// Lets so much time pass at once.
    #[cfg(test)]
    pub(crate) fn advance(&self, ms: u64) {
        self.skew_ms.fetch_add(ms, Ordering::Relaxed);
    }
}
