//! Spaces out the starts of work that has waited.
//!
//! Requests that begin together end together; then everybody else waits for the whole of their time, and then finds
//! all places free at once. A little patience of those who have waited anyway breaks the step, once, and costs no
//! throughput after that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shorter pauses are not worth a timer.
const SHORTEST: Duration = Duration::from_micros(500);

/// The moment before which the next one should not start, in nanoseconds.
#[derive(Default)]
pub(super) struct Pacer(AtomicU64);

impl Pacer {
    /// How long to wait before starting, when `places` are held for about `hold` each. Starts are a little closer to
    /// each other than ends can be, so that no place ever stays empty for long.
    pub(super) fn pause(&self, now: Duration, hold: Duration, places: u32) -> Option<Duration> {
        let gap = hold.as_nanos() as u64 / u64::from(places.max(1)) * 3 / 4;
        let now = now.as_nanos() as u64;
        let mut mine = now;
        let step = |next: u64| {
            // Whoever is more than one round ahead has got out of step itself: begin anew.
            mine = next.clamp(now, now + hold.as_nanos() as u64);
            Some(mine + gap)
        };
        let _always = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        let pause = Duration::from_nanos(mine - now);
        (pause >= SHORTEST).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_that_comes_at_once_is_spread_over_most_of_a_round() {
        let pacer = Pacer::default();
        let (now, hold) = (Duration::from_secs(1), Duration::from_millis(20));
        let pauses: Vec<_> = (0..32)
            .map(|_| pacer.pause(now, hold, 32).unwrap_or_default())
            .collect();
        assert!(pauses.is_sorted());
        let last = pauses[31].as_millis();
        assert!((13..=15).contains(&last), "{last} ms");
    }

    #[test]
    fn those_who_come_one_after_the_other_do_not_wait() {
        let pacer = Pacer::default();
        let hold = Duration::from_millis(20);
        for step in 0..100 {
            let now = Duration::from_secs(1) + hold / 32 * step;
            assert_eq!(pacer.pause(now, hold, 32), None);
        }
    }
}
