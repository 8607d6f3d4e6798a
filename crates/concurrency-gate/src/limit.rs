//! What a key allows, and the check of it before anybody is admitted.

use std::fmt;
use std::time::Duration;

use crate::adaptive::{Bounds, Policy};
use crate::breaker::{BreakerConfig, Trip};
use crate::word::COUNT_MAX;

/// The rules of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// How many may be inside at once; where an adaptive policy begins.
    pub max: u32,
    /// Whether [`enter`](crate::KeyHandle::wait) may wait for a slot.
    pub queue: bool,
    /// How many may wait. Those inside are not counted. Without `queue` it has no meaning.
    pub queue_max: u32,
    /// How long one may wait.
    pub wait_timeout: Duration,
    /// When failures of admitted work shut the key for a while.
    pub breaker: Option<BreakerConfig>,
    /// What moves the limit.
    pub policy: Policy,
}

/// How long one may wait unless told otherwise.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

impl Limit {
    /// That many at once, nobody waits.
    pub fn fixed(max: u32) -> Self {
        Self {
            max,
            queue: false,
            queue_max: 0,
            wait_timeout: WAIT_TIMEOUT,
            breaker: None,
            policy: Policy::Fixed,
        }
    }

    /// Begins with `max` and finds its way between the bounds by [`Policy::guarded`].
    pub fn adaptive(max: u32, bounds: Bounds) -> Self {
        Self {
            policy: Policy::guarded(bounds),
            ..Self::fixed(max)
        }
    }

    /// With room for that many to wait.
    pub fn with_queue(self, queue_max: u32) -> Self {
        Self {
            queue: true,
            queue_max,
            ..self
        }
    }

    /// With another patience.
    pub fn with_wait_timeout(self, wait_timeout: Duration) -> Self {
        Self {
            wait_timeout,
            ..self
        }
    }

    /// With a breaker.
    pub fn with_breaker(self, breaker: BreakerConfig) -> Self {
        Self {
            breaker: Some(breaker),
            ..self
        }
    }

    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), LimitError> {
        check_max(self.max)?;
        if self.queue && self.queue_max == 0 {
            return Err(LimitError::QueueWithoutRoom);
        }
        if self.queue && self.queue_max > COUNT_MAX {
            return Err(LimitError::QueueTooLong(self.queue_max));
        }
        if self.queue && self.wait_timeout.is_zero() {
            return Err(LimitError::NoTimeToWait);
        }
        if let Some(breaker) = &self.breaker {
            check_breaker(breaker)?;
        }
        self.check_policy()
    }

    fn check_policy(&self) -> Result<(), LimitError> {
        let Some(bounds) = self.policy.bounds() else {
            return Ok(());
        };
        check_max(bounds.min)?;
        check_max(bounds.max)?;
        if !(bounds.min..=bounds.max).contains(&self.max) {
            return Err(LimitError::OutsideBounds {
                max: self.max,
                bounds,
            });
        }
        self.policy
            .fault()
            .map_or(Ok(()), |fault| Err(LimitError::Policy(fault)))
    }
}

pub(crate) fn check_max(max: u32) -> Result<(), LimitError> {
    match max {
        0 => Err(LimitError::ZeroMax),
        1..=COUNT_MAX => Ok(()),
        _ => Err(LimitError::MaxTooHigh(max)),
    }
}

fn check_breaker(breaker: &BreakerConfig) -> Result<(), LimitError> {
    let fault = match breaker.trip {
        Trip::Ratio { threshold, .. } | Trip::RatioOrRow { threshold, .. }
            if !(threshold > 0.0 && threshold <= 1.0) =>
        {
            Some("its threshold is a share above 0 and up to 1")
        }
        Trip::Ratio { min_samples: 0, .. } | Trip::RatioOrRow { min_samples: 0, .. } => {
            Some("it needs at least one sample to judge by")
        }
        Trip::Consecutive(0) | Trip::RatioOrRow { row: 0, .. } => {
            Some("it opens after at least one failure")
        }
        _ if breaker.window < BreakerConfig::WINDOW_MIN => Some("its window is 10 ms or more"),
        _ if breaker.open_for.is_zero() => Some("it stays open for some time"),
        _ if breaker.probes == 0 => Some("it needs at least one probe to close again"),
        _ => None,
    };
    fault.map_or(Ok(()), |fault| Err(LimitError::Breaker(fault)))
}

/// Why a limit makes no sense.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LimitError {
    /// A limit of zero would refuse everybody.
    ZeroMax,
    /// More than the word of an entry can count.
    MaxTooHigh(u32),
    /// `queue` without `queue_max` would refuse everybody who has to wait.
    QueueWithoutRoom,
    /// More waiters than can be counted.
    QueueTooLong(u32),
    /// `queue` with a `wait_timeout` of zero.
    NoTimeToWait,
    /// The beginning is not between the bounds of the policy, or these are in the wrong order.
    OutsideBounds {
        /// Where it was to begin.
        max: u32,
        /// Between which it was to move.
        bounds: Bounds,
    },
    /// The breaker could not work.
    Breaker(&'static str),
    /// The adaptive policy could not work.
    Policy(&'static str),
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroMax => f.write_str("a limit of 0 admits nobody; give 1 or more"),
            Self::MaxTooHigh(max) => write!(f, "a limit of {max} is above {COUNT_MAX}"),
            Self::QueueWithoutRoom => f.write_str(
                "a queue without room refuses all who have to wait; \
                 give queue_max of 1 or more, or turn queue off",
            ),
            Self::QueueTooLong(max) => write!(f, "a queue_max of {max} is above {COUNT_MAX}"),
            Self::NoTimeToWait => f.write_str(
                "a queue with a wait_timeout of 0 refuses all who have to wait; \
                 give more, or turn queue off",
            ),
            Self::OutsideBounds { max, bounds } => write!(
                f,
                "a limit of {max} is not between {} and {}",
                bounds.min, bounds.max
            ),
            Self::Breaker(fault) => write!(f, "the breaker cannot work: {fault}"),
            Self::Policy(fault) => write!(f, "the policy cannot work: {fault}"),
        }
    }
}

impl std::error::Error for LimitError {}
