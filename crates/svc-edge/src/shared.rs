//! What outlives a config: counters, clocks, packs, what is kept in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::clock::Timeline;
use kernel::config::Commit;
use tokio::sync::Notify;
use verified_store::Store;

use crate::cas;
use crate::config::EdgeText;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::origin::Origins;
use crate::packs::Catalogue;
use crate::pressure::Pressure;
use crate::seals::Seals;

/// What outlives a config.
pub(crate) struct Shared {
    kernel: Kernel,
    pub(crate) metrics: Metrics,
    /// Where files are read that are not in memory, and tiles transcoded.
    pub(crate) disk: Blocking,
    pub(crate) timeline: Timeline,
    pub(crate) memory: Memory,
    pub(crate) catalogue: Catalogue,
    /// What was fetched, by its hash.
    pub(crate) store: Store,
    pub(crate) origins: Arc<Origins>,
    /// Woken when packs are to be looked at before their time.
    pub(crate) look: Notify,
    pub(crate) pressure: Pressure,
    /// Packs that may be open at once: each is a file, and connections are files too.
    pub(crate) most_packs: usize,
    pub(crate) seals: Seals,
    inflight: AtomicU32,
}

impl Shared {
    pub(crate) fn new(
        kernel: &Kernel,
        text: &EdgeText,
        open_files: u64,
    ) -> Result<Arc<Self>, String> {
        let seals = Seals::new(kernel, open_files);
        // The other half is for connections, but for the little that is for seals.
        let most_packs = usize::try_from(open_files / 2).unwrap_or(usize::MAX);
        let disk = Blocking::new(&kernel.registry);
        let store = cas::open(text.store.clone().unwrap_or_default())?;
        // What is in memory anyway needs no second place there.
        let lasting = text.store.as_ref().and_then(|text| text.dir.as_ref());
        let lasting = lasting.map(|_| store.clone());
        let (of_packs, of_origins) = text.memory();
        let s3 = text.store.as_ref().and_then(|text| text.s3.as_ref());
        let origins = Origins::new(kernel, &disk, lasting, s3, of_origins)?;
        origins.prepare(kernel, &disk, &text.origins)?();
        Ok(Arc::new(Self {
            kernel: kernel.clone(),
            metrics: Metrics::new(&kernel.registry),
            disk,
            timeline: kernel.timeline,
            memory: Memory::new(of_packs),
            catalogue: Catalogue::default(),
            store,
            origins,
            look: Notify::new(),
            pressure: Pressure::default(),
            most_packs,
            seals,
            inflight: AtomicU32::new(0),
        }))
    }

    /// Makes ready for another config: what is kept stays, within the new bounds.
    pub(crate) fn prepare(self: &Arc<Self>, text: &EdgeText) -> Result<Commit, String> {
        let origins = &self.origins;
        let origins = origins.prepare(&self.kernel, &self.disk, &text.origins)?;
        let (of_packs, of_origins) = text.memory();
        let shared = self.clone();
        Ok(Box::new(move || {
            origins();
            shared.memory.resize(of_packs);
            shared.origins.desk.kept.resize(of_origins);
            shared.look.notify_one();
        }))
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
