//! For how long an upstream has said nothing to those who left before it could.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// It has been heard since the last of them began.
const HEARD: u64 = 0;

/// Begins with the first request that is given up, and ends with the next answer to anybody.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// In microseconds.
    since: AtomicU64,
}

impl Silence {
    /// An answer has come.
    pub(super) fn end(&self) {
        if self.since.load(Ordering::Relaxed) != HEARD {
            self.since.store(HEARD, Ordering::Relaxed);
        }
    }

    /// How long it has lasted, now that a request is given up that was sent then.
    pub(super) fn lasts(&self, now: Duration, sent: Duration) -> Duration {
        let sent = (sent.as_micros() as u64).max(HEARD + 1);
        let (relaxed, since) = (Ordering::Relaxed, &self.since);
        let began = match since.compare_exchange(HEARD, sent, relaxed, relaxed) {
            Ok(_) => sent,
            Err(before) => before,
        };
        now.saturating_sub(Duration::from_micros(began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: FQ-07
    #[test]
    fn it_lasts_from_the_first_that_was_given_up_to_the_next_answer() {
        let ms = Duration::from_millis;
        let silence = Silence::default();
        assert_eq!(silence.lasts(ms(120), ms(100)), ms(20));
        assert_eq!(silence.lasts(ms(900), ms(880)), ms(800));
        silence.end();
        assert_eq!(silence.lasts(ms(950), ms(940)), ms(10));
    }
}
