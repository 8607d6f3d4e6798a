//! The depot: a bucket in which answers outlive the node and serve others, behind everything that is nearer.
//!
//! Whatever goes wrong there costs what it would have saved and nothing else: the origin is asked. What is to be
//! forgotten closes the way to it first, so that nothing forgotten is read while it is being removed; where it could
//! not be removed, nothing that old is believed any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use hashbrown::HashMap;
use http::HeaderMap;
use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::clock;
use kernel::lock::{Lock, LockSpec};
use kernel::queue::{self, Receiver, Sender};
use tokio::time::Instant;
use verified_store::Hash;
use verified_store::s3::{open_record, read_page, seal_record};

use crate::config::S3Text;

use super::clock::Clock;
use super::entry::{Head, Resource};
use super::metrics::DepotMetrics;
use super::record;

pub(crate) use errands::{ERRANDS, run};
use errands::{Errand, Leaving};
use line::{Line, Unable};

mod errands;
mod line;

/// Guards which addresses are being removed.
pub(crate) static LEAVING: LockSpec = LockSpec {
    name: "edge_leaving",
    level: 74,
    doc: "addresses whose answers are being removed from the bucket; asked once by a fetch that looks there",
};

/// Bytes of a record or of a page of a listing: a record of the local store has no more.
const TEXT_BYTES: u64 = 4 << 20;
/// Records that are looked at together when many are to be forgotten.
const AT_ONCE: usize = 16;
/// How long it may take to forget.
const FORGET: Duration = Duration::from_secs(60);

/// The bucket, and what is known of it.
pub(crate) struct Depot {
    line: Line,
    find: Duration,
    put: Duration,
    errands: Sender<Errand>,
    waiting: Receiver<Errand>,
    leaving: Lock<HashMap<Arc<str>, u32>>,
    /// Purges under way: nothing is read or put meanwhile.
    closed: AtomicU32,
    /// Counts whatever was removed: what was read before may be gone.
    departures: AtomicU64,
    /// What came from the origin before this is not believed.
    doubted_ms: AtomicU64,
    clock: Arc<Clock>,
    metrics: DepotMetrics,
}

impl Depot {
    pub(crate) fn new(
        kernel: &Kernel,
        disk: &Blocking,
        clock: &Arc<Clock>,
        text: &S3Text,
    ) -> Result<Arc<Self>, String> {
        let (errands, waiting) = queue::bounded(&ERRANDS, &kernel.queues);
        Ok(Arc::new(Self {
            line: Line::new(kernel, disk, text)?,
            find: Duration::from_millis(text.find_ms),
            put: Duration::from_millis(text.put_ms),
            errands,
            waiting,
            leaving: Lock::new(&LEAVING, HashMap::new()),
            closed: AtomicU32::new(0),
            departures: AtomicU64::new(0),
            doubted_ms: AtomicU64::new(0),
            clock: clock.clone(),
            metrics: DepotMetrics::new(&kernel.registry),
        }))
    }

    /// What is there for such a request, verified; no longer than `most` bytes.
    pub(crate) async fn find(
        &self,
        key: &Arc<str>,
        sent: &HeaderMap,
        most: u64,
    ) -> Option<(Head, Bytes)> {
        if self.is_closed_to(key) {
            return None;
        }
        let until = clock::now() + self.find;
        let counter = match self.fetch(key, sent, most, until).await {
            Ok(Some(found)) => {
                self.metrics.found.inc();
                return Some(found);
            }
            Ok(None) => &self.metrics.absent,
            Err(Unable::Damaged(object)) => {
                if let Some(object) = object {
                    let _full = self.errands.try_send(Errand::Discard(object));
                }
                &self.metrics.damaged
            }
            Err(unable) => self.count(&unable),
        };
        counter.inc();
        None
    }

    async fn fetch(
        &self,
        key: &str,
        sent: &HeaderMap,
        most: u64,
        until: Instant,
    ) -> Result<Option<(Head, Bytes)>, Unable> {
        let name = Hash::of(key.as_bytes());
        let sealed = self.line.get(TEXT_BYTES, until, |bucket, now| {
            bucket.get_record(&name, now)
        });
        let Some(sealed) = sealed.await? else {
            return Ok(None);
        };
        let record = open_record(&name, &sealed).ok_or(Unable::Damaged(None))?;
        let Some((at, head)) = record::choose(key, &record.bytes, sent) else {
            return Ok(None);
        };
        let object = *record.objects.get(at).ok_or(Unable::Damaged(None))?;
        let policy = head.policy.as_ref();
        let doubted = self.doubted_ms.load(Ordering::Acquire);
        if policy.is_ok_and(|policy| policy.came_at_ms <= doubted) {
            return Ok(None);
        }
        let body = self.line.get(most, until, |bucket, now| {
            bucket.get_object(&object, None, now)
        });
        let Some(body) = body.await? else {
            return Ok(None);
        };
        match Hash::of(&body) == object {
            true => Ok(Some((head, body))),
            false => Err(Unable::Damaged(Some(object))),
        }
    }

    /// Lets it be put there when there is time for it. Where there is none it is not.
    pub(crate) fn offer(&self, key: &Arc<str>) {
        if self.errands.try_send(Errand::Put(key.clone())).is_err() {
            self.metrics.dropped.inc();
        }
    }

    /// Closes the way to an address until [`remove`](Self::remove) is through with it.
    pub(crate) fn leave(self: &Arc<Self>, key: &Arc<str>) -> Leaving {
        Leaving::new(self, key)
    }

    /// Removes it when there is time for it.
    pub(crate) fn remove(&self, leaving: Leaving) {
        // Dropped undone where the queue is full, and so doubted.
        let _full = self.errands.try_send(Errand::Remove(leaving));
    }

    /// Closes the way to all of it, for who is about to forget.
    pub(crate) fn close(self: &Arc<Self>) -> Closed {
        self.closed.fetch_add(1, Ordering::AcqRel);
        Closed(self.clone())
    }

    fn is_closed_to(&self, key: &str) -> bool {
        self.closed.load(Ordering::Acquire) > 0 || self.leaving.lock().contains_key(key)
    }

    /// Nothing that is there now is believed any more.
    fn doubt(&self) {
        self.doubted_ms
            .fetch_max(self.clock.now_ms(), Ordering::AcqRel);
        self.metrics.doubted.inc();
        tracing::warn!(
            "what is forgotten could not be removed from the bucket, and may come back with the next start"
        );
    }

    fn count(&self, unable: &Unable) -> &kernel::metrics::Counter {
        tracing::debug!(%unable, "the bucket was not of help");
        match unable {
            Unable::LeftAlone => &self.metrics.left_alone,
            Unable::Damaged(_) => &self.metrics.damaged,
            _ => &self.metrics.failed,
        }
    }

    /// Puts what is kept for an address, objects first: a record is there only with all of its objects.
    async fn store(&self, key: &str, resource: &Resource) -> Result<(), Unable> {
        let until = clock::now() + self.put;
        let name = Hash::of(key.as_bytes());
        let Some((record, entries)) = record::write(key, resource) else {
            return Ok(());
        };
        let mut objects = Vec::with_capacity(entries.len());
        for entry in entries {
            let hash = entry.hash();
            if !self
                .line
                .has(until, |bucket, now| bucket.head_object(&hash, now))
                .await?
            {
                let put = self.line.send(entry.body.clone(), until, |bucket, now| {
                    bucket.put_object(&hash, now)
                });
                put.await?;
            }
            objects.push(hash);
        }
        let Some(sealed) = seal_record(&name, &objects, &record) else {
            return Ok(());
        };
        let sealed = Bytes::from(sealed);
        let put = self.line.send(sealed.clone(), until, |bucket, now| {
            bucket.put_record(&name, &sealed, now)
        });
        put.await
    }

    async fn erase(&self, name: Hash, until: Instant) -> Result<(), Unable> {
        let removed = self.line.send(Bytes::new(), until, |bucket, now| {
            bucket.delete_record(&name, now)
        });
        removed.await
    }
}

/// Nothing is read from the depot and nothing put there while this is held.
pub(crate) struct Closed(Arc<Depot>);

impl Closed {
    /// Forgets the addresses that `gone` picks by key and tags, and says how many that were. An address that is known
    /// is looked for at once; else all that is there is looked at.
    pub(crate) async fn forget(
        self,
        only: Option<&str>,
        gone: impl Fn(&str, &[Box<str>]) -> bool,
    ) -> u64 {
        let until = clock::now() + FORGET;
        let forgotten = match only {
            Some(key) => self
                .sift(Hash::of(key.as_bytes()), &gone, until)
                .await
                .map(u64::from),
            None => self.sweep(gone, until).await,
        };
        forgotten.unwrap_or_else(|unable| {
            self.0.count(&unable).inc();
            self.0.doubt();
            0
        })
    }

    async fn sweep(
        &self,
        gone: impl Fn(&str, &[Box<str>]) -> bool,
        until: Instant,
    ) -> Result<u64, Unable> {
        let (mut count, mut next) = (0, None::<String>);
        loop {
            let line = &self.0.line;
            let page = line.get(TEXT_BYTES, until, |bucket, now| {
                bucket.list_records(next.as_deref(), now)
            });
            let Some(page) = page.await? else {
                return Ok(count);
            };
            let page = read_page(&page).map_err(Unable::Said)?;
            let mut sifted = stream::iter(page.keys)
                .map(|name| self.sift(name, &gone, until))
                .buffer_unordered(AT_ONCE);
            while let Some(was) = sifted.next().await {
                count += u64::from(was?);
            }
            drop(sifted);
            next = match page.next {
                Some(next) => Some(next),
                None => return Ok(count),
            };
        }
    }

    /// Removes a record if it is to be forgotten, or cannot be read.
    async fn sift(
        &self,
        name: Hash,
        gone: &impl Fn(&str, &[Box<str>]) -> bool,
        until: Instant,
    ) -> Result<bool, Unable> {
        let sealed = self.0.line.get(TEXT_BYTES, until, |bucket, now| {
            bucket.get_record(&name, now)
        });
        let Some(sealed) = sealed.await? else {
            return Ok(false);
        };
        let record = open_record(&name, &sealed);
        let names = record.and_then(|record| record::names(&record.bytes));
        if names.is_some_and(|(key, tags)| !gone(&key, &tags)) {
            return Ok(false);
        }
        self.0.erase(name, until).await.map(|()| true)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.departures.fetch_add(1, Ordering::AcqRel);
        self.0.closed.fetch_sub(1, Ordering::AcqRel);
    }
}
