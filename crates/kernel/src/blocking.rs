//! Blocking work (files, hashing, compression) off the runtime: bounded in threads and in waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bounded_ring::Slots;

use crate::limits;
use crate::metrics::{Counter, Gauge, Kind, MetricSpec, Registry};
use crate::reject::Reject;

/// Jobs in the pool.
pub static IN_USE: MetricSpec = MetricSpec {
    name: "blocking_jobs",
    kind: Kind::Gauge,
    labels: &[],
    help: "Blocking jobs running or waiting for a thread",
};
/// Jobs refused.
pub static REFUSED: MetricSpec = MetricSpec {
    name: "blocking_refused_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Blocking jobs refused because too many were waiting",
};

/// The way to the blocking threads; clones share the bounds.
#[derive(Clone)]
pub struct Blocking {
    shared: Arc<Shared>,
}

struct Shared {
    threads: Slots,
    admitted: AtomicUsize,
    jobs: Gauge,
    refused: Counter,
}

impl Blocking {
    /// A pool of [`limits::BLOCKING_THREADS`] with room for [`limits::BLOCKING_QUEUE`] to wait.
    pub fn new(registry: &Registry) -> Self {
        let threads = Slots::new(limits::BLOCKING_THREADS);
        let (jobs, refused) = (
            registry.gauge(&IN_USE, &[]),
            registry.counter(&REFUSED, &[]),
        );
        Self {
            shared: Arc::new(Shared {
                threads,
                admitted: AtomicUsize::new(0),
                jobs,
                refused,
            }),
        }
    }

    /// Runs `job` on a blocking thread. `Busy` at once when too many wait; `Degraded` when it panics.
    ///
    /// A caller that goes away while waiting frees its place; a job that has begun runs to its end.
    pub async fn run<T, F>(&self, job: F) -> Result<T, Reject>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let admitted = Admitted::new(&self.shared)?;
        let permit = self
            .shared
            .threads
            .acquire()
            .await
            .ok_or(Reject::Canceled)?;
        // Threads of their own would end in an order that no seed decides.
        #[cfg(feature = "simulation")]
        if crate::net::is_simulated() {
            let _held = (permit, admitted);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
            return done.map_err(|_| Reject::Degraded);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the one bounded way to blocking threads"
        )]
        let done = tokio::task::spawn_blocking(move || {
            let _held = (permit, admitted);
            job()
        });
        done.await.map_err(|error| {
            if error.is_panic() {
                Reject::Degraded
            } else {
                Reject::Canceled
            }
        })
    }
}

/// A place among the jobs; given back when dropped.
struct Admitted(Arc<Shared>);

impl Admitted {
    fn new(shared: &Arc<Shared>) -> Result<Self, Reject> {
        let most = limits::BLOCKING_THREADS + limits::BLOCKING_QUEUE;
        let took = shared
            .admitted
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |jobs| {
                (jobs < most).then_some(jobs + 1)
            });
        if took.is_err() {
            shared.refused.inc();
            return Err(Reject::Busy);
        }
        shared.jobs.inc();
        Ok(Self(shared.clone()))
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.admitted.fetch_sub(1, Ordering::AcqRel);
        self.0.jobs.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    // req: KN-16
    #[tokio::test]
    async fn never_more_than_the_bound_run_or_wait_and_the_runtime_keeps_turning() {
        let blocking = Blocking::new(&Registry::default());
        #[expect(
            clippy::disallowed_methods,
            reason = "a plain gate for blocking threads in a test"
        )]
        let (release, gate) = mpsc::sync_channel::<()>(0);
        let gate = Arc::new(parking_lot::Mutex::new(gate));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let places = limits::BLOCKING_THREADS + limits::BLOCKING_QUEUE;
        let job = || {
            let (gate, running, most) = (gate.clone(), running.clone(), most.clone());
            blocking.run(move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let _closed = gate.lock().recv();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        };
        let jobs = join_all((0..places).map(|_| job()));
        tokio::pin!(jobs);
        // The jobs are stuck, yet this timer fires: nothing blocks the runtime.
        assert!(
            tokio::time::timeout(Duration::from_millis(50), &mut jobs)
                .await
                .is_err()
        );
        assert_eq!(job().await, Err(Reject::Busy));
        drop(release);
        assert!(jobs.await.into_iter().all(|done| done.is_ok()));
        assert_eq!(most.load(Ordering::SeqCst), limits::BLOCKING_THREADS);
    }

    // req: KN-16
    #[tokio::test]
    async fn a_job_that_panics_gives_its_place_back() {
        let registry = Registry::default();
        let blocking = Blocking::new(&registry);
        for _ in 0..200 {
            assert_eq!(
                blocking.run(|| panic!("job")).await,
                Err::<(), _>(Reject::Degraded)
            );
        }
        assert_eq!(registry.gauge(&IN_USE, &[]).get(), 0);
    }
}
