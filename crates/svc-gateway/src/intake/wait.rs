//! How a client gets on with its body: whether it is too late, or so slow that it may have to go.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Who is waited for this long before it has brought so much is slow.
const SLOW: Duration = Duration::from_secs(1);
const ENOUGH_BYTES: u64 = 64 * 1024;

/// A client is waited for, or has been.
pub(super) struct Wait {
    alarm: Pin<Box<Sleep>>,
    /// Since when, if it is now.
    since: Option<Instant>,
    /// How long it has been waited for until it brought so many bytes, short of enough.
    took: Duration,
    bytes: u64,
    /// That it is slow has been said.
    told: bool,
}

/// What the time says that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    Slow,
    Late,
}

impl Wait {
    pub(super) fn new(by: Instant) -> Box<Self> {
        Box::new(Self {
            alarm: Box::pin(tokio::time::sleep_until(by)),
            since: None,
            took: Duration::ZERO,
            bytes: 0,
            told: false,
        })
    }

    /// Nothing has come; all of it has to `by` then.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, by: Instant) -> Poll<Alarm> {
        if self.since.is_none() {
            let now = kernel::clock::now();
            self.since = Some(now);
            let slow_at = now + SLOW.saturating_sub(self.took);
            let next = if self.told { by } else { by.min(slow_at) };
            self.alarm.as_mut().reset(next);
        }
        if self.alarm.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.alarm.deadline() >= by {
            return Poll::Ready(Alarm::Late);
        }
        self.told = true;
        self.alarm.as_mut().reset(by);
        Poll::Ready(Alarm::Slow)
    }

    /// So much has come: for how long it was waited for, and whether its client is slow no more.
    pub(super) fn came(&mut self, bytes: usize) -> (Duration, bool) {
        let since = self.since.take();
        let waited = since.map_or(Duration::ZERO, |since| kernel::clock::now() - since);
        self.took += waited;
        self.bytes += bytes as u64;
        let enough = self.bytes >= ENOUGH_BYTES;
        if enough {
            (self.took, self.bytes) = (Duration::ZERO, 0);
        }
        let recovered = enough && std::mem::take(&mut self.told);
        (waited, recovered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    async fn alarm(wait: &mut Wait, by: Instant) -> Alarm {
        std::future::poll_fn(|cx| wait.poll(cx, by)).await
    }

    // req: GW-03, GW-07
    #[tokio::test(start_paused = true)]
    async fn who_drips_is_slow_until_enough_has_come_and_late_in_the_end() {
        let began = kernel::clock::now();
        let by = began + ms(4_000);
        let mut wait = Wait::new(by);
        for _ in 0..5 {
            let drip = tokio::time::timeout(ms(180), alarm(&mut wait, by)).await;
            assert!(drip.is_err(), "not slow yet");
            assert_eq!(wait.came(100), (ms(180), false));
        }
        assert_eq!(alarm(&mut wait, by).await, Alarm::Slow);
        assert_eq!(began.elapsed(), SLOW);
        wait.came(100);
        let again = tokio::time::timeout(ms(300), alarm(&mut wait, by)).await;
        assert!(again.is_err(), "that is known");
        assert_eq!(wait.came(ENOUGH_BYTES as usize), (ms(300), true));
        assert_eq!(alarm(&mut wait, by).await, Alarm::Slow);
        assert_eq!(alarm(&mut wait, by).await, Alarm::Late);
        assert_eq!(began.elapsed(), ms(4_000));
    }
}
