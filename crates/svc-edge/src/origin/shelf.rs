//! Answers on a disk: they outlive the node, and come back into memory when they are asked for.
//!
//! What is to be forgotten and could not be removed, for the disk has more to do than it may, makes all doubtful that
//! was kept until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernel::blocking::Blocking;
use verified_store::{Hash, Store, StoreError};

use super::clock::Clock;
use super::entry::Resource;
use super::record;

/// The store, where there is one on a disk.
pub(crate) struct Shelf {
    store: Option<Store>,
    disk: Blocking,
    /// How often something was removed: what was read before that is not believed after.
    removals: AtomicU64,
    doubt: Arc<Doubt>,
}

/// Until when what came is not believed any more.
struct Doubt {
    clock: Arc<Clock>,
    until_ms: AtomicU64,
}

/// A removal that is still to be done; dropped undone, it leaves doubt.
struct Removal(Option<Arc<Doubt>>);

impl Removal {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        let Some(doubt) = &self.0 else {
            return;
        };
        let now_ms = doubt.clock.now_ms();
        doubt.until_ms.fetch_max(now_ms, Ordering::AcqRel);
        tracing::warn!(
            "what is forgotten could not be removed from the disk, and may come back with the next start"
        );
    }
}

impl Shelf {
    pub(crate) fn new(store: Option<Store>, disk: Blocking, clock: &Arc<Clock>) -> Self {
        Self {
            store,
            disk,
            removals: AtomicU64::new(0),
            doubt: Arc::new(Doubt {
                clock: clock.clone(),
                until_ms: AtomicU64::new(0),
            }),
        }
    }

    /// Puts it where it outlives the node. A disk that does not take it costs only that.
    pub(crate) async fn keep(&self, key: &Arc<str>, resource: &Arc<Resource>) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let (key, resource) = (key.clone(), resource.clone());
        let kept = self.disk.run(move || put(&store, &key, &resource)).await;
        if let Ok(Err(error)) = kept {
            tracing::debug!(%error, "an answer was not kept on the disk");
        }
    }

    /// What is there for an address, if the disk says so in time; and the number of removals it was read after.
    pub(crate) async fn find(&self, key: &str, patience: Duration) -> Option<(Arc<Resource>, u64)> {
        let store = self.store.clone()?;
        let removals = self.removals();
        let key: Arc<str> = key.into();
        let found = self.disk.run(move || get(&store, &key));
        let found = tokio::time::timeout(patience, found).await.ok()?.ok()??;
        self.is_believed(&found)
            .then(|| (Arc::new(found), removals))
    }

    fn is_believed(&self, found: &Resource) -> bool {
        let doubted = self.doubt.until_ms.load(Ordering::Acquire);
        let policies = found.variants.iter().map(|entry| &entry.head.policy);
        let mut known = policies.filter_map(|policy| policy.as_ref().ok());
        known.all(|policy| policy.came_at_ms > doubted)
    }

    fn removal(&self) -> Removal {
        Removal(Some(self.doubt.clone()))
    }

    /// How often something was removed so far.
    pub(crate) fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// Forgets an address.
    pub(crate) async fn remove(&self, key: &Arc<str>) {
        self.removals.fetch_add(1, Ordering::AcqRel);
        let Some(store) = self.store.clone() else {
            return;
        };
        let (hash, removal) = (Hash::of(key.as_bytes()), self.removal());
        let remove = move || {
            let removed = store.remove_record(&hash);
            removal.done();
            removed
        };
        let removed = self.disk.run(remove).await;
        self.removals.fetch_add(1, Ordering::AcqRel);
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "an answer was forgotten, and may come back with the next start");
        }
    }

    /// Forgets the addresses that `gone` picks by key and tags, and says how many that were.
    pub(crate) async fn forget(
        &self,
        gone: impl Fn(&str, &[Box<str>]) -> bool + Send + 'static,
    ) -> u64 {
        self.removals.fetch_add(1, Ordering::AcqRel);
        let Some(store) = self.store.clone() else {
            return 0;
        };
        let removal = self.removal();
        let forget = move || {
            let count = forget(&store, gone);
            removal.done();
            count
        };
        let forgotten = self.disk.run(forget).await;
        self.removals.fetch_add(1, Ordering::AcqRel);
        forgotten.unwrap_or(0)
    }
}

fn put(store: &Store, key: &str, resource: &Resource) -> Result<(), StoreError> {
    let Some((record, entries)) = record::write(key, resource) else {
        return Ok(());
    };
    let mut objects = Vec::with_capacity(entries.len());
    for entry in entries {
        let hash = entry.hash();
        if !store.contains(&hash) {
            let mut writing = store.begin(Some(entry.body.len() as u64))?;
            writing.write(&entry.body)?;
            writing.commit_expecting(hash)?;
        }
        objects.push(hash);
    }
    store.put_record(&Hash::of(key.as_bytes()), &objects, &record)
}

/// Read and verified, or as good as absent.
fn get(store: &Store, key: &str) -> Option<Resource> {
    let record = store.record(&Hash::of(key.as_bytes()))?;
    let bodies = record
        .objects
        .iter()
        .map(|hash| store.get(hash)?.whole().ok());
    let bodies: Option<Vec<_>> = bodies.collect();
    record::read(key, &record.bytes, bodies?)
}

fn forget(store: &Store, gone: impl Fn(&str, &[Box<str>]) -> bool) -> u64 {
    let mut count = 0;
    for (hash, record) in store.records() {
        let is_gone = record::names(&record.bytes).is_none_or(|(key, tags)| gone(&key, &tags));
        if is_gone && store.remove_record(&hash).is_ok_and(|was| was) {
            count += 1;
        }
    }
    count
}
