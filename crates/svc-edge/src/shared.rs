//! What outlives a config: counters, clocks, packs, what is kept in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::clock::Timeline;
use tokio::sync::Notify;

use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::packs::Catalogue;

/// What outlives a config.
pub(crate) struct Shared {
    pub(crate) metrics: Metrics,
    /// Where files are read that are not in memory, and tiles transcoded.
    pub(crate) disk: Blocking,
    pub(crate) timeline: Timeline,
    pub(crate) memory: Memory,
    pub(crate) catalogue: Catalogue,
    /// Woken when packs are to be looked at before their time.
    pub(crate) look: Notify,
    inflight: AtomicU32,
}

impl Shared {
    pub(crate) fn new(kernel: &Kernel, memory_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            metrics: Metrics::new(&kernel.registry),
            disk: Blocking::new(&kernel.registry),
            timeline: kernel.timeline,
            memory: Memory::new(memory_bytes),
            catalogue: Catalogue::default(),
            look: Notify::new(),
            inflight: AtomicU32::new(0),
        })
    }

    /// A place in the node, if there is one among `most`.
    pub(crate) fn enter(self: &Arc<Self>, most: u32) -> Option<Place> {
        let before = self.inflight.fetch_add(1, Ordering::Relaxed);
        let place = Place(self.clone());
        (before < most).then_some(place)
    }

    /// Requests in the node.
    pub(crate) fn inflight(&self) -> u32 {
        self.inflight.load(Ordering::Relaxed)
    }
}

/// A request's place in the node.
pub(crate) struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.inflight.fetch_sub(1, Ordering::Relaxed);
    }
}
