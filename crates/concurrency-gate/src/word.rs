//! The state of an entry in one word, so that limit, count and flags change in one step.
//!
//! | bits | |
//! |---|---|
//! | 0–19 | in flight |
//! | 20–39 | limit |
//! | 40–43 | flags |
//! | 44–63 | admissions by the fast path, modulo 2^20 |

const COUNT_BITS: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const LIMIT_SHIFT: u32 = COUNT_BITS;
const FLAGS_SHIFT: u32 = 2 * COUNT_BITS;
const ADMITTED_SHIFT: u32 = FLAGS_SHIFT + 4;
const ONE_ADMITTED: u64 = 1 << ADMITTED_SHIFT;

const _: () = assert!(ADMITTED_SHIFT + COUNT_BITS == u64::BITS);

/// The highest limit and the longest line.
pub(crate) const COUNT_MAX: u32 = COUNT_MASK as u32;

/// Admissions between two steps of [`Word::half`].
pub(crate) const HALF: u64 = 1 << (COUNT_BITS - 1);

/// Somebody stands in line: a freed slot is theirs. Changed under the entry's lock only.
pub(crate) const QUEUED: u64 = 1 << FLAGS_SHIFT;
/// The line has no more room. Changed under the entry's lock only.
pub(crate) const FULL: u64 = 2 << FLAGS_SHIFT;
/// The breaker has a say in each admission. Changed under the entry's lock only.
pub(crate) const GUARDED: u64 = 4 << FLAGS_SHIFT;
/// Nobody is admitted any more.
pub(crate) const CLOSED: u64 = 8 << FLAGS_SHIFT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) fn with_limit_of(limit: u32) -> Self {
        Self(u64::from(limit) << LIMIT_SHIFT)
    }

    pub(crate) fn in_flight(self) -> u32 {
        (self.0 & COUNT_MASK) as u32
    }

    pub(crate) fn limit(self) -> u32 {
        (self.0 >> LIMIT_SHIFT & COUNT_MASK) as u32
    }

    pub(crate) fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Whether a newcomer may take a slot without asking anybody.
    pub(crate) fn is_open(self) -> bool {
        !self.has(QUEUED | GUARDED | CLOSED) && self.has_free()
    }

    pub(crate) fn has_free(self) -> bool {
        self.in_flight() < self.limit()
    }

    /// The count of admissions leaves the word at its top when it wraps.
    pub(crate) fn admit(self) -> Self {
        Self(self.0.wrapping_add(ONE_ADMITTED + 1))
    }

    /// A slot for an admission that is counted elsewhere.
    pub(crate) fn take(self) -> Self {
        Self(self.0 + 1)
    }

    pub(crate) fn set_limit(self, limit: u32) -> Self {
        Self(self.0 & !(COUNT_MASK << LIMIT_SHIFT) | u64::from(limit) << LIMIT_SHIFT)
    }

    pub(crate) fn set(self, flag: u64, on: bool) -> Self {
        Self(if on { self.0 | flag } else { self.0 & !flag })
    }

    /// Admissions modulo 2^20.
    pub(crate) fn admitted(self) -> u64 {
        self.0 >> ADMITTED_SHIFT
    }

    /// Whether the last admission began another half of the count's range.
    pub(crate) fn begins_half(self) -> bool {
        self.admitted().is_multiple_of(HALF)
    }

    /// All admissions, given how many halves were begun. The word may be one half ahead of them:
    /// the two do not change together.
    pub(crate) fn total(self, halves: u32) -> u64 {
        let behind = u64::from(halves) % 2 != self.admitted() / HALF;
        (u64::from(halves) + u64::from(behind)) * HALF + self.admitted() % HALF
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
