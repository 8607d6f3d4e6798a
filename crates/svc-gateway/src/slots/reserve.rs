//! A few places kept back for tenants that use less than their part, so that they need not wait for others to end.
//!
//! As many are kept as such tenants have been using: that costs nobody anything, since they would have them anyway, a
//! little later.

use std::sync::atomic::{AtomicU32, Ordering};

/// No more than this part of all places is ever kept back.
const MOST_OF: u32 = 4;
/// How fast it follows what is used: each request that comes while places are short moves it by this part.
const STEP: u32 = 32;
/// Thousandths of a place: the average is a fraction.
const UNIT: u32 = 1_000;

/// The places kept back at one upstream.
#[derive(Default)]
pub(super) struct Reserve {
    kept: AtomicU32,
    used: AtomicU32,
    /// Requests of sparse tenants that are running, wherever.
    sparse: AtomicU32,
    /// Their average while places are short, in thousandths.
    average: AtomicU32,
}

impl Reserve {
    /// One of the places kept back, if one is free.
    pub(super) fn try_take(&self) -> bool {
        let kept = self.kept.load(Ordering::Relaxed);
        let take = |used: u32| (used < kept).then_some(used + 1);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok()
    }

    pub(super) fn give_back(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn kept(&self) -> u32 {
        self.kept.load(Ordering::Relaxed)
    }

    pub(super) fn begin_sparse(&self) {
        self.sparse.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end_sparse(&self) {
        self.sparse.fetch_sub(1, Ordering::Relaxed);
    }

    /// Places are short: looks how many sparse requests there are. Says how many places to keep back of `places`, if
    /// that has changed.
    pub(super) fn look(&self, places: u32) -> Option<u32> {
        let now = self.sparse.load(Ordering::Relaxed).saturating_mul(UNIT);
        let average = self.average.load(Ordering::Relaxed);
        let next = match now >= average {
            true => average + (now - average).div_ceil(STEP),
            false => average - (average - now).div_ceil(STEP),
        };
        self.average.store(next, Ordering::Relaxed);
        let wanted = (next + UNIT / 2) / UNIT;
        let wanted = wanted.min(places / MOST_OF);
        let kept = self.kept.swap(wanted, Ordering::Relaxed);
        (kept != wanted).then_some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: AC-05
    #[test]
    fn as_many_are_kept_back_as_are_used_and_never_more_than_a_quarter() {
        let reserve = Reserve::default();
        assert!(
            !reserve.try_take(),
            "nothing is kept back before anybody needs it"
        );
        (0..3).for_each(|_| reserve.begin_sparse());
        (0..1_000).for_each(|_| {
            reserve.look(32);
        });
        assert_eq!(reserve.kept(), 3);
        assert!((0..3).all(|_| reserve.try_take()));
        assert!(!reserve.try_take());
        (0..50).for_each(|_| reserve.begin_sparse());
        (0..1_000).for_each(|_| {
            reserve.look(32);
        });
        assert_eq!(reserve.kept(), 8);
        (0..53).for_each(|_| reserve.end_sparse());
        (0..1_000).for_each(|_| {
            reserve.look(32);
        });
        assert_eq!(reserve.kept(), 0, "nobody needs it any more");
    }
}
