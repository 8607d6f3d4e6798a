//! Slots handed out in fair order: the core behind a lock that is only taken when somebody waits.

mod acquire;
mod line;
mod slot;
mod word;

use std::fmt;
use std::task::Waker;
use std::time::Duration;

pub use acquire::Acquire;
pub use slot::Slot;

use crate::bug::{Bug, seeded};
use crate::queue::{Account, Queue};
use crate::settings::{Class, Settings, SettingsError, check_limit};
use crate::snapshot::Snapshot;
use crate::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use crate::work::{Refused, Work};
use line::{Answer, Calls, Left, Line, Ticket};
use word::{Entry, Word};

/// A fair queue in front of counted slots. Clones share it.
///
/// ```
/// use std::time::Duration;
/// use fair_queue::{Class, FairQueue, Refused, Settings, Work};
///
/// let settings = Settings { limit: 1, ..Settings::default() };
/// let queue = FairQueue::new(settings, || Duration::ZERO)?;
/// let work = Work::of(Class::AUTHED, 7);
/// let slot = queue.try_acquire(work)?;
/// assert_eq!(queue.try_acquire(work).unwrap_err(), Refused::Full);
/// drop(slot);
/// assert!(queue.try_acquire(work).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FairQueue {
    shared: Arc<Shared>,
}

struct Shared {
    word: Word,
    inflight: Box<[Count]>,
    max_cost: u64,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    line: Mutex<Line>,
}

/// Slots out per class, each on its own cache line.
#[repr(align(64))]
struct Count(AtomicUsize);

enum Entered {
    Taken(Slot),
    Waiting(Ticket),
    Refused(Refused),
}

impl FairQueue {
    /// A queue by these settings, on this clock. The clock is read when somebody has to wait, when a
    /// slot is handed over, and for work with a deadline.
    pub fn new(
        settings: Settings,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Result<Self, SettingsError> {
        let count = |_: usize| Count(AtomicUsize::new(0));
        let shared = Shared {
            word: Word::new(settings.limit),
            inflight: (0..settings.classes.len()).map(count).collect(),
            max_cost: settings.max_cost,
            clock: Box::new(clock),
            line: Mutex::new(Line::new(Queue::new(settings.clone())?, settings.max_items)),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Waits for a slot in fair order. Never begins at or after the work's deadline; whoever wants
    /// to hear of a passed deadline at once races this with a timer, or has
    /// [`expire`](Self::expire) called by one.
    #[inline]
    pub fn acquire(&self, work: Work) -> Acquire<'_> {
        Acquire::new(self, work)
    }

    /// A slot, if one is free and nobody waits; [`Refused::Full`] otherwise.
    #[inline]
    pub fn try_acquire(&self, work: Work) -> Result<Slot, Refused> {
        self.check(&work)?;
        if self.shared.word.take() {
            return Ok(Slot::new(self.clone(), Account::of(&work)));
        }
        match self.is_closed() {
            true => Err(Refused::Closed),
            false => Err(Refused::Full),
        }
    }

    /// Changes the number of slots. New ones are handed out at once; of fewer, those out stay out
    /// until they end, and none is handed over before the count is below the limit.
    pub fn resize(&self, limit: usize) -> Result<(), SettingsError> {
        check_limit(limit)?;
        let now = self.now();
        let mut line = self.line();
        self.shared.word.set_limit(limit);
        let mut calls = Calls::default();
        if !seeded(Bug::GrowSilently) {
            self.fill(&mut line, now, &mut calls);
        }
        drop(line);
        calls.ring();
        Ok(())
    }

    /// Changes a class's weight from its next turn on.
    pub fn set_class_weight(&self, class: Class, weight: u32) -> Result<(), SettingsError> {
        self.line().queue.set_class_weight(class, weight)
    }

    /// Changes the quantum from everybody's next turn on.
    pub fn set_quantum(&self, quantum: u64) -> Result<(), SettingsError> {
        self.line().queue.set_quantum(quantum)
    }

    /// Tells those whose deadline has passed, and says when the next one may.
    pub fn expire(&self) -> Option<Duration> {
        let now = self.now();
        let mut calls = Calls::default();
        let mut line = self.line();
        line.expire(now, &mut calls);
        self.unmark_if_empty(&line);
        let next = line.queue.next_deadline();
        drop(line);
        calls.ring();
        next
    }

    /// Refuses everybody from now on, those who wait too. Slots in use stay so until they end.
    pub fn close(&self) {
        let mut calls = Calls::default();
        let mut line = self.line();
        self.shared.word.close();
        if !seeded(Bug::CloseSilently) {
            line.refuse_all(Refused::Closed, &mut calls);
            self.unmark_if_empty(&line);
        }
        drop(line);
        calls.ring();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.shared.word.is_closed()
    }

    /// How many slots there are.
    pub fn limit(&self) -> usize {
        self.shared.word.limit()
    }

    /// How many slots are out.
    pub fn in_use(&self) -> usize {
        self.shared.word.in_use()
    }

    /// How many slots are out for work of this class.
    pub fn inflight(&self, class: Class) -> usize {
        let count = self.shared.inflight.get(class.index());
        count.map_or(0, |count| count.0.load(Ordering::Relaxed))
    }

    /// When work of this tenant that was refused now would have its turn, by the measured drain
    /// rate; `None` as long as nothing was measured. Jitter is the caller's.
    pub fn retry_after(&self, class: Class, tenant: u64) -> Option<Duration> {
        self.line().queue.retry_after(class, tenant)
    }

    /// Everything a console shows, with the `top` tenants that have most waiting. Holds the lock
    /// for a walk over the flows in play: not for the hot path.
    pub fn snapshot(&self, top: usize) -> Snapshot {
        let now = self.now();
        let mut snapshot = self.line().queue.snapshot(now, top);
        (snapshot.limit, snapshot.in_use) = (self.limit(), self.in_use());
        for (class, count) in snapshot.classes.iter_mut().zip(&self.shared.inflight) {
            class.inflight = count.0.load(Ordering::Relaxed);
        }
        snapshot
    }

    #[inline]
    fn check(&self, work: &Work) -> Result<(), Refused> {
        work.check(self.shared.inflight.len(), self.shared.max_cost, || {
            self.now()
        })
    }

    /// A slot, a refusal or a place in line.
    #[inline]
    fn enter(&self, work: &Work, waker: &Waker) -> Entered {
        if let Err(why) = self.check(work) {
            return Entered::Refused(why);
        }
        if self.shared.word.take() {
            return Entered::Taken(Slot::new(self.clone(), Account::of(work)));
        }
        self.queue_up(work, waker)
    }

    #[cold]
    fn queue_up(&self, work: &Work, waker: &Waker) -> Entered {
        // Read and cloned before the lock: both are somebody else's code.
        let (now, waker) = (self.now(), waker.clone());
        let mut calls = Calls::default();
        let mut line = self.line();
        let joined = match self.shared.word.take_or_queue() {
            Entry::Closed => Err(Refused::Closed),
            Entry::Taken => {
                drop(line);
                return Entered::Taken(Slot::new(self.clone(), Account::of(work)));
            }
            Entry::Queued => line.join(work, waker, now, &mut calls),
        };
        self.unmark_if_empty(&line);
        drop(line);
        calls.ring();
        match joined {
            Ok(ticket) => Entered::Waiting(ticket),
            Err(why) => Entered::Refused(why),
        }
    }

    /// The answer, or the ticket back, which then holds this waker.
    fn collect(&self, ticket: Ticket, waker: &Waker) -> Result<Answer, Ticket> {
        let ticket = match self.line().collect(ticket, waker) {
            Ok(answer) => return Ok(answer),
            Err((ticket, true)) => return Err(ticket),
            Err((ticket, false)) => ticket,
        };
        let mut newer = waker.clone();
        let collected = self.line().replace_waker(ticket, &mut newer);
        drop(newer);
        collected
    }

    fn leave(&self, ticket: Ticket) -> Left {
        let mut line = self.line();
        let left = line.leave(ticket);
        self.unmark_if_empty(&line);
        left
    }

    #[inline]
    fn begins(&self, class: Class) {
        self.shared.inflight[class.index()]
            .0
            .fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn ends(&self, class: Class) {
        self.shared.inflight[class.index()]
            .0
            .fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives a slot back or hands it over. Without anybody waiting nobody's share is at stake, and a
    /// settlement would change nothing.
    #[inline]
    fn release(&self, account: &Account, real_cost: Option<u64>) {
        if !self.shared.word.give_back() {
            self.hand_over(account, real_cost);
        }
    }

    #[cold]
    fn hand_over(&self, account: &Account, real_cost: Option<u64>) {
        let now = self.now();
        let mut calls = Calls::default();
        let mut line = self.line();
        if let Some(real_cost) = real_cost {
            line.queue.settle(*account, real_cost);
        }
        // From hand to hand: the count stays as it is.
        if self.shared.word.in_debt() || !line.grant_next(now, &mut calls) {
            self.shared.word.remove_one();
        }
        self.unmark_if_empty(&line);
        drop(line);
        calls.ring();
    }

    /// Grants as long as there are slots and waiters. Nobody else can take a slot meanwhile: the
    /// mark that somebody waits is taken away last.
    fn fill(&self, line: &mut MutexGuard<'_, Line>, now: Duration, calls: &mut Calls) {
        while !line.queue.is_empty() && self.shared.word.has_room() {
            if line.grant_next(now, calls) {
                self.shared.word.add_one();
            }
        }
        self.unmark_if_empty(line);
    }

    fn unmark_if_empty(&self, line: &MutexGuard<'_, Line>) {
        if line.queue.is_empty() && self.shared.word.is_queued() && !seeded(Bug::LeaveMark) {
            self.shared.word.unmark();
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        lock(&self.shared.line)
    }

    fn now(&self) -> Duration {
        (self.shared.clock)()
    }
}

impl fmt::Debug for FairQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairQueue")
            .field("in_use", &self.in_use())
            .field("limit", &self.limit())
            .field("closed", &self.is_closed())
            .finish()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
