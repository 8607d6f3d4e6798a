//! When a crashed child is started again, pure: counts restarts in a window and draws the delay.

use std::collections::VecDeque;
use std::time::Duration;

use crate::backoff::RESTART;
use crate::limits;

/// What follows a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How long to wait before the next start.
    pub delay: Duration,
    /// Whether it has crashed too often in the window.
    pub crash_loop: bool,
}

/// One child's history.
#[derive(Debug, Default)]
pub struct Restarts {
    /// When it crashed, within the window; bounded, because only "more than the threshold" matters.
    recent: VecDeque<Duration>,
    /// Crashes in a row, which set the delay; forgotten after a calm run.
    streak: u32,
}

impl Restarts {
    /// Takes note of a crash at `now` of a child that had run for `ran`; `draw` is uniform in `0.0..1.0`.
    pub fn crashed(&mut self, now: Duration, ran: Duration, draw: f64) -> Verdict {
        // A run twice as long as the longest wait was calm enough to start over.
        if ran >= limits::RESTART_CAP * 2 {
            self.streak = 0;
        }
        if self.recent.len() > limits::RESTART_LOOP {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        let delay = RESTART.delay(self.streak, draw);
        self.streak = self.streak.saturating_add(1);
        Verdict {
            delay,
            crash_loop: self.crash_loop(now),
        }
    }

    /// Whether there were more than [`limits::RESTART_LOOP`] crashes within the window that ends at `now`.
    pub fn crash_loop(&mut self, now: Duration) -> bool {
        while self
            .recent
            .front()
            .is_some_and(|at| *at + limits::RESTART_WINDOW <= now)
        {
            self.recent.pop_front();
        }
        self.recent.len() > limits::RESTART_LOOP
    }

    /// When a crash loop will be over if nothing crashes again.
    pub fn calm_at(&self) -> Option<Duration> {
        let over = self.recent.len().checked_sub(limits::RESTART_LOOP + 1)?;
        self.recent.get(over).map(|at| *at + limits::RESTART_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    // req: KN-06
    #[test]
    fn the_sixth_crash_within_a_minute_is_a_crash_loop_until_the_window_has_passed() {
        let mut restarts = Restarts::default();
        for second in 0..5 {
            assert!(!restarts.crashed(s(second), s(0), 0.5).crash_loop);
        }
        assert!(restarts.crashed(s(5), s(0), 0.5).crash_loop);
        assert_eq!(restarts.calm_at(), Some(s(60)));
        assert!(restarts.crash_loop(s(59)));
        assert!(!restarts.crash_loop(s(60)));
    }

    // req: KN-06
    #[test]
    fn crashes_spread_over_more_than_a_minute_are_no_loop() {
        let mut restarts = Restarts::default();
        for minute in 0..100 {
            assert!(!restarts.crashed(s(minute * 13), s(0), 0.5).crash_loop);
        }
    }

    // req: KN-06
    #[test]
    fn a_calm_run_starts_the_delays_over() {
        let mut restarts = Restarts::default();
        for _ in 0..10 {
            restarts.crashed(s(0), s(0), 1.0);
        }
        assert_eq!(restarts.crashed(s(1), s(0), 1.0).delay, limits::RESTART_CAP);
        assert_eq!(
            restarts.crashed(s(20), s(10), 1.0).delay,
            limits::RESTART_FIRST_MAX
        );
    }

    proptest! {
        // req: KN-06
        #[test]
        fn history_is_bounded_and_it_keeps_trying_at_the_cap(gaps in proptest::collection::vec(0u64..100_000, 1..200)) {
            let (mut restarts, mut now) = (Restarts::default(), s(0));
            for gap in gaps {
                now += Duration::from_millis(gap);
                let verdict = restarts.crashed(now, Duration::from_millis(gap), 0.3);
                prop_assert!(verdict.delay <= limits::RESTART_CAP);
                prop_assert!(restarts.recent.len() <= limits::RESTART_LOOP + 2);
            }
        }
    }
}
