//! One worker's life, and one unit's life within it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};

use super::{Inner, Job, Work};
use crate::queue::Refused;
use crate::reject::Reject;
use crate::watchdog::Relief;

/// Takes units and runs them, many at once, until none can come any more.
pub(super) async fn live<W: Work>(inner: Arc<Inner<W>>, index: usize) {
    let mut running = FuturesUnordered::new();
    let mut more = true;
    let ordered = inner.ordered(index);
    tokio::pin!(ordered);
    while more || !running.is_empty() {
        tokio::select! {
            biased;
            () = &mut ordered => ordered.set(inner.ordered(index)),
            Some(()) = running.next() => {}
            job = inner.next_job(), if more && running.len() < inner.size.units_per_worker => match job {
                Some(job) => running.push(perform(inner.clone(), job)),
                None => more = false,
            },
        }
    }
}

async fn perform<W: Work>(inner: Arc<Inner<W>>, job: Job<W>) {
    let unit = job.unit.clone();
    let mut held = Held {
        inner: inner.clone(),
        job: Some(job),
    };
    let work = AssertUnwindSafe(async { inner.work.perform(unit).await }).catch_unwind();
    let done = match &mut held.job {
        Some(job) => tokio::select! {
            biased;
            () = job.reply.closed() => None,
            done = work => Some(done),
        },
        None => None,
    };
    held.answer(done);
}

/// A unit in a worker's hands. Dropped unfinished, it goes back to the queue or its caller is told.
struct Held<W: Work> {
    inner: Arc<Inner<W>>,
    job: Option<Job<W>>,
}

impl<W: Work> Held<W> {
    fn answer(&mut self, done: Option<std::thread::Result<W::Answer>>) {
        let fates = &self.inner.fates;
        let Some(job) = self.job.take() else { return };
        let (fate, answer) = match done {
            Some(Ok(answer)) => (&fates.done, Ok(answer)),
            // A unit that panics is not repeated: it would take the next worker's time as well.
            Some(Err(_panic)) => (&fates.panicked, Err(Reject::Degraded)),
            None => (&fates.abandoned, Err(Reject::Canceled)),
        };
        fate.inc();
        let _caller_gone = job.reply.send(answer).is_err();
    }
}

impl<W: Work> Drop for Held<W> {
    fn drop(&mut self) {
        let Some(mut job) = self.job.take() else {
            return;
        };
        let again = job.repeatable && !job.repeated && !self.inner.ending.load(Ordering::Acquire);
        if !again {
            return self.inner.lose(job);
        }
        job.repeated = true;
        match self.inner.put_back.try_send(job) {
            Ok(()) => {
                self.inner.fates.requeued.inc();
            }
            Err(Refused::Busy(job) | Refused::Closed(job)) => self.inner.lose(job),
        }
    }
}

impl<W: Work> Inner<W> {
    /// The next unit, those of dead workers first; `None` once no fresh ones can come.
    async fn next_job(&self) -> Option<Job<W>> {
        tokio::select! {
            biased;
            Some(job) = self.again.recv() => Some(job),
            job = self.fresh.recv() => job,
        }
    }

    /// The unit for which a worker was woken that does not come is anybody's.
    pub(super) fn relief(self: &Arc<Self>) -> Relief {
        let inner = Arc::downgrade(self);
        Arc::new(move || {
            if let Some(inner) = inner.upgrade() {
                inner.again.nudge();
                inner.fresh.nudge();
            }
        })
    }

    fn lose(&self, job: Job<W>) {
        self.fates.lost.inc();
        let _caller_gone = job.reply.send(Err(Reject::Degraded)).is_err();
    }

    /// Tells the callers of units that nobody is left to run.
    pub(super) fn give_up_what_is_left(&self) {
        while let Some(job) = self.again.try_recv().or_else(|| self.fresh.try_recv()) {
            self.lose(job);
        }
    }

    /// Waits for an order from a test, and carries it out.
    #[cfg(feature = "chaos")]
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread that is held up is what the order asks for"
    )]
    async fn ordered(&self, index: usize) {
        match self.kill.of(index).await {
            super::chaos::Order::Die => panic!("worker {index} was killed"),
            super::chaos::Order::Stall(time) => std::thread::sleep(time),
        }
    }

    #[cfg(not(feature = "chaos"))]
    async fn ordered(&self, _index: usize) {
        std::future::pending().await
    }
}
