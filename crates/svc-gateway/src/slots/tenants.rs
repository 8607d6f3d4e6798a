//! What each tenant has running at an upstream, and how long that takes; a table of fixed size, without locks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Tenants whose numbers fall into one entry count as one.
const ENTRIES: usize = 4_096;

/// The least that counts as a tenant's part, however many there are.
const LEAST_PART: u32 = 2;

/// What the tenants of one upstream have running.
pub(super) struct Tenants {
    entries: Box<[Entry]>,
    /// Entries with anything running.
    active: AtomicU32,
}

#[derive(Default)]
struct Entry {
    running: AtomicU32,
    waiting: AtomicU32,
    /// How many have begun, round and round.
    begun: AtomicU32,
    /// How long its requests take, in microseconds: each moves it an eighth of the way. Zero until known.
    hold_us: AtomicU32,
}

impl Tenants {
    pub(super) fn new() -> Self {
        Self {
            entries: (0..ENTRIES).map(|_| Entry::default()).collect(),
            active: AtomicU32::new(0),
        }
    }

    /// Whether the tenant has less running and waiting together than its part of so many places. Whoever has more asks
    /// for all it can get, and gets what its weight says.
    pub(super) fn is_sparse(&self, tenant: u64, places: u32) -> bool {
        let entry = self.entry(tenant);
        let running = entry.running.load(Ordering::Relaxed);
        let asked = running + entry.waiting.load(Ordering::Relaxed);
        let among = self.active.load(Ordering::Relaxed) + u32::from(running == 0);
        asked < (places / among.max(1)).max(LEAST_PART)
    }

    /// How long one more request of the tenant would wait, as far as its own requests tell.
    pub(super) fn wait_expected(&self, tenant: u64) -> Option<Duration> {
        let entry = self.entry(tenant);
        let waiting = entry.waiting.load(Ordering::Relaxed);
        let running = entry.running.load(Ordering::Relaxed).max(1);
        Some(self.hold(tenant)? * waiting / running)
    }

    /// How many of its requests wait.
    pub(super) fn waiting(&self, tenant: u64) -> u32 {
        self.entry(tenant).waiting.load(Ordering::Relaxed)
    }

    /// Counts one that waits, until the answer is dropped.
    pub(super) fn wait(&self, tenant: u64) -> Waiting<'_> {
        let waiting = &self.entry(tenant).waiting;
        waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(waiting)
    }

    pub(super) fn begin(&self, tenant: u64) {
        let entry = self.entry(tenant);
        entry.begun.fetch_add(1, Ordering::Relaxed);
        if entry.running.fetch_add(1, Ordering::Relaxed) == 0 {
            self.active.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many of its requests have begun; starts anew after the largest number.
    pub(super) fn begun(&self, tenant: u64) -> u32 {
        self.entry(tenant).begun.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self, tenant: u64) {
        if self.entry(tenant).running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.active.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// One of its requests took so long. A lost race loses one sample.
    pub(super) fn note(&self, tenant: u64, hold: Duration) {
        let hold = u32::try_from(hold.as_micros()).unwrap_or(u32::MAX);
        let known = &self.entry(tenant).hold_us;
        let next = match known.load(Ordering::Relaxed) {
            0 => hold,
            before => before - before / 8 + hold / 8,
        };
        known.store(next.max(1), Ordering::Relaxed);
    }

    /// How long its requests take, once known.
    pub(super) fn hold(&self, tenant: u64) -> Option<Duration> {
        let hold = self.entry(tenant).hold_us.load(Ordering::Relaxed);
        (hold > 0).then(|| Duration::from_micros(hold.into()))
    }

    fn entry(&self, tenant: u64) -> &Entry {
        // Tenants' numbers are hashes, those of addresses are not: the high bits of a product depend on all of them.
        let mixed = tenant.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &self.entries[mixed as usize % ENTRIES]
    }
}

/// One that waits for a place, or has stopped waiting when this is dropped.
pub(super) struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: AC-05
    #[test]
    fn who_has_less_than_its_part_is_sparse() {
        let tenants = Tenants::new();
        for _ in 0..30 {
            tenants.begin(1);
        }
        assert!(!tenants.is_sparse(1, 30));
        assert!(tenants.is_sparse(2, 32), "half of the places are its part");
        for _ in 0..15 {
            tenants.begin(2);
        }
        assert!(tenants.is_sparse(2, 32));
        let waiting = tenants.wait(2);
        assert!(
            !tenants.is_sparse(2, 32),
            "who has something waiting is not"
        );
        drop(waiting);
        assert!(tenants.is_sparse(2, 32));
        tenants.begin(2);
        assert!(!tenants.is_sparse(2, 32));
        for _ in 0..16 {
            tenants.end(2);
        }
        for _ in 0..30 {
            tenants.end(1);
        }
        assert_eq!(tenants.active.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_a_tenant_takes_is_learnt() {
        let tenants = Tenants::new();
        assert_eq!(tenants.hold(7), None);
        for _ in 0..100 {
            tenants.note(7, Duration::from_millis(640));
        }
        let hold = tenants.hold(7).unwrap().as_millis();
        assert!((639..=640).contains(&hold), "{hold}");
    }
}
