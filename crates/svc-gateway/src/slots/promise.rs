//! When refused clients are told to come again, so that it is true.
//!
//! One client of a tenant cannot be told from another. While a tenant asks for more than it is given, whoever comes
//! again has no better chance than whoever comes for the first time, and only the end of that storm can be promised.
//! How long it will last nobody knows; but storms are of every length, so that one which has lasted for a while lasts
//! for less than twice as long again in two of three cases. Of those who are told to come after that, no more are told
//! to come in one moment than the tenant has been given places.

use std::time::Duration;

use calendar::Calendar;
use kernel::lock::{Lock, LockSpec};

mod calendar;

/// Guards what the clients of some tenants have been told.
pub(crate) static PROMISES: LockSpec = LockSpec {
    name: "gateway_promises",
    level: 61,
    doc: "what refused clients of a tenant were told; each refusal reads and moves it",
};

/// Tenants whose numbers fall into one entry are told to queue up together.
const ENTRIES: usize = 256;
/// So much longer than it has lasted, a storm is expected to last.
const AGAIN: u32 = 2;
/// A refused share that is still bad luck: whoever comes again finds a place as it is.
const BAD_LUCK: f64 = 0.1;
/// A storm is over after this without a refusal, or a part of how long it lasted.
const CALM: Duration = Duration::from_millis(250);
const CALM_PART: u32 = 4;
/// How long is counted before a rate is believed, and the share of the old one that remains then.
const WINDOW: Duration = Duration::from_millis(200);
const KEPT: f64 = 0.8;
/// The part of a tenant's places that is promised; the others are for those who come meanwhile.
const PROMISED: f64 = 0.8;

const SECOND: Duration = Duration::from_secs(1);
/// Who is given nothing at all comes once in a while to see.
const LEAST_PER_S: f64 = 0.1;

/// What the clients of all tenants of an upstream have been told.
pub(super) struct Promises {
    storms: Box<[Lock<Storm>]>,
    /// Nobody is told to stay away for longer.
    longest: Duration,
}

/// What is known when a client is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal {
    pub(super) now: Duration,
    /// How many places the tenant has been given so far.
    pub(super) begun: u32,
    /// When its turn would have come in the queue.
    pub(super) hope: Duration,
    /// How far apart places come free, as long as nothing else is known.
    pub(super) gap: Duration,
}

impl Promises {
    pub(super) fn new(longest: Duration) -> Self {
        let storm = |_| Lock::new(&PROMISES, Storm::default());
        Self {
            storms: (0..ENTRIES).map(storm).collect(),
            longest,
        }
    }

    /// When one more refused client of a tenant should come.
    pub(super) fn next(&self, tenant: u64, refusal: Refusal) -> Duration {
        let mixed = tenant.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut storm = self.storms[mixed as usize % ENTRIES].lock();
        storm.tell(refusal, self.longest)
    }
}

/// A tenant that asks for more than it is given.
#[derive(Clone, Debug, Default)]
struct Storm {
    /// The first refusal of it, and the latest.
    began: Duration,
    latest: Duration,
    /// The moment up to which clients have been told to come, within a second.
    told: Duration,
    /// What is counted since then: places given, by their number then, and refusals.
    since: Duration,
    begun: u32,
    refused: u32,
    rates: Option<Rates>,
    /// Who was told to come in more than a second; made when it is needed, and given back in the calm.
    calendar: Option<Calendar>,
}

/// What a tenant is given, and what not.
#[derive(Clone, Copy, Debug)]
struct Rates {
    given_per_s: f64,
    refused_share: f64,
}

impl Storm {
    fn tell(&mut self, refusal: Refusal, longest: Duration) -> Duration {
        self.count(refusal);
        let now = refusal.now;
        let given_per_s = self.given_per_s(refusal.gap);
        let gap = Duration::try_from_secs_f64(given_per_s.recip()).unwrap_or(longest);
        let wait = refusal.hope.max(self.outlasts(now));
        let soon = self.told.saturating_add(gap).max(now + wait) - now;
        if soon <= SECOND {
            self.told = now + soon;
            return soon;
        }
        let from = wait.as_secs_f64().ceil().max(1.0) as u64;
        let calendar = self.calendar.get_or_insert_with(|| Calendar::new(now));
        let seconds = calendar.take(now, from, longest.as_secs(), given_per_s);
        seconds.map_or(longest, Duration::from_secs).min(longest)
    }

    fn count(&mut self, Refusal { now, begun, .. }: Refusal) {
        let lasted = self.latest.saturating_sub(self.began);
        if now.saturating_sub(self.latest) > CALM.max(lasted / CALM_PART) || self.since.is_zero() {
            *self = Self {
                began: now,
                since: now,
                begun,
                told: self.told,
                ..Self::default()
            };
        }
        self.latest = now;
        self.refused += 1;
        let passed = now.saturating_sub(self.since);
        if passed >= WINDOW {
            let given = f64::from(begun.wrapping_sub(self.begun));
            let refused = f64::from(self.refused);
            let seen = Rates {
                given_per_s: given / passed.as_secs_f64(),
                refused_share: refused / (given + refused),
            };
            self.rates = Some(self.rates.map_or(seen, |before| before.blend(seen)));
            (self.since, self.begun, self.refused) = (now, begun, 0);
        }
    }

    /// After how long the storm should be over.
    fn outlasts(&self, now: Duration) -> Duration {
        let share = self.rates.map_or(1.0, |rates| rates.refused_share);
        let lasted = now.saturating_sub(self.began);
        (lasted * AGAIN).mul_f64((share / BAD_LUCK).min(1.0))
    }

    /// What may be promised: places a second.
    fn given_per_s(&self, gap: Duration) -> f64 {
        let unknown = gap.max(Duration::from_nanos(1)).as_secs_f64().recip();
        let given = self.rates.map_or(unknown, |rates| rates.given_per_s);
        (given * PROMISED).max(LEAST_PER_S)
    }
}

impl Rates {
    fn blend(self, seen: Self) -> Self {
        let blend = |before: f64, seen: f64| before * KEPT + seen * (1.0 - KEPT);
        Self {
            given_per_s: blend(self.given_per_s, seen.given_per_s),
            refused_share: blend(self.refused_share, seen.refused_share),
        }
    }
}

#[cfg(test)]
mod tests;
