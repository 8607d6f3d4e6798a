//! What a gate counts beside its entries, spread over cache lines so that keys do not meet.

use std::array;

use crate::rejection::Reason;
use crate::sync::counter::{AtomicU64, Relaxed};

const STRIPES: usize = 8;

/// All counters only ever grow.
pub(crate) struct Tally {
    stripes: [Stripe; STRIPES],
}

#[repr(align(128))]
struct Stripe {
    rejected: [AtomicU64; Reason::ALL.len()],
    events: [AtomicU64; 2],
}

/// What is counted besides admissions and rejections.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    TimedOut,
    BreakerOpened,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let stripe = || Stripe {
            rejected: array::from_fn(|_| AtomicU64::new(0)),
            events: array::from_fn(|_| AtomicU64::new(0)),
        };
        Self {
            stripes: array::from_fn(|_| stripe()),
        }
    }

    /// `whose` is any number that differs between entries.
    pub(crate) fn rejected(&self, whose: usize, reason: Reason) {
        self.stripes[whose % STRIPES].rejected[reason as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn happened(&self, whose: usize, event: Event) {
        self.stripes[whose % STRIPES].events[event as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn rejections(&self, reason: Reason) -> u64 {
        let counts = self.stripes.iter().map(|stripe| &stripe.rejected);
        counts
            .map(|count| count[reason as usize].load(Relaxed))
            .sum()
    }

    pub(crate) fn events(&self, event: Event) -> u64 {
        let counts = self.stripes.iter().map(|stripe| &stripe.events);
        counts
            .map(|count| count[event as usize].load(Relaxed))
            .sum()
    }
}
