//! What moves a limit: pure machines that hear of finished work and say what the limit should be.

use std::time::Duration;

use crate::breaker::Outcome;

mod aimd;
mod gradient;
mod guarded;

use aimd::Aimd;
use gradient::Gradient;
use guarded::Guarded;

/// Between which a limit moves, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Never below.
    pub min: u32,
    /// Never above.
    pub max: u32,
}

/// What moves the limit of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Nothing but [`resize`](crate::KeyHandle::resize).
    Fixed,
    /// One more per round without trouble, a share less on a failure or when work is slow.
    Aimd {
        /// Between which.
        bounds: Bounds,
        /// Work that holds its slot longer than this is trouble.
        slow: Duration,
        /// What remains of the limit on trouble, between 0 and 1.
        backoff: f64,
    },
    /// By the ratio of long-term to short-term hold time.
    ///
    /// It knows no hold time but those it has seen: a delay that it causes slowly enough is soon
    /// part of the long term, and calls for nothing. Under a load that never lets up it therefore
    /// climbs to the upper bound, and the service queues what it cannot do at once. Set the bound
    /// to what the service may hold, or take [`Policy::Guarded`], which remembers the undisturbed
    /// hold time.
    Gradient {
        /// Between which.
        bounds: Bounds,
        /// How many times the long-term hold time is still well, 1 or more.
        tolerance: f64,
    },
    /// Grows only while more concurrency has given more throughput and no standing delay shows
    /// behind the gate; shrinks on a step of latency and on failures.
    Guarded {
        /// Between which.
        bounds: Bounds,
        /// How much delay over the undisturbed hold time may stand.
        target: Duration,
        /// How long outcomes are gathered before the limit moves.
        window: Duration,
    },
}

impl Policy {
    /// [`Policy::Guarded`] with 5 ms of standing delay and windows of 100 ms.
    pub fn guarded(bounds: Bounds) -> Self {
        Self::Guarded {
            bounds,
            target: Duration::from_millis(5),
            window: Duration::from_millis(100),
        }
    }

    pub(crate) fn bounds(&self) -> Option<Bounds> {
        match *self {
            Self::Fixed => None,
            Self::Aimd { bounds, .. }
            | Self::Gradient { bounds, .. }
            | Self::Guarded { bounds, .. } => Some(bounds),
        }
    }

    pub(crate) fn fault(&self) -> Option<&'static str> {
        match *self {
            Self::Aimd { slow, .. } if slow.is_zero() => Some("no work is faster than 0"),
            Self::Aimd { backoff, .. } if !(backoff > 0.0 && backoff < 1.0) => {
                Some("the backoff is a share between 0 and 1")
            }
            Self::Gradient { tolerance, .. } if !(1.0..=100.0).contains(&tolerance) => {
                Some("the tolerance is between 1 and 100")
            }
            Self::Guarded { target, .. } if target.is_zero() => {
                Some("the standing delay cannot be kept at 0")
            }
            Self::Guarded { window, .. } if window < Duration::from_millis(1) => {
                Some("the window is 1 ms or more")
            }
            _ => None,
        }
    }
}

/// A finished piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When it ended.
    pub now: Duration,
    /// How long it held its slot.
    pub hold: Duration,
    /// How many were inside when it ended, itself included.
    pub in_flight: u32,
    /// How it ended.
    pub outcome: Outcome,
}

/// The machine behind a [`Policy`].
#[derive(Clone, Debug)]
pub struct Adaptive(Machine);

#[derive(Clone, Debug)]
enum Machine {
    Aimd(Aimd),
    Gradient(Gradient),
    /// It remembers more than the others.
    Guarded(Box<Guarded>),
}

impl Adaptive {
    /// `None` for [`Policy::Fixed`]. The policy is taken as checked.
    pub fn new(policy: &Policy, initial: u32) -> Option<Self> {
        let machine = match *policy {
            Policy::Fixed => return None,
            Policy::Aimd {
                bounds,
                slow,
                backoff,
            } => Machine::Aimd(Aimd::new(bounds, slow, backoff, initial)),
            Policy::Gradient { bounds, tolerance } => {
                Machine::Gradient(Gradient::new(bounds, tolerance, initial))
            }
            Policy::Guarded {
                bounds,
                target,
                window,
            } => Machine::Guarded(Box::new(Guarded::new(bounds, target, window, initial))),
        };
        Some(Self(machine))
    }

    /// Hears of finished work that is all of one kind.
    pub fn record(&mut self, sample: Sample) {
        self.record_kind(0, sample);
    }

    /// Hears of finished work of a kind: such as usually takes as long as other work of that kind, whatever others
    /// take. [`Policy::Guarded`] tells slow work from a slow service by it.
    pub fn record_kind(&mut self, kind: u64, sample: Sample) {
        match &mut self.0 {
            Machine::Aimd(machine) => machine.record(sample),
            Machine::Gradient(machine) => machine.record(sample),
            Machine::Guarded(machine) => machine.record(kind, sample),
        }
    }

    /// Hears that the service has sent a piece of work away since it has too much to do: it had it for so long, with so
    /// many inside.
    pub fn overrun(&mut self, now: Duration, held: Duration, in_flight: u32) {
        let failed = Sample {
            now,
            hold: held,
            in_flight,
            outcome: Outcome::Failure,
        };
        match &mut self.0 {
            Machine::Aimd(machine) => machine.record(failed),
            Machine::Gradient(machine) => machine.record(failed),
            Machine::Guarded(machine) => machine.overrun(now, held, in_flight),
        }
    }

    /// What the limit should be now.
    pub fn limit(&self) -> u32 {
        match &self.0 {
            Machine::Aimd(machine) => machine.limit(),
            Machine::Gradient(machine) => machine.limit(),
            Machine::Guarded(machine) => machine.limit(),
        }
    }

    /// Somebody has set the limit by hand: go on from there.
    pub fn set(&mut self, limit: u32) {
        match &mut self.0 {
            Machine::Aimd(machine) => machine.set(limit),
            Machine::Gradient(machine) => machine.set(limit),
            Machine::Guarded(machine) => machine.set(limit),
        }
    }
}

/// A limit with the fractions that slow growth needs.
#[derive(Clone, Copy, Debug)]
struct Level {
    bounds: Bounds,
    exact: f64,
}

impl Level {
    fn new(bounds: Bounds, initial: u32) -> Self {
        let mut level = Self { bounds, exact: 0.0 };
        level.set(f64::from(initial));
        level
    }

    fn set(&mut self, to: f64) {
        let (min, max) = (f64::from(self.bounds.min), f64::from(self.bounds.max));
        // A limit that is not a number would be one that admits nobody.
        self.exact = if to.is_finite() {
            to.clamp(min, max)
        } else {
            min
        };
    }

    fn whole(&self) -> u32 {
        self.exact as u32
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
