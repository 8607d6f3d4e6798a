//! Errands to the bucket: put and removed behind everybody's back, by few hands, from a bounded queue.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::future::join_all;
use kernel::clock;
use kernel::queue::{OnFull, QueueSpec};
use kernel::tree::{Context, Failure};
use verified_store::Hash;

use crate::flight::Desk;

use super::super::entry::Resource;
use super::Depot;
use super::line::Unable;

/// Errands under way at once.
const HANDS: usize = 8;

/// Errands that wait. They hold addresses, not answers.
pub(crate) static ERRANDS: QueueSpec = QueueSpec {
    name: "edge_bucket",
    capacity: 4096,
    on_full: OnFull::RejectNew,
    doc: "answers to be put into the bucket or removed there → the edge's bucket child; full: it is not put, and where \
          it was to be removed nothing older is believed",
};

/// Something to do at the bucket.
pub(super) enum Errand {
    /// What is kept for the address when its turn has come.
    Put(Arc<str>),
    Remove(Leaving),
    /// An object that is not what its name says.
    Discard(Hash),
}

/// The way to an address is closed while this is held. Dropped before it was removed, the depot is doubted.
pub(crate) struct Leaving {
    depot: Arc<Depot>,
    key: Arc<str>,
    removed: bool,
}

impl Leaving {
    pub(super) fn new(depot: &Arc<Depot>, key: &Arc<str>) -> Self {
        *depot.leaving.lock().entry(key.clone()).or_insert(0) += 1;
        Self {
            depot: depot.clone(),
            key: key.clone(),
            removed: false,
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.removed {
            self.depot.doubt();
        }
        self.depot.departures.fetch_add(1, Ordering::AcqRel);
        let mut leaving = self.depot.leaving.lock();
        if let Some(count) = leaving.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                leaving.remove(&self.key);
            }
        }
    }
}

/// Does the errands until told to end. What is not put by then is put by whoever fetches it next.
pub(crate) async fn run(
    context: Context,
    desk: Arc<Desk>,
    depot: Arc<Depot>,
) -> Result<(), Failure> {
    context.ready.ready();
    tokio::select! {
        () = context.told_to_end() => {}
        () = depot.line.pool.tend(|_| {}) => {}
        _ = join_all((0..HANDS).map(|_| work(&desk, &depot))) => {}
    }
    depot.line.pool.end().await;
    Ok(())
}

async fn work(desk: &Desk, depot: &Arc<Depot>) {
    while let Some(errand) = depot.waiting.recv().await {
        let done = match errand {
            Errand::Put(key) => put(desk, depot, &key).await,
            Errand::Remove(mut leaving) => {
                let until = clock::now() + depot.put;
                let erased = depot.erase(Hash::of(leaving.key.as_bytes()), until).await;
                leaving.removed = erased.is_ok();
                erased
            }
            Errand::Discard(object) => {
                let until = clock::now() + depot.put;
                let sign =
                    |bucket: &verified_store::s3::Bucket, now| bucket.delete_object(&object, now);
                depot.line.send(Bytes::new(), until, sign).await
            }
        };
        if let Err(unable) = done {
            depot.count(&unable).inc();
        }
    }
}

/// Puts what is kept now; what was forgotten meanwhile does not stay.
async fn put(desk: &Desk, depot: &Depot, key: &Arc<str>) -> Result<(), Unable> {
    let before = depot.departures.load(Ordering::Acquire);
    if depot.is_closed_to(key) {
        return Ok(());
    }
    let Some(resource) = kept(desk, depot, key).await else {
        depot.metrics.dropped.inc();
        return Ok(());
    };
    depot.store(key, &resource).await?;
    depot.metrics.put.inc();
    let left = depot.departures.load(Ordering::Acquire) != before || depot.is_closed_to(key);
    let latest = desk.kept.peek(key);
    if left && latest.is_none_or(|latest| !Arc::ptr_eq(&latest, &resource)) {
        let until = clock::now() + depot.put;
        let erased = depot.erase(Hash::of(key.as_bytes()), until).await;
        return erased.inspect_err(|_| depot.doubt());
    }
    Ok(())
}

async fn kept(desk: &Desk, depot: &Depot, key: &Arc<str>) -> Option<Arc<Resource>> {
    if let Some(resource) = desk.kept.peek(key) {
        return Some(resource);
    }
    let found = desk.shelf.find(key, depot.put).await;
    found.map(|(resource, _)| resource)
}
