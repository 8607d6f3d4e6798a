//! When refused clients are told to come again: each a little later than the one before, as fast as they can be served.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Tenants whose numbers fall into one entry are told to queue up together.
const ENTRIES: usize = 256;
/// Nobody is told to stay away for longer.
const LONGEST: Duration = Duration::from_secs(30);

/// The moment up to which each tenant's clients have been told to come, in nanoseconds.
pub(super) struct Promises(Box<[AtomicU64]>);

impl Promises {
    pub(super) fn new() -> Self {
        Self((0..ENTRIES).map(|_| AtomicU64::new(0)).collect())
    }

    /// When one more refused client of a tenant should come: no sooner than `hope`, and `gap` after the last one.
    pub(super) fn next(
        &self,
        tenant: u64,
        now: Duration,
        hope: Duration,
        gap: Duration,
    ) -> Duration {
        let mixed = tenant.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (now, hope) = (now.as_nanos() as u64, hope.as_nanos() as u64);
        let latest = now + LONGEST.as_nanos() as u64;
        let mut mine = now + hope;
        let step = |last: u64| {
            mine = last
                .saturating_add(gap.as_nanos() as u64)
                .clamp(now + hope, latest.max(now + hope));
            Some(mine)
        };
        let promised = &self.0[mixed as usize % ENTRIES];
        let _always = promised.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        Duration::from_nanos(mine - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-07
    // attack: H-07
    #[test]
    fn a_storm_is_told_to_come_again_one_after_the_other() {
        let promises = Promises::new();
        let (now, gap) = (Duration::from_secs(9), Duration::from_millis(1));
        let hope = Duration::from_millis(50);
        let told: Vec<_> = (0..1_000)
            .map(|_| promises.next(1, now, hope, gap))
            .collect();
        assert!(told.is_sorted() && told[0] == hope);
        assert_eq!(told[999], hope + gap * 999);
        assert_eq!(
            promises.next(2, now, hope, gap),
            hope,
            "others are told nothing of it"
        );
        let later = now + Duration::from_secs(5);
        assert_eq!(
            promises.next(1, later, hope, gap),
            hope,
            "the storm is over"
        );
    }

    #[test]
    fn nobody_is_sent_away_for_ever() {
        let promises = Promises::new();
        let told = (0..1_000)
            .map(|_| promises.next(1, Duration::ZERO, Duration::ZERO, Duration::from_secs(1)));
        assert_eq!(told.max(), Some(LONGEST));
    }
}
