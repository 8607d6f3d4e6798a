//! The table: a key finds its set by a hash that nobody outside can foretell.

use std::time::Duration;

use crate::rate::{Allowed, Denied, Rate, ticks};
use crate::set::{Set, WAYS};

/// Sets are filled to less than half, so that few keys have to share an overflow.
const KEYS_PER_SET: usize = if WAYS > 2 { 3 } else { 1 };

/// One rate for each of many keys.
#[derive(Debug)]
pub struct Quota {
    rate: Rate,
    sets: Box<[Set]>,
    seed: u64,
}

impl Quota {
    /// With room for about so many keys that are short of units at the same time. Those who have
    /// all their units need no room.
    pub fn new(rate: Rate, keys: usize) -> Self {
        Self::seeded(rate, keys, random())
    }

    fn seeded(rate: Rate, keys: usize, seed: u64) -> Self {
        let sets = keys.div_ceil(KEYS_PER_SET).max(1).next_power_of_two();
        Self {
            rate,
            sets: (0..sets).map(|_| Set::new()).collect(),
            seed,
        }
    }

    /// The same keys under another rate: who is short of units is short of as many. What is taken
    /// from this one meanwhile may be missed.
    pub fn under(&self, rate: Rate, now: Duration) -> Self {
        let now = ticks(now);
        let moved = |full_at| self.rate.moved(full_at, &rate, now);
        Self {
            rate,
            sets: self.sets.iter().map(|set| set.copied(&moved)).collect(),
            seed: self.seed,
        }
    }

    /// Takes `cost` units of this key, or none. A cost of zero looks and takes nothing.
    #[inline]
    pub fn check(&self, key: u64, cost: u32, now: Duration) -> Result<Allowed, Denied> {
        let key = mix(key ^ self.seed);
        let set = &self.sets[(key as usize) & (self.sets.len() - 1)];
        set.check(key, &self.rate, cost, ticks(now))
    }

    /// The rate of every key.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes of memory it takes, whatever is checked.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.sets)
    }

    /// How many keys are short of units at this moment.
    pub fn busy_keys(&self, now: Duration) -> usize {
        let now = ticks(now);
        self.sets.iter().map(|set| set.busy(now)).sum()
    }
}

/// Takes `cost` units from every quota, or from none.
///
/// All are looked at before any is taken from. If another caller takes the last units of one
/// between the look and the taking, the ones before it have been charged for nothing: under such a
/// race a key may get a little less than its due, never more.
pub fn check_all(windows: &[(&Quota, u64)], cost: u32, now: Duration) -> Result<(), Denied> {
    for (quota, key) in windows {
        if quota.check(*key, 0, now)?.remaining() < cost {
            // Has to be denied, and says for how long.
            quota.check(*key, cost, now)?;
        }
    }
    windows
        .iter()
        .try_for_each(|(quota, key)| quota.check(*key, cost, now).map(drop))
}

/// One to one, so that two keys never become one; every bit of the key moves those that choose the
/// set.
#[inline]
fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    key ^ (key >> 32)
}

#[cfg(not(loom))]
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u64)
}

/// A model must run the same way each time.
#[cfg(loom)]
fn random() -> u64 {
    0x5eed
}

#[cfg(all(test, not(loom)))]
mod tests;
