//! Tasks by kind: owned by a group, counted exactly, ended together.
//!
//! At any moment `spawned = completed + canceled + aborted + live` for each kind; at exit `live` is zero.
//! A task that finishes on its first poll costs two additions and nothing else; one that waits
//! parks its waker at its desk, so that the group can end it without a list of handles.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

use crate::lock::{self, Lock};
use crate::metrics::{Kind, MetricSpec, Registry, Sampling};

use books::{Fate, Published};
use desk::{Desk, Owner};
pub use ledger::{Entries, ledger};
use parked::Place;

mod births;
mod books;
mod desk;
mod ledger;
mod parked;
mod seat;

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

/// Bytes of work up to which it lies in the runtime's own cell. The runtime moves all of a cell when the task begins,
/// ends and is joined; what is larger is cheaper behind a pointer.
const INLINE: usize = 128;

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
    kinds: Arc<Lock<Kinds>>,
}

/// What a group has asked for so far.
struct Kinds {
    /// Where the desks of later kinds begin.
    state: u8,
    spawners: Vec<(&'static TaskKind, Spawner)>,
}

impl Kinds {
    fn desks(&self) -> impl Iterator<Item = &'static Desk> {
        self.spawners.iter().map(|(_, spawner)| spawner.desk)
    }
}

impl TaskGroup {
    /// An empty group whose tasks count in `registry`.
    pub fn new(registry: &Registry) -> Self {
        let kinds = Kinds {
            state: RUNNING,
            spawners: Vec::new(),
        };
        Self {
            registry: registry.clone(),
            kinds: Arc::new(Lock::new(&lock::TASK_KINDS, kinds)),
        }
    }

    /// A spawner for one kind of task. Resolve once and hold: this takes a lock.
    pub fn kind(&self, kind: &'static TaskKind) -> Spawner {
        let mut kinds = self.kinds.lock();
        let known = kinds
            .spawners
            .iter()
            .find(|(known, _)| known.name == kind.name);
        if let Some((_, spawner)) = known {
            return spawner.clone();
        }
        let owner = Owner::new(kinds.state, Published::new(&self.registry, kind));
        let sampled = Arc::downgrade(&owner.account);
        self.registry.sampled(move || match sampled.upgrade() {
            Some(account) => {
                account.publish();
                Sampling::Continue
            }
            None => Sampling::Over,
        });
        let spawner = Spawner {
            desk: owner.account.desk,
            _owner: Arc::new(owner),
        };
        kinds.spawners.push((kind, spawner.clone()));
        spawner
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
        let live = |desk: &'static Desk| desk.books.live() as usize;
        self.kinds.lock().desks().map(live).sum()
    }

    /// Waits until no task is left. Level-triggered: returns at once when there is none.
    pub async fn idle(&self) {
        while let Some(busy) = self.busy() {
            busy.empty().await;
        }
    }

    fn busy(&self) -> Option<&'static Desk> {
        self.kinds.lock().desks().find(|desk| desk.books.live() > 0)
    }

    /// Gives up on tasks that do not yield to an abort (they block their thread): counts them as aborted.
    /// Returns how many there were.
    pub fn write_off(&self) -> usize {
        self.raise(ABORTING);
        let desks: Vec<&'static Desk> = self.kinds.lock().desks().collect();
        desks.iter().map(|desk| desk.write_off() as usize).sum()
    }

    fn end(&self, state: u8) {
        for desk in self.raise(state) {
            desk.parked.wake_all();
        }
    }

    /// The desks to wake, when they were not in this state or a later one already.
    fn raise(&self, state: u8) -> Vec<&'static Desk> {
        let mut kinds = self.kinds.lock();
        if kinds.state >= state {
            return Vec::new();
        }
        kinds.state = state;
        kinds.desks().inspect(|desk| desk.raise(state)).collect()
    }
}

/// Spawns tasks of one kind into one group.
#[derive(Clone)]
pub struct Spawner {
    desk: &'static Desk,
    _owner: Arc<Owner>,
}

impl Spawner {
    /// Spawns `work`. The handle may be dropped: the group keeps the task.
    pub fn spawn<F>(&self, work: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.desk.books.spawn();
        let entry = Entry {
            desk: self.desk,
            place: Place::NONE,
            progress: Progress::Pending,
        };
        let counted = Counted { work, entry };
        #[expect(
            clippy::disallowed_methods,
            reason = "the one spawn that all others go through"
        )]
        let handle = if size_of::<F>() > INLINE {
            tokio::spawn(Box::pin(counted))
        } else {
            tokio::spawn(counted)
        };
        Task { handle }
    }
}

/// A running task's handle; dropping it detaches from the result, not from the group.
#[derive(Debug)]
pub struct Task<T> {
    handle: JoinHandle<Option<T>>,
}

impl<T> Task<T> {
    /// Whether it has ended, in whatever way.
    pub fn is_over(&self) -> bool {
        self.handle.is_finished()
    }

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

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !this.entry.desk.running() {
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
    desk: &'static Desk,
    place: Place,
    progress: Progress,
}

impl Entry {
    #[inline(always)]
    fn park(&mut self, cx: &Context<'_>) {
        if self.place != Place::NONE {
            return; // A task's waker wakes the task whatever poll it was taken in.
        }
        self.place = self.desk.parked.insert(cx.waker().clone());
        // The group may have ended between the check before the poll and the insertion.
        if !self.desk.running() {
            cx.waker().wake_by_ref();
        }
    }

    #[inline]
    fn fate(&self) -> Fate {
        match self.progress {
            Progress::Done => Fate::Completed,
            Progress::Polled => {
                // The runtime drops a task that panicked after having caught it.
                self.desk.books.panicked();
                Fate::Completed
            }
            Progress::Pending if self.desk.aborting() => Fate::Aborted,
            Progress::Pending => Fate::Canceled,
        }
    }
}

impl Drop for Entry {
    #[inline(always)]
    fn drop(&mut self) {
        let fate = self.fate();
        if self.place != Place::NONE {
            self.desk.parked.remove(self.place);
        }
        self.desk.end(fate);
    }
}

#[cfg(test)]
mod tests;
