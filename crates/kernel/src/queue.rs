//! Bounded queues made from a registered spec: the only way to get a channel in this workspace.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bounded_ring::{Coalesce, DropOldest, PushError, Pushed, RejectNew};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::coop::cooperative;

use crate::lock::{self, Lock};
use crate::metrics::{Counter, Kind, MetricSpec, Registry, Sampling};

/// What a queue is; every queue has one, and the reference page lists them all.
#[derive(Debug)]
pub struct QueueSpec {
    /// Label value and documentation key.
    pub name: &'static str,
    /// Items it holds at most.
    pub capacity: usize,
    /// What happens to an item that does not fit.
    pub on_full: OnFull,
    /// Who puts in, who takes out.
    pub doc: &'static str,
}

/// What a full queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// The newcomer is refused at once.
    RejectNew,
    /// The oldest item makes room and is counted.
    DropOldest,
    /// A pending item is replaced by the newcomer: only the newest matters.
    Coalesce,
    /// A single cell that readers look at; see [`latest`].
    LastWriteWins,
}

impl OnFull {
    /// The words used in documentation.
    pub fn words(self) -> &'static str {
        match self {
            OnFull::RejectNew => "reject new",
            OnFull::DropOldest => "drop oldest",
            OnFull::Coalesce => "coalesce to newest",
            OnFull::LastWriteWins => "last write wins",
        }
    }
}

/// Items waiting, by queue.
pub static DEPTH: MetricSpec = MetricSpec {
    name: "queue_depth",
    kind: Kind::Gauge,
    labels: &["queue"],
    help: "Items waiting in a queue, sampled when scraped",
};
/// Items shed, by queue.
pub static DROPPED: MetricSpec = MetricSpec {
    name: "queue_dropped_total",
    kind: Kind::Counter,
    labels: &["queue"],
    help: "Accepted items that were dropped to make room",
};
/// Items refused, by queue.
pub static REFUSED: MetricSpec = MetricSpec {
    name: "queue_refused_total",
    kind: Kind::Counter,
    labels: &["queue"],
    help: "Newcomers that were refused because the queue was full",
};
/// Items replaced, by queue.
pub static COALESCED: MetricSpec = MetricSpec {
    name: "queue_coalesced_total",
    kind: Kind::Counter,
    labels: &["queue"],
    help: "Pending items that a newer one replaced",
};

/// The queues of one node: where their gauges are sampled and their state is read.
#[derive(Clone)]
pub struct Queues {
    registry: Registry,
    live: Arc<Lock<Vec<Weak<dyn Observed>>>>,
}

/// One queue's state, for status pages.
#[derive(Clone, Debug, Serialize)]
pub struct QueueStatus {
    /// Its name.
    pub name: &'static str,
    /// Items waiting.
    pub depth: usize,
    /// Items it holds at most.
    pub capacity: usize,
    /// Items dropped so far.
    pub dropped: u64,
    /// Newcomers refused so far.
    pub refused: u64,
}

trait Observed: Send + Sync {
    fn status(&self) -> QueueStatus;
}

impl Queues {
    /// No queues yet.
    pub fn new(registry: &Registry) -> Self {
        Self {
            registry: registry.clone(),
            live: Arc::new(Lock::new(&lock::QUEUES, Vec::new())),
        }
    }

    /// The state of every live queue, by name.
    pub fn status(&self) -> Vec<QueueStatus> {
        let mut live = self.live.lock();
        live.retain(|queue| queue.strong_count() > 0);
        let mut all: Vec<_> = live
            .iter()
            .filter_map(Weak::upgrade)
            .map(|queue| queue.status())
            .collect();
        all.sort_by_key(|status| status.name);
        all
    }

    fn observe(&self, name: &'static str, queue: Weak<dyn Observed>) {
        let gauge = self.registry.gauge(&DEPTH, &[name]);
        self.live.lock().push(queue.clone());
        self.registry.sampled(move || match queue.upgrade() {
            Some(queue) => {
                gauge.set(queue.status().depth as i64);
                Sampling::Continue
            }
            None => {
                gauge.set(0);
                Sampling::Over
            }
        });
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "one per queue, made once, behind an Arc"
)]
enum Ring<T> {
    RejectNew(RejectNew<T>),
    DropOldest(DropOldest<T>),
    Coalesce(Coalesce<(), T>),
}

struct Shared<T> {
    spec: &'static QueueSpec,
    ring: Ring<T>,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    dropped: Counter,
    refused: Counter,
    coalesced: Counter,
}

impl<T: Send> Observed for Shared<T> {
    fn status(&self) -> QueueStatus {
        QueueStatus {
            name: self.spec.name,
            depth: self.len(),
            capacity: self.spec.capacity,
            dropped: self.dropped.get(),
            refused: self.refused.get(),
        }
    }
}

/// Why an item did not go in; the item comes back.
#[derive(PartialEq, Eq)]
pub enum Refused<T> {
    /// The queue is full.
    Busy(T),
    /// Nobody takes from it any more.
    Closed(T),
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Busy(_) => "Busy",
            Refused::Closed(_) => "Closed",
        })
    }
}

/// Makes the queue of `spec`.
///
/// # Panics
/// If `spec` is a last-write-wins cell: that is made by [`latest`].
pub fn bounded<T: Send + 'static>(
    spec: &'static QueueSpec,
    queues: &Queues,
) -> (Sender<T>, Receiver<T>) {
    let ring = match spec.on_full {
        OnFull::RejectNew => Ring::RejectNew(RejectNew::new(spec.capacity)),
        OnFull::DropOldest => Ring::DropOldest(DropOldest::new(spec.capacity)),
        OnFull::Coalesce => Ring::Coalesce(Coalesce::new(spec.capacity)),
        OnFull::LastWriteWins => panic!("{} is a cell; make it with queue::latest", spec.name),
    };
    let counter = |metric| queues.registry.counter(metric, &[spec.name]);
    let shared = Arc::new(Shared {
        spec,
        ring,
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
        dropped: counter(&DROPPED),
        refused: counter(&REFUSED),
        coalesced: counter(&COALESCED),
    });
    let observed: Weak<dyn Observed> = Arc::<Shared<T>>::downgrade(&shared);
    queues.observe(spec.name, observed);
    (
        Sender {
            shared: shared.clone(),
        },
        Receiver { shared },
    )
}

/// Makes the last-write-wins cell of `spec`.
///
/// # Panics
/// If `spec` is a queue.
pub fn latest<T>(spec: &'static QueueSpec, initial: T) -> (watch::Sender<T>, watch::Receiver<T>) {
    assert_eq!(
        spec.on_full,
        OnFull::LastWriteWins,
        "{} is a queue; make it with queue::bounded",
        spec.name
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "the one constructor of last-write-wins cells"
    )]
    watch::channel(initial)
}

impl<T> Shared<T> {
    fn len(&self) -> usize {
        match &self.ring {
            Ring::RejectNew(ring) => ring.len(),
            Ring::DropOldest(ring) => ring.len(),
            Ring::Coalesce(ring) => ring.len(),
        }
    }

    fn close(&self) {
        match &self.ring {
            Ring::RejectNew(ring) => ring.close(),
            Ring::DropOldest(ring) => ring.close(),
            Ring::Coalesce(ring) => ring.close(),
        }
    }
}

/// The putting end; clones put into the same queue. The queue closes when the last one is dropped.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Puts `item` in, or says at once why not. Never waits.
    pub fn try_send(&self, item: T) -> Result<(), Refused<T>> {
        let shared = &*self.shared;
        match &shared.ring {
            Ring::RejectNew(ring) => ring.try_push(item).map_err(|error| shared.refuse(error)),
            Ring::DropOldest(ring) => match ring.push(item) {
                Ok(None) => Ok(()),
                Ok(Some(_oldest)) => {
                    shared.dropped.inc();
                    Ok(())
                }
                Err(closed) => Err(Refused::Closed(closed.0)),
            },
            Ring::Coalesce(ring) => match ring.push((), item) {
                Ok(Pushed::Queued) => Ok(()),
                Ok(Pushed::Replaced(_older)) => {
                    shared.coalesced.inc();
                    Ok(())
                }
                Err(error) => Err(shared.refuse(error)),
            },
        }
    }

    /// Items waiting.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items it holds at most.
    pub fn capacity(&self) -> usize {
        self.shared.spec.capacity
    }

    /// Refuses everything from now on; what is inside is still taken out.
    pub fn close(&self) {
        self.shared.close();
    }
}

impl<T> Shared<T> {
    fn refuse(&self, error: PushError<T>) -> Refused<T> {
        match error {
            PushError::Full(item) => {
                self.refused.inc();
                Refused::Busy(item)
            }
            PushError::Closed(item) => Refused::Closed(item),
        }
    }
}

/// The taking end; clones take from the same queue, each item goes to one of them.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Receiver<T> {
    /// Takes the next item, waiting for one; `None` once the queue is closed and empty. Cancel-safe.
    pub async fn recv(&self) -> Option<T> {
        // The rings know no runtime; without its budget a receiver that never runs dry would never yield.
        match &self.shared.ring {
            Ring::RejectNew(ring) => cooperative(ring.pop()).await,
            Ring::DropOldest(ring) => cooperative(ring.pop()).await,
            Ring::Coalesce(ring) => cooperative(ring.pop()).await,
        }
    }

    /// Takes the next item if there is one.
    pub fn try_recv(&self) -> Option<T> {
        match &self.shared.ring {
            Ring::RejectNew(ring) => ring.try_pop(),
            Ring::DropOldest(ring) => ring.try_pop(),
            Ring::Coalesce(ring) => ring.try_pop(),
        }
    }

    /// Wakes one more receiver if something is inside: who was woken for it may be held up.
    pub(crate) fn nudge(&self) {
        match &self.shared.ring {
            Ring::RejectNew(ring) if !ring.is_empty() => ring.nudge(),
            Ring::DropOldest(ring) if !ring.is_empty() => ring.nudge(),
            Ring::Coalesce(ring) if !ring.is_empty() => ring.nudge(),
            _ => {}
        }
    }

    /// Refuses everything from now on; what is inside is still taken out.
    pub fn close(&self) {
        self.shared.close();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.close();
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.shared.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.close();
        }
    }
}

#[cfg(test)]
mod tests;
