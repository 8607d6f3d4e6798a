//! What an entry needs once somebody waits, fails or is watched: the line, the machines, the
//! distributions.

use std::time::Duration;

use super::{Entry, Setup};
use crate::adaptive::Adaptive;
use crate::breaker::{Breaker, BreakerState};
use crate::histogram::{Histogram, Quantiles};
use crate::line::Line;
use crate::sync::counter::{AtomicU32, AtomicU64, Relaxed};
use crate::sync::{Mutex, lock};

pub(super) struct Detail {
    pub(super) inner: Mutex<Inner>,
    /// The breaker's epoch, for those who enter without the lock.
    pub(super) epoch: AtomicU32,
    waits: Histogram,
    holds: Histogram,
    /// Admissions by the slow path.
    granted: AtomicU64,
    queued: AtomicU64,
    hold_mean_us: AtomicU32,
    waiting: AtomicU32,
}

/// Under the lock: while the line is not empty, at least as many are inside as the limit allows.
pub(super) struct Inner {
    pub(super) line: Line,
    pub(super) breaker: Option<Breaker>,
    pub(super) adaptive: Option<Adaptive>,
    /// The limit as set by hand or by the policy; the word's may be a ramp's share of it.
    pub(super) whole: u32,
    /// Set by hand, so that forgetting the entry would lose it.
    pub(super) resized: bool,
    /// The latest time anybody told.
    pub(super) latest: Duration,
}

impl Detail {
    fn new(setup: &Setup) -> Self {
        let limit = &setup.limit;
        let inner = Inner {
            line: Line::new(),
            breaker: limit.breaker.map(Breaker::new),
            adaptive: Adaptive::new(&limit.policy, limit.max),
            whole: limit.max,
            resized: false,
            latest: Duration::ZERO,
        };
        Self {
            inner: Mutex::new(inner),
            epoch: AtomicU32::new(0),
            waits: Histogram::new(),
            holds: Histogram::new(),
            granted: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            hold_mean_us: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
        }
    }

    /// Mean hold time and length of the line, both as last noted.
    pub(super) fn load(&self) -> (u32, u32) {
        (self.hold_mean_us.load(Relaxed), self.waiting.load(Relaxed))
    }

    /// Admissions that the word does not count, and callers that had to wait.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.granted.load(Relaxed), self.queued.load(Relaxed))
    }

    /// An admission that the word does not count; only under the lock.
    pub(super) fn note_granted(&self) {
        self.granted.store(self.granted.load(Relaxed) + 1, Relaxed);
    }

    /// Somebody joined the line; only under the lock.
    pub(super) fn note_queued(&self) {
        self.queued.store(self.queued.load(Relaxed) + 1, Relaxed);
    }

    /// Only under the lock.
    pub(super) fn note_wait(&self, wait: Duration) {
        self.waits.add_alone(wait);
    }

    /// The mean is moved without a lock: a lost sample does not matter.
    pub(super) fn note_hold(&self, hold: Duration) {
        self.holds.add(hold);
        let us = hold.as_micros().min(u128::from(u32::MAX)) as u32;
        let mean = self.hold_mean_us.load(Relaxed);
        let next = if mean == 0 {
            us
        } else {
            mean - mean / 8 + us / 8
        };
        self.hold_mean_us.store(next.max(1), Relaxed);
    }

    pub(super) fn note_waiting(&self, line: &Line) {
        self.waiting.store(line.len(), Relaxed);
    }
}

impl Inner {
    /// The latest time known, after hearing of this one.
    pub(super) fn at(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        self.latest
    }
}

/// What a report shows of an entry's detail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    pub(crate) waiting: u32,
    pub(crate) waits: Quantiles,
    pub(crate) holds: Quantiles,
    pub(crate) breaker: Option<BreakerState>,
}

impl Entry {
    #[inline]
    pub(super) fn detail(&self) -> &Detail {
        match self.detail.get() {
            Some(detail) => detail,
            None => self.detail.get_or_make(|| Detail::new(&self.setup)),
        }
    }

    #[inline]
    pub(super) fn epoch(&self) -> u16 {
        if self.setup.limit.breaker.is_none() {
            return 0;
        }
        let detail = self.detail.get();
        detail.map_or(0, |detail| detail.epoch.load(Relaxed) as u16)
    }

    /// How many wait, as last noted: cheap enough to sort a million entries by.
    pub(crate) fn waiting(&self) -> u32 {
        self.detail.get().map_or(0, |detail| detail.load().1)
    }

    pub(crate) fn glance(&self) -> Glance {
        let Some(detail) = self.detail.get() else {
            return Glance {
                waiting: 0,
                waits: Quantiles::default(),
                holds: Quantiles::default(),
                breaker: None,
            };
        };
        let inner = lock(&detail.inner);
        Glance {
            waiting: inner.line.len(),
            waits: detail.waits.quantiles(),
            holds: detail.holds.quantiles(),
            breaker: inner.breaker.as_ref().map(Breaker::state),
        }
    }

    /// Whether a new entry would do the same as this one: nothing set by hand, no breaker that
    /// still refuses.
    pub(crate) fn is_forgettable(&self, now: Duration) -> bool {
        let Some(detail) = self.detail.get() else {
            return true;
        };
        let mut inner = lock(&detail.inner);
        let now = inner.at(now);
        let at_rest = inner
            .breaker
            .as_ref()
            .is_none_or(|breaker| breaker.is_at_rest(now));
        !inner.resized && at_rest
    }
}
