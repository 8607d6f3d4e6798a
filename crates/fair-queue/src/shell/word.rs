//! The state of the slots in one word: how many there are, how many are out, whether anybody waits.

use crate::bug::{Bug, seeded};
use crate::settings::MAX_LIMIT;
use crate::sync::{AtomicU64, Ordering};

/// Nobody gets a slot any more.
const CLOSED: u64 = 1;
/// Somebody waits: a freed slot is theirs. Changed under the lock only.
const QUEUED: u64 = 2;
/// One slot in use.
const ONE: u64 = 4;
const IN_USE_BITS: u32 = 30;
const LIMIT_SHIFT: u32 = 2 + IN_USE_BITS;

/// No handle is left: the last slot to be given back is the last of all.
const ORPHAN: u64 = 1 << 63;

const _: () = assert!(MAX_LIMIT < 1 << IN_USE_BITS);
const _: () = assert!((MAX_LIMIT as u64) << LIMIT_SHIFT < ORPHAN);

/// What [`Word::take_or_queue`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Taken,
    Queued,
    Closed,
}

/// What [`Word::give_back`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// It is free. Whatever is shared may be gone by now.
    Free,
    /// It was the last of all: what is shared is to be freed.
    Last,
    /// Somebody waits for it.
    Awaited,
}

/// Because limit, count and flags change together, no slot is taken above a limit that was lowered
/// before, nor past somebody who waits.
#[derive(Debug)]
pub(super) struct Word(AtomicU64);

impl Word {
    pub(super) fn new(limit: usize) -> Self {
        Self(AtomicU64::new((limit as u64) << LIMIT_SHIFT))
    }

    pub(super) fn limit(&self) -> usize {
        limit(self.load()) as usize
    }

    pub(super) fn in_use(&self) -> usize {
        in_use(self.load()) as usize
    }

    pub(super) fn is_closed(&self) -> bool {
        self.load() & CLOSED != 0
    }

    pub(super) fn is_queued(&self) -> bool {
        self.load() & QUEUED != 0
    }

    /// A slot, if one is free, nobody waits and the queue is open.
    #[inline]
    pub(super) fn take(&self) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        while may_take(state) {
            if seeded(Bug::TakeInTwoSteps) {
                self.0.fetch_add(ONE, Ordering::AcqRel);
                return true;
            }
            match self.swap(state, state + ONE) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Whether a slot that is given back now would be free.
    #[inline]
    pub(super) fn is_unawaited(&self) -> bool {
        self.0.load(Ordering::Relaxed) & QUEUED == 0 || seeded(Bug::FreeInsteadOfHandOver)
    }

    /// Gives a slot back, unless somebody waits for it.
    #[inline]
    pub(super) fn give_back(&self) -> Returned {
        let mut state = self.0.load(Ordering::Relaxed);
        while state & QUEUED == 0 || seeded(Bug::FreeInsteadOfHandOver) {
            match self.swap(state, state - ONE) {
                Ok(()) if is_last(state - ONE) => return Returned::Last,
                Ok(()) => return Returned::Free,
                Err(now) => state = now,
            }
        }
        Returned::Awaited
    }

    /// Says that no handle is left. Whether no slot is out either.
    pub(super) fn orphan(&self) -> bool {
        in_use(self.0.fetch_or(ORPHAN, Ordering::AcqRel)) == 0
    }

    /// Under the lock: a slot, or the mark that somebody waits, decided against one state.
    pub(super) fn take_or_queue(&self) -> Entry {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            if state & CLOSED != 0 {
                return Entry::Closed;
            }
            // Set by another waiter, and only changed under the lock.
            if state & QUEUED != 0 {
                return Entry::Queued;
            }
            let free = may_take(state);
            if !free && seeded(Bug::QueueInTwoSteps) {
                self.0.fetch_or(QUEUED, Ordering::AcqRel);
                return Entry::Queued;
            }
            let next = if free { state + ONE } else { state | QUEUED };
            match self.swap(state, next) {
                Ok(()) if free => return Entry::Taken,
                Ok(()) => return Entry::Queued,
                Err(now) => state = now,
            }
        }
    }

    /// Under the lock, with the mark set, so that nobody else changes the count.
    pub(super) fn has_room(&self) -> bool {
        let state = self.load();
        in_use(state) < limit(state)
    }

    /// Under the lock: more are out than there should be.
    pub(super) fn in_debt(&self) -> bool {
        let state = self.load();
        in_use(state) > limit(state) && !seeded(Bug::HandOverInDebt)
    }

    /// Under the lock: one more is out.
    pub(super) fn add_one(&self) {
        self.0.fetch_add(ONE, Ordering::AcqRel);
    }

    /// Under the lock: one less is out. Whether it was the last of all.
    pub(super) fn remove_one(&self) -> bool {
        is_last(self.0.fetch_sub(ONE, Ordering::AcqRel) - ONE)
    }

    /// Under the lock: nobody waits any more.
    pub(super) fn unmark(&self) {
        self.0.fetch_and(!QUEUED, Ordering::AcqRel);
    }

    pub(super) fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub(super) fn set_limit(&self, limit: usize) {
        // Whoever calls this has a handle, so there is no mark of an orphan to keep.
        let below = (1_u64 << LIMIT_SHIFT) - 1;
        let mut state = self.0.load(Ordering::Relaxed);
        while let Err(now) = self.swap(state, state & below | (limit as u64) << LIMIT_SHIFT) {
            state = now;
        }
    }

    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn swap(&self, from: u64, to: u64) -> Result<(), u64> {
        self.0
            .compare_exchange_weak(from, to, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }
}

fn may_take(state: u64) -> bool {
    state & (CLOSED | QUEUED) == 0 && in_use(state) < limit(state)
}

fn in_use(state: u64) -> u64 {
    (state / ONE) & ((1 << IN_USE_BITS) - 1)
}

fn limit(state: u64) -> u64 {
    (state & !ORPHAN) >> LIMIT_SHIFT
}

fn is_last(state: u64) -> bool {
    state & ORPHAN != 0 && in_use(state) == 0
}
