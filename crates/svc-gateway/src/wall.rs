//! The time of day to the second, for who has read another clock already.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use passport::UnixSeconds;

/// Bits for the seconds since the node began: 34 years. What is left is enough for the time of day until 2514.
const SINCE_BITS: u32 = 30;
const SINCE: u64 = (1 << SINCE_BITS) - 1;

/// What time it was when that was last asked. Credentials end by it, and live for minutes at least: within a second
/// nobody has to ask twice.
#[derive(Debug, Default)]
pub(crate) struct Wall {
    /// The time of day, and below it the second on the node's own clock in which it was read, counted from one.
    read: AtomicU64,
}

impl Wall {
    /// The time of day at this moment of the node's own clock. A clock that was set is noticed within a second.
    pub(crate) fn seconds(&self, now: Duration) -> UnixSeconds {
        self.by(now, || kernel::clock::unix_time().as_secs())
    }

    fn by(&self, now: Duration, ask: impl FnOnce() -> u64) -> UnixSeconds {
        let this = (now.as_secs() + 1) & SINCE;
        let read = self.read.load(Ordering::Relaxed);
        if read & SINCE == this {
            return UnixSeconds(read >> SINCE_BITS);
        }
        let seconds = ask();
        let read = seconds << SINCE_BITS | this;
        if read >> SINCE_BITS == seconds {
            self.read.store(read, Ordering::Relaxed);
        }
        UnixSeconds(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-12
    #[test]
    fn the_time_of_day_is_asked_once_a_second_and_never_lags_by_more() {
        let wall = Wall::default();
        let ms = Duration::from_millis;
        let never = || unreachable!("asked in this second");
        assert_eq!(wall.by(ms(0), || 1_800_000_000), UnixSeconds(1_800_000_000));
        assert_eq!(wall.by(ms(999), never), UnixSeconds(1_800_000_000));
        assert_eq!(
            wall.by(ms(1_000), || 1_800_000_001),
            UnixSeconds(1_800_000_001)
        );
        assert_eq!(
            wall.by(ms(5_000), || 1_700_000_000),
            UnixSeconds(1_700_000_000)
        );
        assert_eq!(wall.by(ms(5_100), never), UnixSeconds(1_700_000_000));
    }

    #[test]
    fn a_time_of_day_that_cannot_be_kept_is_asked_for_again() {
        let wall = Wall::default();
        for far in [1 << 34, u64::MAX] {
            assert_eq!(wall.by(Duration::ZERO, || far), UnixSeconds(far));
            assert_eq!(wall.by(Duration::ZERO, || 7), UnixSeconds(7));
            assert_eq!(wall.by(Duration::ZERO, || 8), UnixSeconds(7));
            wall.read.store(0, Ordering::Relaxed);
        }
    }
}
