//! Slots handed out in fair order: the core behind a lock that is only taken when somebody waits.

mod acquire;
mod charge;
mod common;
mod hand_over;
mod line;
mod slot;
mod wait;
mod waiter;
mod word;

use std::fmt;
use std::time::Duration;

pub use acquire::Acquire;
pub use slot::Slot;

use crate::bug::{Bug, seeded};
use crate::index::Signpost;
use crate::queue::Queue;
use crate::settings::{Class, Settings, SettingsError, check_limit};
use crate::snapshot::Snapshot;
use crate::sync::{Arc, AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use crate::work::{Refused, Work};
use charge::Charge;
use common::{Common, Handles};
use line::{Calls, Line};
use word::Word;

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
    shared: Common,
    _handles: Arc<Handles>,
}

struct Shared {
    word: Word,
    inflight: Box<[Count]>,
    max_cost: u64,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    /// To the flows in line.
    signpost: Signpost,
    line: Mutex<Line>,
}

/// Slots out per class, each on its own cache line.
#[repr(align(64))]
struct Count(AtomicUsize);

impl FairQueue {
    /// A queue by these settings, on this clock. The clock is read when somebody has to wait, when a
    /// slot is handed over, and for work with a deadline. One that panics costs the slot that was to be handed over.
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
            signpost: queue.flows.signpost(),
            line: Mutex::new(Line { queue }),
        };
        let shared = Common::new(shared);
        let _handles = Arc::new(Handles(shared.clone()));
        Ok(Self { shared, _handles })
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
            self.shared.begins(work.class);
            return Ok(Slot::new(self.shared.clone(), Charge::of(&work)));
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
            self.shared.fill(&mut line, now, &mut calls);
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
        self.shared.unmark_if_empty(&line);
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
            self.shared.unmark_if_empty(&line);
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

    /// Whether anybody waits for one.
    pub fn is_awaited(&self) -> bool {
        self.shared.word.is_queued()
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

    /// How a model sees when all is freed.
    #[cfg(loom)]
    pub(crate) fn life(&self) -> std::sync::Arc<common::life::Life> {
        self.shared.life.clone()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.shared.line()
    }

    fn now(&self) -> Duration {
        (self.shared.clock)()
    }

    #[inline]
    fn now_or(&self, known: Option<Duration>) -> Duration {
        self.shared.now_or(known)
    }
}

impl Shared {
    #[inline]
    fn begins(&self, class: Class) {
        self.inflight[class.index()]
            .0
            .fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn ends(&self, class: Class) {
        self.inflight[class.index()]
            .0
            .fetch_sub(1, Ordering::Relaxed);
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        lock(&self.line)
    }

    #[inline]
    fn now_or(&self, known: Option<Duration>) -> Duration {
        known.unwrap_or_else(|| (self.clock)())
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
