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

/// Beginnings that are remembered of each.
const RECENT: usize = 32;

#[derive(Default)]
struct Entry {
    running: AtomicU32,
    waiting: AtomicU32,
    /// How many have begun, round and round.
    begun: AtomicU32,
    /// When the last of them began, in milliseconds, each where its number says.
    began_ms: [AtomicU32; RECENT],
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

    /// When one of its places comes free for one more request: those before it have the ones that were taken earlier.
    /// Requests that take long come and go in waves, where a mean of them says nothing. Unknown where more have begun
    /// since than are remembered, or more wait than it has places.
    pub(super) fn place_free_in(&self, tenant: u64, now: Duration) -> Option<Duration> {
        let entry = self.entry(tenant);
        let running = entry.running.load(Ordering::Relaxed);
        let after = running.checked_sub(entry.waiting.load(Ordering::Relaxed))?;
        if after == 0 || after as usize > RECENT {
            return None;
        }
        let number = entry.begun.load(Ordering::Relaxed).wrapping_sub(after);
        let began_ms = entry.began(number).load(Ordering::Relaxed);
        let held = Duration::from_millis((millis(now).wrapping_sub(began_ms)).into());
        Some(self.hold(tenant)?.saturating_sub(held))
    }

    /// How many of its requests have a place.
    pub(super) fn running(&self, tenant: u64) -> u32 {
        self.entry(tenant).running.load(Ordering::Relaxed)
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

    pub(super) fn begin(&self, tenant: u64, now: Duration) {
        let entry = self.entry(tenant);
        let number = entry.begun.fetch_add(1, Ordering::Relaxed);
        entry.began(number).store(millis(now), Ordering::Relaxed);
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

impl Entry {
    fn began(&self, number: u32) -> &AtomicU32 {
        &self.began_ms[number as usize % RECENT]
    }
}

/// Starts anew after seven weeks, which nothing takes.
fn millis(now: Duration) -> u32 {
    now.as_millis() as u32
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
            tenants.begin(1, Duration::ZERO);
        }
        assert!(!tenants.is_sparse(1, 30));
        assert!(tenants.is_sparse(2, 32), "half of the places are its part");
        for _ in 0..15 {
            tenants.begin(2, Duration::ZERO);
        }
        assert!(tenants.is_sparse(2, 32));
        let waiting = tenants.wait(2);
        assert!(
            !tenants.is_sparse(2, 32),
            "who has something waiting is not"
        );
        drop(waiting);
        assert!(tenants.is_sparse(2, 32));
        tenants.begin(2, Duration::ZERO);
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

    // req: GW-07
    #[test]
    fn it_is_foreseen_whose_place_is_the_next() {
        let (tenants, ms) = (Tenants::new(), Duration::from_millis);
        tenants.note(7, ms(640));
        assert_eq!(tenants.place_free_in(7, ms(0)), None, "nobody has a place");
        for began in [0, 100, 200] {
            tenants.begin(7, ms(began));
        }
        assert_eq!(tenants.place_free_in(7, ms(300)), Some(ms(340)));
        let waiting = [tenants.wait(7), tenants.wait(7)];
        assert_eq!(tenants.place_free_in(7, ms(300)), Some(ms(540)));
        assert_eq!(tenants.place_free_in(7, ms(900)), Some(ms(0)), "overdue");
        let more = tenants.wait(7);
        assert_eq!(tenants.place_free_in(7, ms(300)), None, "a second round");
        drop((waiting, more));
        for _ in 0..RECENT {
            tenants.begin(7, ms(300));
        }
        assert_eq!(tenants.place_free_in(7, ms(300)), None, "too long ago");
    }
}
