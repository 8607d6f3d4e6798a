//! What the tests share: a clock turned by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that only moves when told to.
#[derive(Clone, Default)]
pub(crate) struct Hand(Arc<AtomicU64>);

impl Hand {
    pub(crate) fn set(&self, now: Duration) {
        self.0.store(now.as_nanos() as u64, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }

    pub(crate) fn reader(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let hand = self.clone();
        move || hand.now()
    }
}
