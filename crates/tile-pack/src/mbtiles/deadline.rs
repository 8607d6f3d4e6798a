//! How long a query may still run: SQLite asks every thousand steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Steps of SQLite between two looks at the clock: some ten microseconds.
const STEPS: i32 = 1000;

/// The deadline of one connection.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    base: Instant,
    until_ns: Arc<AtomicU64>,
}

impl Deadline {
    /// Makes a connection heed a deadline from now on.
    pub(super) fn install(connection: &mut Connection) -> rusqlite::Result<Deadline> {
        let deadline = Deadline {
            base: now(),
            until_ns: Arc::default(),
        };
        let heeded = deadline.clone();
        connection.progress_handler(STEPS, Some(move || heeded.has_passed()))?;
        Ok(deadline)
    }

    /// What runs now has this long.
    pub(super) fn allow(&self, span: Duration) {
        let until = self.base.elapsed().saturating_add(span);
        let until = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
        self.until_ns.store(until, Ordering::Relaxed);
    }

    fn has_passed(&self) -> bool {
        let until = Duration::from_nanos(self.until_ns.load(Ordering::Relaxed));
        self.base.elapsed() > until
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "SQLite calls back from within a query; there is nobody to be told the time by"
)]
fn now() -> Instant {
    Instant::now()
}
