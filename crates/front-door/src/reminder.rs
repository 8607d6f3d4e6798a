//! A deadline that is far away, looked after by the sweep of the connection: a timer is needed only when it comes near.

use std::fmt;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use crate::pulse::{Clockwork, Pulse, TICK};

/// How long before the deadline it comes at least. A sweep is two ticks late, and later where the node is busy.
const AHEAD: Duration = TICK.saturating_mul(5);
const TICKS_PER_SECOND: u64 = 1_000 / TICK.as_millis() as u64;

/// Wakes whoever works on a connection's request before its deadline, early enough to set a timer for that.
///
/// A timer of the runtime takes a lock and a place among all others when it is set, and again when it is dropped.
/// Nearly every request ends long before its deadline.
#[derive(Clone, Default)]
pub struct Reminder(Option<Source>);

#[derive(Clone)]
struct Source {
    pulse: Arc<Pulse>,
    clock: Arc<Clockwork>,
}

impl Reminder {
    /// One that never comes: whoever asks it needs a timer at once.
    pub fn none() -> Self {
        Self(None)
    }

    /// For a connection with one request at a time.
    pub(crate) fn new(pulse: Arc<Pulse>, clock: Arc<Clockwork>) -> Self {
        Self(Some(Source { pulse, clock }))
    }

    /// Sets it for a deadline that is so far away; `false` if that is too near for it.
    pub fn set(&self, left: Duration) -> bool {
        let (Some(source), Some(far)) = (&self.0, left.checked_sub(AHEAD)) else {
            return false;
        };
        let ticks = far.as_secs().saturating_mul(TICKS_PER_SECOND)
            + u64::from(far.subsec_millis()) * TICKS_PER_SECOND / 1_000;
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX / 2);
        source.pulse.answer.set(&source.clock, ticks);
        true
    }

    /// Whether it has come since it was set; if not, the task is woken when it does.
    pub fn has_come(&self, cx: &Context<'_>) -> bool {
        let Some(source) = &self.0 else {
            return true;
        };
        source.pulse.belongs_to(cx.waker());
        source.pulse.answer.passed()
    }
}

impl fmt::Debug for Reminder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pulse = self.0.as_ref().map(|source| &source.pulse);
        f.debug_tuple("Reminder").field(&pulse).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::pulse::Stance;

    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    // req: GW-09
    #[test]
    fn it_comes_before_the_deadline_and_not_long_before() {
        let clock = Arc::new(Clockwork::new());
        let watched = clock.watch(Stance::Busy);
        let reminder = Reminder::new(watched.shared(), clock.clone());
        let calls = Arc::new(Calls::default());
        let waker = calls.clone().into();
        let cx = Context::from_waker(&waker);
        let mut now = 1;
        for seconds in [1_u32, 2, 30] {
            assert!(reminder.set(Duration::from_secs(seconds.into())));
            calls.0.store(0, Ordering::Relaxed);
            let due = now + seconds * TICKS_PER_SECOND as u32;
            while !reminder.has_come(&cx) {
                now += 1;
                clock.turn_to(now);
                assert!(now < due, "it never comes");
            }
            assert!((due - 5..=due - 2).contains(&now), "{now} for {due}");
            assert_eq!(calls.0.load(Ordering::Relaxed), 1);
        }
    }

    // req: GW-09
    #[test]
    fn a_near_deadline_is_left_to_a_timer_and_so_is_every_one_without_a_connection() {
        let clock = Arc::new(Clockwork::new());
        let watched = clock.watch(Stance::Busy);
        let reminder = Reminder::new(watched.shared(), clock);
        assert!(!reminder.set(AHEAD - Duration::from_millis(1)));
        let none = Reminder::none();
        let cx = Context::from_waker(std::task::Waker::noop());
        assert!(!none.set(Duration::from_secs(60)) && none.has_come(&cx));
    }
}
