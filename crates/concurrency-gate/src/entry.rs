//! One key's admission: a word for everybody, a lock only for those who wait or are guarded.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::Waker;
use std::time::Duration;

use crate::bug::{Bug, seeded};
use crate::lazy::Lazy;
use crate::limit::Limit;
use crate::rejection::{Reason, Rejection};
use crate::seat::Seat;
use crate::sync::counter::{AtomicU32, Relaxed};
use crate::sync::{AtomicU64, Ordering};
use crate::tally::Tally;
use crate::word::{CLOSED, FULL, GUARDED, QUEUED, Word};

use detail::Detail;

mod control;
mod detail;
mod queue;

/// What entries of one limit share.
pub(crate) struct Setup {
    pub(crate) limit: Limit,
    tally: StdArc<Tally>,
    /// Outcomes matter to a breaker or a policy.
    controlled: bool,
    /// Never evicted: its limit would be forgotten with it.
    pub(crate) registered: bool,
    /// Asked only where a lock is taken anyway and nobody told the time.
    clock: Option<fn() -> Duration>,
}

impl Setup {
    pub(crate) fn new(
        limit: Limit,
        registered: bool,
        tally: StdArc<Tally>,
        clock: Option<fn() -> Duration>,
    ) -> StdArc<Self> {
        StdArc::new(Self {
            controlled: limit.breaker.is_some() || limit.policy.bounds().is_some(),
            limit,
            registered,
            tally,
            clock,
        })
    }
}

/// 32 bytes, as long as nobody waits.
pub(crate) struct Entry {
    word: AtomicU64,
    /// When somebody was last admitted, in seconds.
    used_s: AtomicU32,
    /// Halves of the word's count of admissions that were begun.
    halves: AtomicU32,
    detail: Lazy<Detail>,
    setup: StdArc<Setup>,
}

/// What an entry has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) admitted: u64,
    pub(crate) queued: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.admitted += other.admitted;
        self.queued += other.queued;
    }
}

/// What an admitted caller carries until it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// The breaker's when it was admitted.
    pub(crate) epoch: u16,
    pub(crate) probe: bool,
}

/// The answer to somebody who is ready to wait.
pub(crate) enum Entered {
    Admitted(Pass),
    /// The seat is taken, and stays so until it was called or has left.
    Queued,
}

/// What a leaving caller says of its work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Success {
        hold: Duration,
        now: Duration,
    },
    Failure {
        hold: Duration,
        now: Duration,
    },
    Ignored,
    /// Dropped by a panic: a failure of unknown length.
    Panicked,
}

const CLOSED_RETRY_MS: u32 = 1_000;
const UNKNOWN_RETRY_MS: u32 = 50;

impl Entry {
    pub(crate) fn new(setup: StdArc<Setup>, now: Duration) -> Self {
        let entry = Self {
            word: AtomicU64::new(Word::with_limit_of(setup.limit.max).0),
            used_s: AtomicU32::new(seconds(now)),
            halves: AtomicU32::new(0),
            detail: Lazy::new(),
            setup,
        };
        if entry.setup.registered || entry.setup.controlled {
            entry.detail();
        }
        entry
    }

    /// Never waits.
    #[inline]
    pub(crate) fn try_enter(&self, now: Duration) -> Result<Pass, Rejection> {
        match self.enter_fast(now) {
            Ok(pass) => Ok(pass),
            Err(seen) => self.try_enter_slow(seen, now),
        }
    }

    /// A slot if the word alone allows it, else the word that did not.
    #[inline(always)]
    pub(crate) fn enter_fast(&self, now: Duration) -> Result<Pass, Word> {
        let epoch = self.epoch();
        let mut word = self.word();
        while word.is_open() {
            if seeded(Bug::CountInTwoSteps) {
                self.word.fetch_add(1, Ordering::AcqRel);
                return Ok(Pass {
                    epoch,
                    probe: false,
                });
            }
            match self.swap(word, word.admit()) {
                Ok(()) => {
                    self.note_admission(word.admit(), now);
                    return Ok(Pass {
                        epoch,
                        probe: false,
                    });
                }
                Err(seen) => word = seen,
            }
        }
        Err(word)
    }

    #[inline]
    fn note_admission(&self, word: Word, now: Duration) {
        self.used_s.store(seconds(now), Relaxed);
        if word.begins_half() {
            self.halves.fetch_add(1, Relaxed);
        }
    }

    #[inline(never)]
    fn try_enter_slow(&self, word: Word, now: Duration) -> Result<Pass, Rejection> {
        if word.has(GUARDED) && !word.has(CLOSED) {
            return self.enter_guarded(now);
        }
        Err(self.reject(self.refusal(word)))
    }

    /// A slot, a refusal, or a place in line; for those whom the word alone did not let in.
    #[inline]
    pub(crate) fn enter(
        &self,
        seat: Pin<&mut Option<Seat>>,
        waker: &Waker,
        now: Duration,
    ) -> Result<Entered, Rejection> {
        let word = self.word();
        if word.has(CLOSED) {
            return Err(self.reject(self.refusal(word)));
        }
        if !self.setup.limit.queue {
            return self.try_enter(now).map(Entered::Admitted);
        }
        if word.has(FULL) {
            return Err(self.reject(self.refusal_of(Reason::QueueFull)));
        }
        self.join(seat, waker, now)
    }

    /// Says how the work went and gives the slot back.
    #[inline]
    pub(crate) fn leave(&self, pass: Pass, verdict: Verdict) {
        let told = match verdict {
            Verdict::Success { now, .. } | Verdict::Failure { now, .. } => Some(now),
            Verdict::Ignored | Verdict::Panicked => None,
        };
        if !matches!(verdict, Verdict::Ignored) || pass.probe {
            self.judge(pass, verdict);
        }
        self.release(told);
    }

    /// Gives the slot back, or to the first in line.
    #[inline(always)]
    pub(crate) fn release(&self, told: Option<Duration>) {
        if self.word().has(QUEUED) {
            return self.hand_over(told);
        }
        let before = Word(self.word.fetch_sub(1, Ordering::AcqRel));
        debug_assert!(before.in_flight() > 0, "a slot is given back once");
        // Somebody has joined since: the slot that just became free is theirs, nobody else can
        // take it as long as the mark stands.
        if before.has(QUEUED) && !seeded(Bug::LookOnce) {
            self.let_in(told);
        }
    }

    /// What a caller in a hurry is told about this word.
    fn refusal(&self, word: Word) -> Rejection {
        if word.has(CLOSED) {
            Rejection::in_ms(Reason::Closed, CLOSED_RETRY_MS)
        } else {
            self.refusal_of(Reason::Saturated)
        }
    }

    /// By the mean hold time: when as many have left as stand before the next to come.
    fn refusal_of(&self, reason: Reason) -> Rejection {
        let known = self.detail.get().map(|detail| detail.load());
        let (hold_us, waiting) = known.unwrap_or_default();
        if hold_us == 0 {
            return Rejection::in_ms(reason, UNKNOWN_RETRY_MS);
        }
        let ahead = u64::from(waiting) + 1;
        let ms = ahead * u64::from(hold_us) / (u64::from(self.word().limit()) * 1000);
        let longest = self.setup.limit.wait_timeout.as_millis() as u64;
        Rejection::in_ms(
            reason,
            ms.clamp(1, longest.clamp(1, u64::from(u32::MAX))) as u32,
        )
    }

    #[inline]
    pub(crate) fn reject(&self, rejection: Rejection) -> Rejection {
        self.setup.tally.rejected(self.number(), rejection.reason());
        rejection
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.word().in_flight()
    }

    pub(crate) fn limit(&self) -> u32 {
        self.word().limit()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.word().has(CLOSED)
    }

    pub(crate) fn used(&self) -> Duration {
        Duration::from_secs(u64::from(self.used_s.load(Relaxed)))
    }

    /// Somebody has it in use without entering. Two at once may differ by what they were told.
    pub(crate) fn touch(&self, now: Duration) {
        let latest = self.used_s.load(Relaxed).max(seconds(now));
        self.used_s.store(latest, Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        let fast = self.word().total(self.halves.load(Relaxed));
        let (granted, queued) = self.detail.get().map(Detail::counts).unwrap_or_default();
        Counts {
            admitted: fast + granted,
            queued,
        }
    }

    /// Different for entries that differ: where they stand in memory.
    fn number(&self) -> usize {
        std::ptr::from_ref(self).addr() / 64
    }

    #[inline]
    fn word(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    #[inline]
    fn swap(&self, from: Word, to: Word) -> Result<(), Word> {
        self.word
            .compare_exchange_weak(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(Word)
    }

    /// Changes the word, whatever it was; for use under the lock.
    fn update(&self, change: impl Fn(Word) -> Word) -> Word {
        let mut word = self.word();
        loop {
            let next = change(word);
            match self.swap(word, next) {
                Ok(()) => return next,
                Err(seen) => word = seen,
            }
        }
    }
}

fn seconds(time: Duration) -> u32 {
    time.as_secs().min(u64::from(u32::MAX)) as u32
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("in_flight", &self.in_flight())
            .field("limit", &self.limit())
            .finish_non_exhaustive()
    }
}
