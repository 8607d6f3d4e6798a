//! An endpoint's idle HTTP/1 connections: the last one put back is the first one taken.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use kernel::lock::Lock;
use tokio::time::Instant;

use crate::line::Line;
use crate::spec::PoolSpec;
use crate::tables;

/// Connections looked at in one hold of the lock.
const GLANCE: usize = 64;

pub(crate) struct Idle {
    rested: Lock<Vec<Rested>>,
    /// As many as are in there, to be read without the lock.
    count: AtomicUsize,
    /// Of all connections, busy ones too. There is no other bound on those that rest: who closes what was needed a
    /// moment ago opens it again the next. What is needed no more lies at the bottom, and grows old there.
    open_max: AtomicUsize,
    closed: AtomicBool,
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
            open_max: AtomicUsize::new(settings.max_connections.max(1)),
            closed: AtomicBool::new(false),
            generation: AtomicU32::new(0),
        }
    }

    pub(crate) fn adopt(&self, settings: &PoolSpec, other_wire: bool) {
        self.open_max
            .store(settings.max_connections.max(1), Ordering::Relaxed);
        if other_wire {
            self.generation.fetch_add(1, Ordering::Relaxed);
            self.drain();
        }
    }

    /// Nothing is kept from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
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
        if !fits || self.closed.load(Ordering::Relaxed) || rested.len() >= self.open_max() {
            drop(rested); // Closing a socket is no work for a lock.
            return;
        }
        rested.push(Rested { line, since: now });
        self.count.store(rested.len(), Ordering::Relaxed);
    }

    /// Closes what has rested for too long or was closed by the peer; the others give back their buffers, and let go of
    /// the tasks that used them last. Looks at a few from there on, and says where to go on if there are more.
    pub(crate) fn sweep(&self, from: usize, now: Instant, idle_time: Duration) -> Option<usize> {
        let mut rested = self.rested.lock();
        let to = rested.len().min(from + GLANCE);
        if from >= to {
            return None;
        }
        let is_dead = |one: &mut Rested| {
            let is_fresh = now.saturating_duration_since(one.since) < idle_time;
            let stays = is_fresh && one.line.is_fit_alone();
            if stays {
                one.line.rest();
            }
            !stays
        };
        let dead: Vec<Rested> = rested.extract_if(from..to, is_dead).collect();
        self.count.store(rested.len(), Ordering::Relaxed);
        drop(rested); // Before the sockets are closed, which takes a while.
        Some(to - dead.len())
    }

    /// All of them, in one go.
    pub(crate) fn sweep_all(&self, now: Instant, idle_time: Duration) {
        let mut at = Some(0);
        while let Some(from) = at {
            at = self.sweep(from, now, idle_time);
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
