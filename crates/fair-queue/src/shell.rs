//! Slots handed out in fair order: the core behind a lock that is only taken when somebody waits.

mod acquire;
mod line;
mod slot;
mod waiter;
mod word;

use std::fmt;
use std::pin::Pin;
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
use line::{Calls, Line};
use waiter::{Answer, Caller, Waiter};
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

/// No more than a word: larger results go through memory, which costs more than all the rest.
enum Entered {
    /// A slot is taken and counted.
    Taken,
    Waiting,
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
        let (limit, max_cost) = (settings.limit, settings.max_cost);
        let classes = settings.classes.len();
        let queue = Queue::new(settings)?;
        let shared = Shared {
            word: Word::new(limit),
            inflight: (0..classes).map(count).collect(),
            max_cost,
            clock: Box::new(clock),
            line: Mutex::new(Line { queue }),
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
        Acquire::new(self, work, None)
    }

    /// The same for who has read the clock a moment ago: it is not read again.
    #[inline]
    pub fn acquire_at(&self, work: Work, now: Duration) -> Acquire<'_> {
        Acquire::new(self, work, Some(now))
    }

    /// A slot, if one is free and nobody waits; [`Refused::Full`] otherwise.
    #[inline]
    pub fn try_acquire(&self, work: Work) -> Result<Slot, Refused> {
        self.check(&work, None)?;
        if self.shared.word.take() {
            self.begins(work.class);
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
    fn check(&self, work: &Work, now: Option<Duration>) -> Result<(), Refused> {
        work.check(self.shared.inflight.len(), self.shared.max_cost, || {
            self.now_or(now)
        })
    }

    /// A slot, a refusal or a place in line.
    #[inline]
    fn enter(
        &self,
        work: &Work,
        now: Option<Duration>,
        waiter: Pin<&mut Option<Waiter>>,
        waker: &Waker,
    ) -> Entered {
        if let Err(why) = self.check(work, now) {
            return Entered::Refused(why);
        }
        if self.shared.word.take() {
            self.begins(work.class);
            return Entered::Taken;
        }
        self.queue_up(work, now, waiter, waker)
    }

    #[cold]
    fn queue_up(
        &self,
        work: &Work,
        now: Option<Duration>,
        mut waiter: Pin<&mut Option<Waiter>>,
        waker: &Waker,
    ) -> Entered {
        // SAFETY: the waiter is made in its place.
        let place = unsafe { waiter.as_mut().get_unchecked_mut() };
        // Cloned and read before the lock: both are somebody else's code.
        let place = place.insert(Waiter::new(waker.clone()));
        let now = self.now_or(now);
        // SAFETY: it is pinned, and its owner leaves the line before it takes it away.
        let caller = unsafe { Caller::of(place) };
        let mut calls = Calls::default();
        let mut line = self.line();
        let entered = match self.shared.word.take_or_queue() {
            Entry::Closed => Entered::Refused(Refused::Closed),
            Entry::Taken => {
                self.begins(work.class);
                Entered::Taken
            }
            Entry::Queued => match line.join(work, caller, now, &mut calls) {
                Ok(()) => Entered::Waiting,
                Err(why) => Entered::Refused(why),
            },
        };
        self.unmark_if_empty(&line);
        drop(line);
        calls.ring();
        if !matches!(entered, Entered::Waiting) {
            waiter.set(None);
        }
        entered
    }

    /// Has a waiter woken by this waker from now on. What it was told meanwhile, if anything.
    ///
    /// # Safety
    /// The waiter was put in this queue's line and has not left it.
    #[cold]
    unsafe fn stay(&self, waiter: &Waiter, waker: &Waker) -> Option<Answer> {
        // SAFETY: it is in line, or nothing is done with it.
        let caller = unsafe { Caller::of(waiter) };
        let line = self.line();
        // SAFETY: the lock is held, and answers are given under it.
        if waiter.answer().is_some() || unsafe { caller.would_wake(waker) } {
            return waiter.answer();
        }
        drop(line);
        let mut newer = waker.clone();
        let line = self.line();
        let answer = waiter.answer();
        if answer.is_none() && !seeded(Bug::KeepOldWaker) {
            // SAFETY: as above.
            unsafe { caller.replace_waker(&mut newer) };
        }
        drop(line);
        drop(newer);
        answer
    }

    /// Takes a waiter out of the line, and says what it had been told by then.
    ///
    /// # Safety
    /// The waiter was put in this queue's line and has not left it.
    unsafe fn leave(&self, waiter: &Waiter) -> Option<Answer> {
        if let Some(answer) = waiter.answer() {
            return Some(answer);
        }
        // SAFETY: it is in line, or nothing is done with it.
        let caller = unsafe { Caller::of(waiter) };
        let mut line = self.line();
        if let Some(answer) = waiter.answer() {
            return Some(answer);
        }
        // SAFETY: answers are given under the lock, so it has none and is in line.
        let waker = unsafe { line.leave(caller) };
        self.unmark_if_empty(&line);
        drop(line);
        drop(waker);
        None
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
    fn release(&self, account: &Account, real_cost: u64, now: Option<Duration>) {
        if self.shared.word.give_back() {
            self.ends(account.class);
        } else {
            self.hand_over(account, real_cost, now);
        }
    }

    #[cold]
    fn hand_over(&self, account: &Account, real_cost: u64, now: Option<Duration>) {
        let now = self.now_or(now);
        let mut calls = Calls::default();
        let mut line = self.line();
        if real_cost != account.cost {
            line.queue.settle(*account, real_cost);
        }
        let granted = match self.shared.word.in_debt() {
            true => None,
            false => line.grant_next(now, &mut calls),
        };
        let next = granted.as_ref().map(|granted| granted.class);
        // From hand to hand, the counts stay as they are.
        if next != Some(account.class) {
            self.ends(account.class);
            match next {
                Some(class) => self.begins(class),
                None => self.shared.word.remove_one(),
            }
        }
        self.unmark_if_empty(&line);
        drop(line);
        if let Some(waker) = granted.and_then(|granted| granted.waker) {
            waker.wake();
        }
        calls.ring();
    }

    /// Grants as long as there are slots and waiters. Nobody else can take a slot meanwhile: the
    /// mark that somebody waits is taken away last.
    fn fill(&self, line: &mut MutexGuard<'_, Line>, now: Duration, calls: &mut Calls) {
        while !line.queue.is_empty() && self.shared.word.has_room() {
            if let Some(granted) = line.grant_next(now, calls) {
                self.shared.word.add_one();
                self.begins(granted.class);
                calls.add(granted.waker);
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

    #[inline]
    fn now_or(&self, known: Option<Duration>) -> Duration {
        known.unwrap_or_else(|| self.now())
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
