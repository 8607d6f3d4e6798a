//! Why somebody was not admitted, and when it is worth trying again: two numbers, no text.

use std::fmt;
use std::time::Duration;

/// A refusal. It is counted, and says nothing about the work itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    reason: Reason,
    retry_after_ms: u32,
}

/// The five ways to be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// All slots are taken and the caller did not ask to wait, or this key has no queue.
    Saturated,
    /// All slots are taken and so are the places in the queue.
    QueueFull,
    /// The caller's deadline or the wait timeout came first.
    Deadline,
    /// Work admitted earlier failed too often.
    BreakerOpen,
    /// The gate was closed.
    Closed,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Saturated,
        Self::QueueFull,
        Self::Deadline,
        Self::BreakerOpen,
        Self::Closed,
    ];

    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Saturated => "saturated",
            Self::QueueFull => "queue_full",
            Self::Deadline => "deadline",
            Self::BreakerOpen => "breaker_open",
            Self::Closed => "closed",
        }
    }
}

impl Rejection {
    pub(crate) fn new(reason: Reason, retry_after: Duration) -> Self {
        let ms = retry_after.as_millis().clamp(1, u128::from(u32::MAX));
        Self::in_ms(reason, ms as u32)
    }

    pub(crate) const fn in_ms(reason: Reason, retry_after_ms: u32) -> Self {
        Self {
            reason,
            retry_after_ms,
        }
    }

    /// Which of the five.
    pub fn reason(self) -> Reason {
        self.reason
    }

    /// How long to wait before another try: an estimate, never zero.
    pub fn retry_after(self) -> Duration {
        Duration::from_millis(u64::from(self.retry_after_ms))
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, retry after {} ms",
            self.reason.as_str(),
            self.retry_after_ms
        )
    }
}

impl std::error::Error for Rejection {}
