//! An endpoint's idle HTTP/1 connections: the last one put back is the first one taken.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use kernel::lock::Lock;
use tokio::time::Instant;

use crate::line::Line;
use crate::spec::PoolSpec;
use crate::tables;

/// Connections looked at in one hold of the lock.
const GLANCE: usize = 16;

pub(crate) struct Idle {
    rested: Lock<Vec<Rested>>,
    /// As many as are in there, to be read without the lock.
    count: AtomicUsize,
    kept_max: AtomicUsize,
    open_max: AtomicUsize,
    /// Connections of an earlier generation speak otherwise than the endpoint does now.
    generation: AtomicU32,
}

struct Rested {
    line: Box<Line>,
    since: Instant,
}

impl Idle {
    pub(crate) fn new(settings: &PoolSpec) -> Self {
        Self {
            rested: Lock::new(&tables::IDLE, Vec::new()),
            count: AtomicUsize::new(0),
            kept_max: AtomicUsize::new(settings.idle_per_endpoint),
            open_max: AtomicUsize::new(settings.max_connections.max(1)),
            generation: AtomicU32::new(0),
        }
    }

    pub(crate) fn adopt(&self, settings: &PoolSpec, other_wire: bool) {
        self.kept_max
            .store(settings.idle_per_endpoint, Ordering::Relaxed);
        self.open_max
            .store(settings.max_connections.max(1), Ordering::Relaxed);
        if other_wire {
            self.generation.fetch_add(1, Ordering::Relaxed);
            self.drain();
        }
    }

    /// Nothing is kept from now on.
    pub(crate) fn close(&self) {
        self.kept_max.store(0, Ordering::Relaxed);
        self.drain();
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    pub(crate) fn open_max(&self) -> usize {
        self.open_max.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// A connection that was well when last looked at, a moment ago.
    pub(crate) fn take(&self) -> Option<Box<Line>> {
        loop {
            let mut line = self.pop()?;
            if line.is_fit() {
                return Some(line);
            }
        }
    }

    fn pop(&self) -> Option<Box<Line>> {
        let mut rested = self.rested.lock();
        let popped = rested.pop()?;
        self.count.store(rested.len(), Ordering::Relaxed);
        Some(popped.line)
    }

    /// Keeps a connection that is ready for another request, if there is room.
    pub(crate) fn put(&self, line: Box<Line>, now: Instant) {
        let fits = line.generation() == self.generation();
        let mut rested = self.rested.lock();
        if !fits || rested.len() >= self.kept_max.load(Ordering::Relaxed) {
            drop(rested); // Closing a socket is no work for a lock.
            return;
        }
        rested.push(Rested { line, since: now });
        self.count.store(rested.len(), Ordering::Relaxed);
    }

    /// Closes what has rested for too long or was closed by the peer; the others give back their buffers, and let go of
    /// the tasks that used them last.
    pub(crate) fn sweep(&self, now: Instant, idle_time: Duration) {
        let mut at = 0;
        loop {
            let mut dead = Vec::new();
            let mut rested = self.rested.lock();
            for _ in 0..GLANCE {
                let Some(one) = rested.get_mut(at) else {
                    self.count.store(rested.len(), Ordering::Relaxed);
                    return;
                };
                if now.saturating_duration_since(one.since) < idle_time && one.line.is_fit_alone() {
                    one.line.rest();
                    at += 1;
                } else {
                    dead.push(rested.remove(at));
                }
            }
            self.count.store(rested.len(), Ordering::Relaxed);
        }
    }

    fn drain(&self) {
        let mut rested = self.rested.lock();
        let drained = std::mem::take(&mut *rested);
        self.count.store(0, Ordering::Relaxed);
        drop(rested);
        drop(drained);
    }
}
