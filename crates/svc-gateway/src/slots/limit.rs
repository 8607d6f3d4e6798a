//! How many places an upstream has: as configured, or as found.

use std::sync::atomic::Ordering;
use std::time::Duration;

use concurrency_gate::{Adaptive, Bounds, Policy, Sample};

use super::Slots;

/// How many places there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Fixed(u32),
    /// This many, and fewer for as long as the upstream cannot do with so many.
    UpTo(u32),
    /// Found by itself, up to this.
    Found(u32),
}

/// What the limit is to be, and what it is found from.
pub(super) struct Search {
    pub(super) limit: Limit,
    pub(super) adaptive: Option<Adaptive>,
}

impl Search {
    pub(super) fn new(limit: Limit) -> Self {
        Self {
            limit,
            adaptive: limit.policy(),
        }
    }
}

/// Where the search begins: few enough not to harm a small origin, enough to learn from.
const FIRST_LIMIT: u32 = 16;

impl Limit {
    pub(super) fn first(self) -> u32 {
        match self {
            Limit::Fixed(limit) | Limit::UpTo(limit) => limit,
            Limit::Found(most) => FIRST_LIMIT.min(most),
        }
    }

    fn policy(self) -> Option<Adaptive> {
        match self {
            Limit::Fixed(_) => None,
            Limit::UpTo(max) | Limit::Found(max) => {
                let policy = Policy::guarded(Bounds { min: 1, max });
                Adaptive::new(&policy, self.first())
            }
        }
    }
}

impl Slots {
    /// The upstream said of a request that was sent to it then that it has too much to do.
    pub(crate) fn overrun(&self, sent_at: Duration) {
        let now = self.timeline.now();
        let mut search = self.search.lock();
        let Some(adaptive) = search.adaptive.as_mut() else {
            return;
        };
        adaptive.overrun(now, now.saturating_sub(sent_at), self.in_use());
        self.resize(adaptive.limit());
    }

    pub(super) fn learn(&self, kind: u64, sample: Sample) {
        let mut search = self.search.lock();
        let Some(adaptive) = search.adaptive.as_mut() else {
            return;
        };
        adaptive.record_kind(kind, sample);
        self.resize(adaptive.limit());
    }

    pub(super) fn resize(&self, limit: u32) {
        let limit = limit.min(self.ceiling.load(Ordering::Relaxed));
        // Who resizes has the search to itself; nearly always there is nothing to change.
        let before = self.limit.load(Ordering::Relaxed);
        if before != limit {
            self.limit.store(limit, Ordering::Relaxed);
        }
        if before > limit {
            self.before.fetch_max(before, Ordering::Relaxed);
        }
        if before != limit {
            self.resize_queue();
        }
    }

    /// Another limit from now on. The same one changes nothing, and one that is found goes on from where it is.
    pub(crate) fn set_limit(&self, limit: Limit) {
        let mut search = self.search.lock();
        if search.limit == limit {
            return;
        }
        let here = match limit {
            Limit::Fixed(limit) | Limit::UpTo(limit) => limit,
            Limit::Found(most) => self.limit().min(most),
        };
        *search = Search::new(limit);
        if let Some(adaptive) = search.adaptive.as_mut() {
            adaptive.set(here);
        }
        self.resize(here);
    }

    /// Begins the search at what was found before, by somebody who knows the same upstream.
    pub(crate) fn go_on_from(&self, found: u32) {
        let mut search = self.search.lock();
        if let Some(adaptive) = search.adaptive.as_mut() {
            adaptive.set(found);
            self.resize(adaptive.limit());
        }
    }

    /// No more places than this from now on, whatever is configured or found.
    pub(crate) fn set_ceiling(&self, most: u32) {
        let most = most.max(1);
        if self.ceiling.load(Ordering::Relaxed) == most {
            return;
        }
        let search = self.search.lock();
        self.ceiling.store(most, Ordering::Relaxed);
        let wanted = match (&search.adaptive, search.limit) {
            (Some(adaptive), _) => adaptive.limit(),
            (None, Limit::Fixed(limit) | Limit::UpTo(limit) | Limit::Found(limit)) => limit,
        };
        self.resize(wanted);
    }
}
