//! Counted slots: taken at once when free, else handed over in order of arrival; never more out
//! than there are.

use std::fmt;
use std::task::Waker;

use crate::bug::{Bug, seeded};
use crate::line::{Line, Ticket};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, lock};

pub use wait::{Acquire, Idle};

mod wait;

/// Nobody gets a slot any more.
const CLOSED: usize = 1;
/// Somebody stands in line: a freed slot is theirs. Changed under the lock only.
const QUEUED: usize = 2;
/// Somebody waits until nothing is in use. Changed under the lock only.
const WATCHED: usize = 4;
/// One slot in use; the count stands above the flags, so that flags and count change in one step.
const ONE: usize = 8;

/// A fixed number of slots. Clones share them.
#[derive(Clone)]
pub struct Slots {
    shared: Arc<Shared>,
}

struct Shared {
    state: AtomicUsize,
    lines: Mutex<Lines>,
    capacity: usize,
}

/// While `seekers` is not empty all slots are in use: a freed one is handed over without being free
/// in between, so nobody can barge in.
struct Lines {
    seekers: Line<Answer>,
    watchers: Line<()>,
}

/// What a seeker in line is told.
#[derive(Clone, Copy)]
enum Answer {
    Granted,
    Refused,
}

/// A slot in use, given back when dropped.
#[must_use = "the slot is given back as soon as the permit is dropped"]
pub struct Permit {
    shared: Arc<Shared>,
}

impl Slots {
    /// As many free slots.
    ///
    /// # Panics
    /// If `capacity` is zero.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "there is at least one slot");
        let lines = Lines {
            seekers: Line::new(),
            watchers: Line::new(),
        };
        let shared = Shared {
            state: AtomicUsize::new(0),
            lines: Mutex::new(lines),
            capacity,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// A slot, if one is free and nobody stands in line.
    pub fn try_acquire(&self) -> Option<Permit> {
        self.shared.take_free().then(|| self.permit())
    }

    /// Waits in line for a slot; `None` once closed. Dropping the future leaves the line, or passes
    /// the slot on.
    pub fn acquire(&self) -> Acquire<'_> {
        Acquire::new(self)
    }

    /// Waits until there was a moment without any slot in use; done at once if that is now.
    pub fn idle(&self) -> Idle<'_> {
        Idle::new(self)
    }

    /// Refuses everybody from now on, those in line too. Slots in use stay so until given back.
    pub fn close(&self) {
        let mut lines = lock(&self.shared.lines);
        self.shared.state.fetch_or(CLOSED, Ordering::SeqCst);
        if seeded(Bug::KeepRefusedWaiting) {
            return;
        }
        let mut refused = Vec::with_capacity(lines.seekers.len());
        while let Some(waker) = lines.seekers.call_first(Answer::Refused) {
            refused.push(waker);
        }
        self.shared.state.fetch_and(!QUEUED, Ordering::SeqCst);
        drop(lines);
        refused.into_iter().for_each(Waker::wake);
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) & CLOSED != 0
    }

    /// How many slots are out.
    pub fn in_use(&self) -> usize {
        self.shared.state.load(Ordering::Acquire) / ONE
    }

    /// How many slots there are.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    fn permit(&self) -> Permit {
        Permit {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Shared {
    fn take_free(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while self.has_free(state) {
            if seeded(Bug::CountInTwoSteps) {
                self.state.fetch_add(ONE, Ordering::AcqRel);
                return true;
            }
            match self.swap_state(state, state + ONE) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    fn has_free(&self, state: usize) -> bool {
        state & (CLOSED | QUEUED) == 0 && state / ONE < self.capacity
    }

    fn give_back(&self) {
        let mut state = self.state.load(Ordering::Relaxed);
        while !self.concerns_others(state) {
            match self.swap_state(state, state - ONE) {
                Ok(()) => return,
                Err(now) => state = now,
            }
        }
        self.hand_over();
    }

    fn concerns_others(&self, state: usize) -> bool {
        let last = state / ONE == 1;
        state & QUEUED != 0 || (last && state & WATCHED != 0 && !seeded(Bug::IdleUnwatched))
    }

    #[cold]
    fn hand_over(&self) {
        let mut lines = lock(&self.lines);
        if seeded(Bug::FreeInsteadOfHandOver) {
            self.state.fetch_sub(ONE, Ordering::AcqRel);
        }
        if let Some(seeker) = lines.seekers.call_first(Answer::Granted) {
            self.note_seekers(&lines);
            drop(lines);
            seeker.wake();
            return;
        }
        let before = self.state.fetch_sub(ONE, Ordering::AcqRel);
        if before / ONE == 1 {
            self.tell_watchers(lines);
        }
    }

    fn tell_watchers(&self, mut lines: crate::sync::MutexGuard<'_, Lines>) {
        let mut watchers = Vec::with_capacity(lines.watchers.len());
        while let Some(waker) = lines.watchers.call_first(()) {
            watchers.push(waker);
        }
        self.note_watchers(&lines);
        drop(lines);
        watchers.into_iter().for_each(Waker::wake);
    }

    /// A slot, a refusal, or a place in line: decided against one value of the state.
    fn enter(&self, waker: &Waker) -> Entered {
        let waker = waker.clone();
        let mut lines = lock(&self.lines);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & CLOSED != 0 {
                return Entered::Refused;
            }
            let free = self.has_free(state);
            let next = if free { state + ONE } else { state | QUEUED };
            match self.swap_state(state, next) {
                Ok(()) if free => return Entered::Granted,
                Ok(()) => return Entered::Queued(lines.seekers.join(waker)),
                Err(now) => state = now,
            }
        }
    }

    /// A place among the watchers, or `None` if nothing is in use.
    fn watch(&self, waker: &Waker) -> Option<Ticket> {
        let waker = waker.clone();
        let mut lines = lock(&self.lines);
        // What the holders did before they gave back is to be seen by whoever hears of idleness.
        let mut state = self.state.load(Ordering::Acquire);
        while state / ONE > 0 {
            match self.swap_state(state, state | WATCHED) {
                Ok(()) => return Some(lines.watchers.join(waker)),
                Err(now) => state = now,
            }
        }
        None
    }

    fn note_seekers(&self, lines: &Lines) {
        if lines.seekers.is_empty() {
            self.state.fetch_and(!QUEUED, Ordering::AcqRel);
        }
    }

    fn note_watchers(&self, lines: &Lines) {
        if lines.watchers.is_empty() {
            self.state.fetch_and(!WATCHED, Ordering::AcqRel);
        }
    }

    fn swap_state(&self, from: usize, to: usize) -> Result<(), usize> {
        self.state
            .compare_exchange_weak(from, to, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }
}

enum Entered {
    Granted,
    Refused,
    Queued(Ticket),
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared.give_back();
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots")
            .field("in_use", &self.in_use())
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish()
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
