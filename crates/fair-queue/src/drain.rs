//! How fast the queue drains, measured only while somebody waits: an idle queue says nothing about
//! what could be done.

use crate::moment::Moment;

/// A measurement shorter than this is mostly noise.
const WINDOW_NANOS: u64 = 50_000_000;
/// How much of the old rate survives a window: half is gone after about ten.
const KEPT: f64 = 0.93;

/// Dispatches per second of saturation.
#[derive(Debug)]
pub(crate) struct Drain {
    per_second: Option<f64>,
    /// The last dispatch; never, if nobody has waited since.
    last: Moment,
    saturated_nanos: u64,
    count: u32,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            per_second: None,
            last: Moment::NEVER,
            saturated_nanos: 0,
            count: 0,
        }
    }
}

impl Drain {
    /// A waiting item was dispatched.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self, now: Moment) {
        let last = std::mem::replace(&mut self.last, now);
        // Nothing is learnt from the first of a row, nor from a clock that went back.
        let Some(nanos) = last.nanos_until(now) else {
            return;
        };
        self.saturated_nanos += nanos;
        self.count += 1;
        if self.saturated_nanos >= WINDOW_NANOS {
            self.blend(f64::from(self.count) * 1e9 / self.saturated_nanos as f64);
            (self.saturated_nanos, self.count) = (0, 0);
        }
    }

    /// Nobody waits any more.
    #[inline(always)]
    pub(crate) fn idle(&mut self) {
        self.last = Moment::NEVER;
    }

    pub(crate) fn per_second(&self) -> Option<f64> {
        self.per_second
    }

    fn blend(&mut self, measured: f64) {
        let blended = |old: f64| old * KEPT + measured * (1.0 - KEPT);
        self.per_second = Some(self.per_second.map_or(measured, blended));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(now: Duration) -> Moment {
        Moment::of(now)
    }

    #[test]
    fn the_rate_is_that_of_saturation_whatever_lies_between() {
        let mut drain = Drain::default();
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            for _ in 0..30 {
                drain.dispatched(at(now));
                now += Duration::from_millis(5);
            }
            drain.idle();
            now += Duration::from_secs(60);
        }
        let rate = drain.per_second().expect("it was saturated for long");
        assert!((rate - 200.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn a_clock_that_steps_back_spoils_no_rate() {
        let mut drain = Drain::default();
        for step in 0..100_u64 {
            drain.dispatched(at(Duration::from_millis(1000 - step * 10)));
        }
        assert_eq!(drain.per_second(), None);
        for step in 0..100_u64 {
            drain.dispatched(at(Duration::from_millis(step * 10)));
        }
        let rate = drain.per_second().expect("measured");
        assert!((rate - 100.0).abs() < 1.0, "{rate}");
    }
}
