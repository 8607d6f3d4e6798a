//! A handful of keys that share two cache lines, and what they share when they are too many.
//!
//! An entry is a key and a word. Whoever charges an entry reads its word, then its key, and changes
//! the word by one compare-and-swap. An entry changes hands only while its word is [`CLAIMED`], and
//! the new owner's word is later than any the old one had: so a swap that succeeds was made on the
//! entry of the key that was seen.

use crate::bug::{Bug, seeded};
use crate::rate::{Allowed, Denied, Rate};
use crate::sync::{AtomicBool, AtomicU64, Ordering, yield_now};

/// With the word of the overflow and the lock, seven keys and seven words fill two cache lines.
#[cfg(not(loom))]
pub(crate) const WAYS: usize = 7;
/// One is enough for every race, and leaves fewer interleavings.
#[cfg(loom)]
pub(crate) const WAYS: usize = 1;

/// The entry is changing hands.
const CLAIMED: u64 = u64::MAX;

#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Set {
    keys: [AtomicU64; WAYS],
    /// The bucket of those who found no entry.
    overflow: AtomicU64,
    /// When each bucket is full again.
    words: [AtomicU64; WAYS],
    /// Held by who puts a key in.
    inserting: AtomicBool,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Set>() == 128);

type Verdict = Result<Allowed, Denied>;

impl Set {
    pub(crate) fn new() -> Self {
        let zero = |_| AtomicU64::new(0);
        Self {
            keys: std::array::from_fn(zero),
            overflow: AtomicU64::new(0),
            words: std::array::from_fn(zero),
            inserting: AtomicBool::new(false),
        }
    }

    /// Another with the same keys, and with words made from theirs.
    pub(crate) fn copied(&self, word: &impl Fn(u64) -> u64) -> Self {
        // Nobody puts a key in meanwhile, so that no entry changes hands.
        let _lock = Inserting::lock(&self.inserting);
        let load = |at: &AtomicU64| at.load(Ordering::Acquire);
        Self {
            keys: std::array::from_fn(|way| AtomicU64::new(load(&self.keys[way]))),
            overflow: AtomicU64::new(word(load(&self.overflow))),
            words: std::array::from_fn(|way| AtomicU64::new(word(load(&self.words[way])))),
            inserting: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn check(&self, key: u64, rate: &Rate, cost: u32, now: u64) -> Verdict {
        if let Some(verdict) = self.charge_known(key, rate, cost, now) {
            return verdict;
        }
        self.insert(key, rate, cost, now)
    }

    /// How many entries say something at this moment.
    pub(crate) fn busy(&self, now: u64) -> usize {
        let words = self.words.iter();
        words
            .filter(|word| word.load(Ordering::Relaxed) > now)
            .count()
    }

    /// The verdict on a key that has an entry.
    #[inline]
    fn charge_known(&self, key: u64, rate: &Rate, cost: u32, now: u64) -> Option<Verdict> {
        let way = self.find(key)?;
        loop {
            let word = self.words[way].load(Ordering::Acquire);
            if word == CLAIMED {
                yield_now();
                continue;
            }
            let owner = self.keys[way].load(Ordering::Relaxed);
            if owner != key && !seeded(Bug::TrustFirstLook) {
                return None;
            }
            if let Some(verdict) = charge(&self.words[way], word, rate, cost, now) {
                return Some(verdict);
            }
        }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        // Without a branch per key: which one it is cannot be foretold, and a wrong guess costs more
        // than to look at all.
        let mut found = WAYS;
        for (way, known) in self.keys.iter().enumerate() {
            if known.load(Ordering::Relaxed) == key {
                found = way;
            }
        }
        (found < WAYS).then_some(found)
    }

    /// Finds a place for a key that had none when looked for: an entry that says nothing, or the
    /// overflow.
    #[cold]
    fn insert(&self, key: u64, rate: &Rate, cost: u32, now: u64) -> Verdict {
        let _lock = Inserting::lock(&self.inserting);
        if !seeded(Bug::InsertUnseen)
            && let Some(verdict) = self.charge_known(key, rate, cost, now)
        {
            return verdict;
        }
        let overflow = self.overflow.load(Ordering::Acquire);
        // What strangers owe together, each may owe.
        let (verdict, word) = rate.decide(overflow, cost, now);
        if verdict.is_err() || cost == 0 {
            return verdict;
        }
        match self.words.iter().position(|word| claim(word, now)) {
            Some(way) => {
                self.keys[way].store(key, Ordering::Relaxed);
                self.words[way].store(word, Ordering::Release);
                verdict
            }
            None => loop {
                let word = self.overflow.load(Ordering::Acquire);
                if let Some(verdict) = charge(&self.overflow, word, rate, cost, now) {
                    return verdict;
                }
            },
        }
    }
}

/// One step from the word that was read; `None` if it is no longer there.
#[inline]
fn charge(at: &AtomicU64, word: u64, rate: &Rate, cost: u32, now: u64) -> Option<Verdict> {
    let (verdict, next) = rate.decide(word, cost, now);
    if verdict.is_err() || cost == 0 {
        return (at.load(Ordering::Acquire) == word).then_some(verdict);
    }
    if seeded(Bug::ChargeInTwoSteps) {
        at.store(next, Ordering::Release);
        return Some(verdict);
    }
    let swapped = at.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed);
    swapped.is_ok().then_some(verdict)
}

/// Marks an entry whose bucket is full as changing hands.
fn claim(word: &AtomicU64, now: u64) -> bool {
    let seen = word.load(Ordering::Relaxed);
    if seen > now {
        return false;
    }
    seeded(Bug::EvictUnmarked)
        || word
            .compare_exchange(seen, CLAIMED, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
}

/// The lock on putting keys in, released also by a panic.
struct Inserting<'a>(&'a AtomicBool);

impl<'a> Inserting<'a> {
    fn lock(flag: &'a AtomicBool) -> Self {
        while flag
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            yield_now();
        }
        Self(flag)
    }
}

impl Drop for Inserting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
