//! One timer for all deadlines of a connection: they move often and pass rarely, and the timer is touched only when it
//! has to be earlier than it is.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// The timer.
#[derive(Default)]
pub(crate) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Ready when it is `at`; else the task is woken then, or earlier to look again.
    pub(crate) fn poll(&mut self, at: Instant, now: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if now >= at {
            return Poll::Ready(());
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() > at {
            sleep.as_mut().reset(at);
        }
        if sleep.as_mut().poll(cx).is_ready() {
            // It was set for an earlier deadline, which has moved on.
            sleep.as_mut().reset(at);
            return sleep.as_mut().poll(cx);
        }
        Poll::Pending
    }
}
