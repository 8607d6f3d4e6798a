//! What each tenant has running at an upstream, and how long that takes; a table of fixed size, without locks.
//!
//! Whoever has something running or waiting has an entry of its own: what one tenant does is not held against another.
//! One that has neither keeps its entry until somebody else needs it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use entry::Entry;

mod entry;

/// Where a tenant's entry may be. Only when more of one set are busy at once does one count as another.
const WAYS: usize = 8;
const SETS: usize = 512;

/// The least that counts as a tenant's part, however many there are.
const LEAST_PART: u32 = 2;

/// What the tenants of one upstream have running.
pub(super) struct Tenants {
    sets: Box<[Owners]>,
    /// Those of each set together, in its order.
    entries: Box<[Entry]>,
    /// What is known of who has none.
    nobody: Entry,
    /// Entries with anything running, and the weights of those with anything running or waiting.
    active: AtomicU32,
    weights: AtomicU32,
}

/// Whose the entries of a set are, in one cache line; [`NOBODY`]'s until they are needed.
#[derive(Default)]
#[repr(align(64))]
struct Owners([AtomicU64; WAYS]);

const NOBODY: u64 = 0;

/// An entry, for as long as it counts for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat(u32);

/// What is kept back for what is over soon is not for who keeps a place for so many times as long as is usual.
const MUCH_LONGER: u32 = 4;
/// How many times as long as its others one is presumed to take, at the most.
const PRESUMED_MAX: u32 = 32;

/// What a request may have of the places that are kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing.
    None,
    /// One that is free. Its tenant has little now, and is not known to ask for little.
    OfTheMoment,
    /// One, once it is free: its tenant is within its share with it.
    Lasting,
}

/// Who asks for a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asks {
    pub(super) tenant: u64,
    /// Against all others.
    pub(super) weight: u32,
    /// In ordinary requests.
    pub(super) cost: u64,
    pub(super) at: Duration,
    /// How long a place is usually held; zero where that is not known.
    pub(super) usual: Duration,
}

impl Tenants {
    pub(super) fn new() -> Self {
        Self {
            sets: (0..SETS).map(|_| Owners::default()).collect(),
            entries: (0..SETS * WAYS).map(|_| Entry::default()).collect(),
            nobody: Entry::default(),
            active: AtomicU32::new(0),
            weights: AtomicU32::new(0),
        }
    }

    /// One more request of a tenant of that weight, which costs so many ordinary ones. Says whether it is sparse: with
    /// less running and waiting together than its part of so many places; or with less running, and asking for clearly
    /// less all the while, than its weight says: what waits has been held up, by others or by the upstream. Whoever
    /// has more asks for all it can get, and gets what its weight says. Who is alone has all of them. What costs more
    /// counts for as many places as it costs: few of the kind are no little. Nor are few that take much longer than
    /// those of others: one of them may keep a place for longer than anybody waits.
    pub(super) fn ask(&self, asks: Asks, places: u32) -> Claim {
        let Asks { tenant, weight, .. } = asks;
        let entry = self.entry(tenant);
        if !std::ptr::eq(entry, &self.nobody) {
            entry.ask(asks.at, asks.cost);
        }
        let running = entry.running.load(Ordering::Relaxed);
        let asked = running + entry.waiting.load(Ordering::Relaxed);
        let among = self.active.load(Ordering::Relaxed) + u32::from(running == 0);
        if among < 2 {
            return Claim::None;
        }
        let cost = entry.cost().max(asks.cost as f64);
        // It has something running or waiting, and so is among them, unless it has begun only just now.
        let others = self.weights.load(Ordering::Relaxed);
        let all = match asked {
            0 => others.saturating_add(weight),
            _ => others.max(weight),
        };
        let share = f64::from(places) * f64::from(weight) / f64::from(all.max(1));
        let asks_for_less =
            || f64::from(running) * cost < share && entry.asks_for_less_than(share / cost);
        let long = || entry.takes_longer_than(asks.usual * MUCH_LONGER);
        let within = f64::from(asked + 1) * cost <= share;
        let little = cost <= 1.0
            && (asked < LEAST_PART || u64::from(asked) * u64::from(among) < u64::from(places));
        match within || little {
            true if long() => Claim::None,
            true if within || asks_for_less() => Claim::Lasting,
            true => Claim::OfTheMoment,
            false if asks_for_less() => Claim::Lasting,
            false => Claim::None,
        }
    }

    /// How long one more request of the tenant would wait, as far as its own requests tell.
    pub(super) fn wait_expected(&self, tenant: u64) -> Option<Duration> {
        let entry = self.entry(tenant);
        let waiting = entry.waiting.load(Ordering::Relaxed);
        let running = entry.running.load(Ordering::Relaxed).max(1);
        Some(entry.hold()? * waiting / running)
    }

    /// When one of its places comes free for one more request: those before it have the ones that were taken earlier.
    /// Requests that take long come and go in waves, where a mean of them says nothing. Unknown where more have begun
    /// since than are remembered, or more wait than it has places.
    pub(super) fn place_free_in(&self, tenant: u64, now: Duration) -> Option<Duration> {
        let entry = self.entry(tenant);
        let running = entry.running.load(Ordering::Relaxed);
        let after = running.checked_sub(entry.waiting.load(Ordering::Relaxed))?;
        let held = entry.held_by(after, now)?;
        Some(entry.hold()?.saturating_sub(held))
    }

    /// How long one more of its requests may take: as long as others did, and as long as one that has not ended yet.
    pub(super) fn hold_expected(&self, tenant: u64, now: Duration) -> Option<Duration> {
        let entry = self.entry(tenant);
        let running = entry.running.load(Ordering::Relaxed);
        let held = entry.held_by(running, now).unwrap_or_default();
        let longest = entry.hold().unwrap_or_default().max(held);
        (!longest.is_zero()).then_some(longest)
    }

    /// Whether it has more of so many places than its weight says, beside others who have some or wait for one.
    pub(super) fn is_beyond_part(&self, seat: Seat, places: u32) -> bool {
        let entry = self.at(seat);
        let own = entry.weight.load(Ordering::Relaxed).into();
        let all = u64::from(self.weights.load(Ordering::Relaxed));
        let running = u64::from(entry.running.load(Ordering::Relaxed));
        all > own && running * all > u64::from(places) * own
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
    pub(super) fn wait(&self, tenant: u64, weight: u32) -> Waiting<'_> {
        let seat = self.seat(tenant);
        self.at(seat).waiting.fetch_add(1, Ordering::Relaxed);
        self.weigh(seat, weight);
        Waiting {
            tenants: self,
            seat,
        }
    }

    /// Counts one that runs, until it is said to [end](Self::end) there.
    pub(super) fn begin(&self, tenant: u64, weight: u32, now: Duration) -> Seat {
        let seat = self.seat(tenant);
        let entry = self.at(seat);
        entry.begin(now);
        if entry.running.fetch_add(1, Ordering::Relaxed) == 0 {
            self.active.fetch_add(1, Ordering::Relaxed);
        }
        self.weigh(seat, weight);
        seat
    }

    /// How many of its requests have begun; starts anew after the largest number.
    pub(super) fn begun(&self, tenant: u64) -> u32 {
        self.entry(tenant).begun.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self, seat: Seat) {
        let entry = self.at(seat);
        if entry.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.active.fetch_sub(1, Ordering::Relaxed);
            self.weigh_nothing(seat);
        }
    }

    /// What is counted is what is taken off later. Who is taken off while another comes is counted with the next.
    fn weigh(&self, seat: Seat, weight: u32) {
        let counted = &self.at(seat).weight;
        if counted.load(Ordering::Relaxed) != weight {
            let before = counted.swap(weight, Ordering::Relaxed);
            let more = weight.wrapping_sub(before);
            self.weights.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn weigh_nothing(&self, seat: Seat) {
        if self.at(seat).load() == 0 {
            self.weigh(seat, 0);
        }
    }

    /// One of its requests took so long. A lost race loses one sample.
    pub(super) fn note(&self, seat: Seat, hold: Duration) {
        let hold = u32::try_from(hold.as_micros()).unwrap_or(u32::MAX);
        let known = &self.at(seat).hold_us;
        let next = match known.load(Ordering::Relaxed) {
            0 => hold,
            before => before - before / 8 + hold / 8,
        };
        known.store(next.max(1), Ordering::Relaxed);
    }

    /// How long one of its requests would have taken that was given up after so long, where others usually take so
    /// long. One that took longer than its others already is none like them.
    pub(super) fn presume(&self, seat: Seat, held: Duration, usual: Duration) -> Duration {
        let entry = self.at(seat);
        let own = entry.hold();
        if let Some(own) = own.filter(|own| held < *own) {
            return own;
        }
        let usual = u32::try_from(usual.as_micros()).unwrap_or(u32::MAX);
        let before = entry.presumed_us.fetch_max(usual, Ordering::Relaxed);
        let presumed = Duration::from_micros(before.max(usual).into());
        own.map_or(presumed, |own| presumed.min(own * PRESUMED_MAX))
    }

    /// How long its requests take, once known.
    pub(super) fn hold(&self, seat: Seat) -> Option<Duration> {
        self.at(seat).hold()
    }

    fn at(&self, seat: Seat) -> &Entry {
        &self.entries[seat.0 as usize]
    }

    /// The tenant's entry, or one that says nothing.
    fn entry(&self, tenant: u64) -> &Entry {
        let (set, owner) = place(tenant);
        let way = self.way_of(set, owner);
        way.map_or(&self.nobody, |way| self.at(seat(set, way)))
    }

    fn way_of(&self, set: usize, owner: u64) -> Option<usize> {
        let ways = &self.sets[set].0;
        ways.iter()
            .position(|way| way.load(Ordering::Relaxed) == owner)
    }

    /// The tenant's entry, from now on.
    fn seat(&self, tenant: u64) -> Seat {
        let (set, owner) = place(tenant);
        match self.way_of(set, owner) {
            Some(way) => seat(set, way),
            None => self.take_seat(set, owner),
        }
    }

    /// One of nobody's, or of who has nothing to do. Whoever begins in it at this very moment is counted there until it
    /// ends: it ends where it began, so that no count is ever wrong for long.
    #[cold]
    fn take_seat(&self, set: usize, owner: u64) -> Seat {
        let seats = (0..WAYS).map(|way| seat(set, way));
        let nobodys = |before, _| before == NOBODY;
        let idle = |_, seat| self.at(seat).load() == 0;
        for is_free in [&nobodys as &dyn Fn(u64, Seat) -> bool, &idle] {
            for (seat, way) in seats.clone().zip(&self.sets[set].0) {
                let before = way.load(Ordering::Relaxed);
                let (relaxed, same) = (Ordering::Relaxed, before == owner);
                let taken = !same
                    && is_free(before, seat)
                    && way
                        .compare_exchange(before, owner, relaxed, relaxed)
                        .is_ok();
                if taken {
                    self.at(seat).forget();
                }
                // Another request of the same tenant may have been quicker.
                if taken || way.load(relaxed) == owner {
                    return seat;
                }
            }
        }
        let least = seats.min_by_key(|seat| self.at(*seat).load());
        least.unwrap_or(seat(set, 0))
    }
}

/// The set of a tenant, and its name there.
fn place(tenant: u64) -> (usize, u64) {
    // Tenants' numbers are hashes, those of addresses are not: the high bits of a product depend on all of them.
    let mixed = tenant.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (mixed as usize % SETS, tenant.max(1))
}

fn seat(set: usize, way: usize) -> Seat {
    Seat((set * WAYS + way) as u32)
}

/// One that waits for a place, or has stopped waiting when this is dropped.
pub(super) struct Waiting<'a> {
    tenants: &'a Tenants,
    seat: Seat,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waiting = &self.tenants.at(self.seat).waiting;
        if waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.tenants.weigh_nothing(self.seat);
        }
    }
}

#[cfg(test)]
mod tests;
