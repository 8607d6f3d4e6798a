//! A few places kept back for tenants that use less than their part, so that they need not wait for others to end.
//!
//! As many are kept as such tenants have been using: that costs others little, since they would have them anyway, a
//! little later. Where places come free seldom, some more are: a crowd of short requests should not have to wait for a
//! long one to end.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// No more than this part of all places is ever kept back; of few places up to half, if so many are used, and no more
/// than these. What sparse tenants have beside those kept back leaves others this part too.
const MOST_OF: u32 = 4;
const HALF_OF: u32 = 2;
const FEW: u32 = 4;
/// How fast it follows what is used: each request that comes meanwhile moves it by this part.
const STEP: u32 = 32;
/// Thousandths of a place: the average is a fraction.
const UNIT: u32 = 1_000;

/// The places kept back at one upstream.
#[derive(Default)]
pub(super) struct Reserve {
    kept: AtomicU32,
    used: AtomicU32,
    /// Requests of sparse tenants that are running, wherever, and those that wait.
    sparse: AtomicU32,
    waiting: AtomicU32,
    /// Wakes one of those that wait when a place may be free.
    freed: Notify,
    /// Their average while places are short, or will be, in thousandths.
    average: AtomicU32,
    /// Whether that is known at all.
    looked: AtomicBool,
    /// How long they take, and others, in microseconds.
    hold_us: AtomicU32,
    others_us: AtomicU32,
}

/// Places come free seldom if one of them takes longer than this part of a sparse request.
const SELDOM: u32 = 8;

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

    /// Some place has come free, and may be one that is kept back.
    pub(super) fn look_again(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.freed.notify_one();
        }
    }

    /// Ready when `take` has one.
    pub(super) async fn wait_for(&self, take: impl Fn() -> bool) {
        loop {
            let mut freed = pin!(self.freed.notified());
            // From here on it hears of what comes free.
            freed.as_mut().enable();
            if take() {
                return;
            }
            freed.await;
        }
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

    /// A sparse request waits, until the answer is dropped: it would have a place if more were kept back.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    /// A request took so long. A lost race loses one sample.
    pub(super) fn note(&self, hold: Duration, sparse: bool) {
        let hold = u32::try_from(hold.as_micros()).unwrap_or(u32::MAX);
        let known = self.hold_of(sparse);
        let before = known.load(Ordering::Relaxed);
        known.store(before - before / 8 + hold / 8, Ordering::Relaxed);
    }

    /// A request that was given up had taken so long by then: that says something only if others took no longer.
    pub(super) fn note_at_least(&self, hold: Duration, sparse: bool) {
        let known = self.hold_of(sparse).load(Ordering::Relaxed);
        if hold > Duration::from_micros(known.into()) {
            self.note(hold, sparse);
        }
    }

    fn hold_of(&self, sparse: bool) -> &AtomicU32 {
        if sparse {
            &self.hold_us
        } else {
            &self.others_us
        }
    }

    /// Places are short, or will be: looks how many sparse requests there are, and how many of `places` to keep back
    /// for such. Says whether that has changed.
    pub(super) fn look(&self, places: u32) -> bool {
        let sparse = self.sparse.load(Ordering::Relaxed);
        let wanted = sparse + self.waiting.load(Ordering::Relaxed);
        let now = wanted.saturating_mul(UNIT);
        let average = self.average.load(Ordering::Relaxed);
        let next = match now >= average {
            // At first nothing is known but this, and that there have been some; others will have filled all soon.
            true if !self.looked.swap(true, Ordering::Relaxed) => {
                let some = self.hold_us.load(Ordering::Relaxed) > 0;
                now.max(UNIT * u32::from(some))
            }
            true => average + (now - average).div_ceil(STEP),
            false => average - (average - now).div_ceil(STEP),
        };
        self.average.store(next, Ordering::Relaxed);
        // Only what others hold says how often one of theirs comes free.
        let gap = self.others_us.load(Ordering::Relaxed) / places.max(1);
        let seldom = gap > self.hold_us.load(Ordering::Relaxed) / SELDOM;
        let average = f64::from(next) / f64::from(UNIT);
        let spread = if seldom { 2.0 * average.sqrt() } else { 0.0 };
        let (least, wanted) = (average.ceil() as u32, (average + spread).round() as u32);
        let few = least.min(places / HALF_OF).min(FEW);
        let elsewhere = sparse.saturating_sub(self.used());
        let left = (places - places / MOST_OF).saturating_sub(elsewhere);
        let wanted = wanted.min(few.max(places / MOST_OF)).min(left);
        let kept = self.kept.swap(wanted, Ordering::Relaxed);
        kept != wanted
    }
}

/// One that waits.
pub(super) struct Waiting<'a>(&'a Reserve);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(reserve: &Reserve) -> u32 {
        (0..1_000).for_each(|_| {
            reserve.look(32);
        });
        reserve.kept()
    }

    /// Sparse requests take 20 ms.
    fn beside_others_of(others_ms: u64) -> Reserve {
        let reserve = Reserve::default();
        for _ in 0..100 {
            reserve.note(Duration::from_millis(20), true);
            reserve.note(Duration::from_millis(others_ms), false);
        }
        reserve
    }

    // req: AC-05
    #[test]
    fn places_held_for_long_come_free_seldom_whatever_came_of_it() {
        let reserve = beside_others_of(20);
        reserve.begin_sparse();
        assert_eq!(settled(&reserve), 1);
        (0..100).for_each(|_| reserve.note_at_least(Duration::from_millis(1), false));
        assert_eq!(settled(&reserve), 1);
        (0..100).for_each(|_| reserve.note_at_least(Duration::from_secs(1), false));
        assert_eq!(settled(&reserve), 3);
    }

    // req: AC-05
    #[test]
    fn as_many_are_kept_back_as_are_used_and_never_more_than_a_quarter() {
        let reserve = beside_others_of(20);
        assert!(
            !reserve.try_take(),
            "nothing is kept back before anybody needs it"
        );
        (0..3).for_each(|_| reserve.begin_sparse());
        assert_eq!(settled(&reserve), 3);
        assert!((0..3).all(|_| reserve.try_take()));
        assert!(!reserve.try_take());
        (0..50).for_each(|_| reserve.begin_sparse());
        assert_eq!(settled(&reserve), 0, "they have so many already");
        (0..40).for_each(|_| reserve.end_sparse());
        assert_eq!(settled(&reserve), 8);
        (0..40).for_each(|_| reserve.begin_sparse());
        (0..53).for_each(|_| reserve.end_sparse());
        assert_eq!(settled(&reserve), 0, "nobody needs it any more");
    }

    // req: AC-05
    #[test]
    fn of_few_places_no_more_are_kept_back_than_are_used() {
        let settled = |sparse: u32, places: u32| {
            let reserve = beside_others_of(640);
            (0..sparse).for_each(|_| reserve.begin_sparse());
            (0..1_000).for_each(|_| {
                reserve.look(places);
            });
            reserve.kept()
        };
        assert_eq!(settled(1, 7), 1);
        assert_eq!(settled(3, 6), 2, "others have a quarter at least");
        assert_eq!(settled(4, 12), 4, "a third of them");
        assert_eq!(settled(8, 12), 1);
    }

    // req: AC-05
    #[test]
    fn more_are_kept_back_where_places_come_free_seldom() {
        let reserve = beside_others_of(640);
        (0..3).for_each(|_| reserve.begin_sparse());
        assert_eq!(settled(&reserve), 6);
        (0..20).for_each(|_| reserve.note(Duration::from_millis(20), true));
        assert_eq!(
            settled(&reserve),
            6,
            "how often short ones end says nothing"
        );
    }
}
