//! What is asked for again and again, where the system sends it by itself: large answers are sealed after a hit.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use front_door::Sealed;
use kernel::Kernel;
use kernel::queue::{self, OnFull, QueueSpec, Receiver, Sender};
use kernel::tree::{Context, Failure};

use crate::memory::Key;
use crate::representation::Representation;
use crate::shared::Shared;

/// From so many bytes on a copy costs more than a call more, also where all of it lies in the processor's caches.
pub(crate) const LEAST_BYTES: usize = 24 * 1024;
/// Each is a file.
const MOST: usize = 1024;

/// Answers that wait to be sealed.
pub(crate) static SEALS: QueueSpec = QueueSpec {
    name: "edge_seals",
    capacity: 64,
    on_full: OnFull::RejectNew,
    doc: "large answers that were hit → who seals them; full: it is sealed after a later hit",
};

/// What is to be sealed, and where it is kept.
type Found = (Key, Arc<Representation>);

/// How many there are, how many there may be, and which wait to be.
pub(crate) struct Seals {
    most: usize,
    held: Arc<AtomicUsize>,
    worth: Sender<Found>,
    waiting: Receiver<Found>,
}

impl Seals {
    /// For a process that may have so many files open. None where nothing can be sealed, as under amnesia.
    pub(crate) fn new(kernel: &Kernel, open_files: u64) -> Self {
        let part = usize::try_from(open_files / 16).unwrap_or(usize::MAX);
        let most = Sealed::new(b"?").map_or(0, |_| part.min(MOST));
        let (worth, waiting) = queue::bounded(&SEALS, &kernel.queues);
        Self {
            most,
            held: Arc::default(),
            worth,
            waiting,
        }
    }

    /// Somebody was sent this from memory. Whoever is, waits for nothing here.
    pub(crate) fn hit(&self, key: Key, found: &Arc<Representation>) {
        if self.held.load(Ordering::Relaxed) >= self.most || !found.claim() {
            return;
        }
        if self.worth.try_send((key, found.clone())).is_err() {
            found.let_go();
        }
    }

    fn take(&self) -> Option<Place> {
        let free = |held| (held < self.most).then_some(held + 1);
        let order = Ordering::Relaxed;
        let taken = self.held.fetch_update(order, order, free);
        taken.ok().map(|_| Place(self.held.clone()))
    }
}

/// The place of one among them.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes that are sealed.
pub(crate) struct Seal {
    pub(crate) sealed: Sealed,
    _place: Place,
}

impl Seal {
    fn new(bytes: &Bytes, place: Place) -> io::Result<Self> {
        let sealed = Sealed::new(bytes)?;
        Ok(Self {
            sealed,
            _place: place,
        })
    }
}

/// Seals what was hit, until told to end. Whatever goes wrong, it is sent as it is.
pub(crate) async fn run(context: Context, shared: Arc<Shared>) -> Result<(), Failure> {
    context.ready.ready();
    tokio::select! {
        () = context.told_to_end() => {}
        () = work(&shared) => {}
    }
    Ok(())
}

async fn work(shared: &Shared) {
    while let Some((key, found)) = shared.seals.waiting.recv().await {
        seal(shared, key, found).await;
    }
}

/// Puts what is sealed in the place of what is not.
async fn seal(shared: &Shared, key: Key, found: Arc<Representation>) {
    let Some(place) = shared.seals.take() else {
        return found.let_go();
    };
    let plain = found.clone();
    let sealed = move || plain.sealed(|bytes| Seal::new(bytes, place));
    match shared.disk.run(sealed).await {
        Ok(Some(sealed)) => shared.memory.keep(key, Arc::new(sealed)),
        // It could not be the next time either.
        Ok(None) => {}
        Err(_) => found.let_go(),
    }
}

#[cfg(test)]
mod tests;
