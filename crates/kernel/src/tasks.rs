//! Tasks by kind: owned by a group, counted exactly, ended together.
//!
//! At any moment `spawned = completed + canceled + aborted + live` for each kind; at exit `live` is zero.
//! A task that finishes on its first poll costs two additions and nothing else; one that waits
//! parks its waker in the group, so that the group can end it without a list of handles.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};

use tokio::sync::Notify;
use tokio::task::{JoinError, JoinHandle};

use crate::lock::{self, Lock};
use crate::metrics::{Kind, MetricSpec, Registry, Sampling};

use books::{Books, Fate, Published};
pub use ledger::{Entries, ledger};
use parked::{Parked, Place};

mod books;
mod ledger;
mod parked;

/// What a task is for; every spawn names one.
#[derive(Debug)]
pub struct TaskKind {
    /// Label value and documentation key.
    pub name: &'static str,
    /// One line for people.
    pub doc: &'static str,
}

macro_rules! task_counter {
    ($id:ident, $name:literal, $help:literal) => {
        #[doc = $help]
        pub static $id: MetricSpec = MetricSpec {
            name: $name,
            kind: Kind::Counter,
            labels: &["kind"],
            help: $help,
        };
    };
}
task_counter!(SPAWNED, "tasks_spawned_total", "Tasks spawned");
task_counter!(
    COMPLETED,
    "tasks_completed_total",
    "Tasks that ended by themselves, panics included"
);
task_counter!(
    CANCELED,
    "tasks_canceled_total",
    "Tasks ended because their owner went away"
);
task_counter!(
    ABORTED,
    "tasks_aborted_total",
    "Tasks ended by force at a drain deadline or a second signal"
);
task_counter!(
    PANICKED,
    "tasks_panicked_total",
    "Tasks among the completed ones that panicked"
);

const RUNNING: u8 = 0;
const CANCELING: u8 = 1;
const ABORTING: u8 = 2;

/// How a task ended, seen by who joins it.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended<T> {
    /// It returned this.
    Completed(T),
    /// It panicked with this message.
    Panicked(String),
    /// Its group ended it, or the runtime went away.
    Stopped,
}

/// A set of tasks with one owner; ends as a whole.
#[derive(Clone)]
pub struct TaskGroup {
    registry: Registry,
    core: Arc<Core>,
    kinds: Arc<Lock<Vec<Arc<KindShare>>>>,
}

/// What a group's tasks look at.
struct Core {
    state: AtomicU8,
    parked: Parked,
    /// Whether anybody ever waited for the group to be idle: until then no end needs to call.
    awaited: AtomicBool,
    /// Notified when some kind of this group falls to zero live tasks.
    emptied: Notify,
}

/// One kind's part of one group.
struct KindShare {
    kind: &'static TaskKind,
    core: Arc<Core>,
    books: Books,
    published: Published,
}

impl KindShare {
    fn publish(&self) {
        self.published.publish(&self.books);
    }
}

impl Drop for KindShare {
    fn drop(&mut self) {
        self.publish();
    }
}

impl TaskGroup {
    /// An empty group whose tasks count in `registry`.
    pub fn new(registry: &Registry) -> Self {
        let core = Core {
            state: AtomicU8::new(RUNNING),
            parked: Parked::default(),
            awaited: AtomicBool::new(false),
            emptied: Notify::new(),
        };
        Self {
            registry: registry.clone(),
            core: Arc::new(core),
            kinds: Arc::new(Lock::new(&lock::TASK_KINDS, Vec::new())),
        }
    }

    /// A spawner for one kind of task. Resolve once and hold: this takes a lock.
    pub fn kind(&self, kind: &'static TaskKind) -> Spawner {
        let mut kinds = self.kinds.lock();
        if let Some(known) = kinds.iter().find(|share| share.kind.name == kind.name) {
            return Spawner {
                share: known.clone(),
            };
        }
        let share = Arc::new(KindShare {
            kind,
            core: self.core.clone(),
            books: Books::default(),
            published: Published::new(&self.registry, kind),
        });
        let sampled = Arc::downgrade(&share);
        self.registry.sampled(move || match sampled.upgrade() {
            Some(share) => {
                share.publish();
                Sampling::Continue
            }
            None => Sampling::Over,
        });
        kinds.push(share.clone());
        Spawner { share }
    }

    /// Ends every task at its next wake-up, and every later one at its first poll; counted as canceled.
    pub fn cancel(&self) {
        self.end(CANCELING);
    }

    /// As [`TaskGroup::cancel`], but counted as aborted.
    pub fn abort(&self) {
        self.end(ABORTING);
    }

    /// Tasks that have not ended yet.
    pub fn live(&self) -> usize {
        let live = |share: &Arc<KindShare>| share.books.live() as usize;
        self.kinds.lock().iter().map(live).sum()
    }

    /// Waits until no task is left. Level-triggered: returns at once when there is none.
    pub async fn idle(&self) {
        loop {
            let emptied = self.core.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            // Said before looking; who ends looks after having ended: one of the two sees the other.
            self.core.awaited.store(true, Ordering::SeqCst);
            if self.live() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Gives up on tasks that do not yield to an abort (they block their thread): counts them as aborted.
    /// Returns how many there were.
    pub fn write_off(&self) -> usize {
        self.core.state.fetch_max(ABORTING, Ordering::AcqRel);
        let left = |share: &Arc<KindShare>| share.books.write_off() as usize;
        let left = self.kinds.lock().iter().map(left).sum();
        self.core.emptied.notify_waiters();
        left
    }

    fn end(&self, state: u8) {
        let raised = self.core.state.fetch_max(state, Ordering::AcqRel);
        if raised >= state {
            return;
        }
        self.core.parked.wake_all();
    }
}

impl Core {
    #[inline]
    fn running(&self) -> bool {
        self.state.load(Ordering::Acquire) == RUNNING
    }
}

/// Spawns tasks of one kind into one group.
#[derive(Clone)]
pub struct Spawner {
    share: Arc<KindShare>,
}

impl Spawner {
    /// Spawns `work`. The handle may be dropped: the group keeps the task.
    pub fn spawn<F>(&self, work: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.share.books.spawn();
        let entry = Entry {
            share: self.share.clone(),
            place: Place::NONE,
            progress: Progress::Pending,
        };
        let counted = Counted { work, entry };
        #[expect(
            clippy::disallowed_methods,
            reason = "the one spawn that all others go through"
        )]
        let handle = tokio::spawn(counted);
        Task { handle }
    }
}

/// A running task's handle; dropping it detaches from the result, not from the group.
#[derive(Debug)]
pub struct Task<T> {
    handle: JoinHandle<Option<T>>,
}

impl<T> Task<T> {
    /// Waits for the end.
    pub fn join(self) -> impl Future<Output = Ended<T>> {
        self
    }
}

impl<T> Future for Task<T> {
    type Output = Ended<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<T>> {
        Pin::new(&mut self.handle)
            .poll(cx)
            .map(|joined| match joined {
                Ok(Some(value)) => Ended::Completed(value),
                Ok(None) => Ended::Stopped,
                Err(error) => died(error),
            })
    }
}

#[cold]
fn died<T>(error: JoinError) -> Ended<T> {
    match error.try_into_panic() {
        Ok(payload) => Ended::Panicked(panic_message(&*payload)),
        Err(_) => Ended::Stopped,
    }
}

/// The text of a panic, for logs and events.
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panic without a message").to_owned()
}

pin_project_lite::pin_project! {
    struct Counted<F> {
        // Declared first, so dropped first: when the entry counts the end, nothing of the task is left.
        #[pin]
        work: F,
        entry: Entry,
    }
}

impl<F: Future> Future for Counted<F> {
    type Output = Option<F::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !this.entry.share.core.running() {
            return Poll::Ready(None);
        }
        this.entry.progress = Progress::Polled;
        match this.work.poll(cx) {
            Poll::Ready(value) => {
                this.entry.progress = Progress::Done;
                Poll::Ready(Some(value))
            }
            Poll::Pending => {
                this.entry.progress = Progress::Pending;
                this.entry.park(cx);
                Poll::Pending
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Progress {
    Pending,
    /// Being polled; still so when dropped if the poll unwound.
    Polled,
    Done,
}

/// A task's line in the books; ends with the task, however that ends.
struct Entry {
    share: Arc<KindShare>,
    place: Place,
    progress: Progress,
}

impl Entry {
    fn park(&mut self, cx: &Context<'_>) {
        if self.place != Place::NONE {
            return; // A task's waker wakes the task whatever poll it was taken in.
        }
        let core = &self.share.core;
        self.place = core.parked.insert(cx.waker().clone());
        // The group may have ended between the check before the poll and the insertion.
        if !core.running() {
            cx.waker().wake_by_ref();
        }
    }

    #[inline]
    fn fate(&self) -> Fate {
        let KindShare { core, books, .. } = &*self.share;
        match self.progress {
            Progress::Done => Fate::Completed,
            Progress::Polled => {
                // The runtime drops a task that panicked after having caught it.
                books.panicked();
                Fate::Completed
            }
            Progress::Pending if core.state.load(Ordering::Acquire) == ABORTING => Fate::Aborted,
            Progress::Pending => Fate::Canceled,
        }
    }
}

impl Drop for Entry {
    #[inline]
    fn drop(&mut self) {
        let fate = self.fate();
        let KindShare { core, books, .. } = &*self.share;
        if self.place != Place::NONE {
            core.parked.remove(self.place);
        }
        if books.end(fate) && core.awaited.load(Ordering::SeqCst) && books.live() == 0 {
            core.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
