//! Answers in memory, kept by how much they are asked for, within so many bytes.

use std::sync::Arc;

use http::HeaderMap;
use kernel::lock::{Lock, LockSpec};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::entry::{Entry, Resource};

/// Guards changes to what is kept for one address.
pub(crate) static KEPT: LockSpec = LockSpec {
    name: "edge_kept",
    level: 70,
    doc: "one change at a time to the answers kept for an address; reading does not take it",
};

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Arc<str>, Arc<Resource>> for ByBytes {
    fn weight(&self, key: &Arc<str>, resource: &Arc<Resource>) -> u64 {
        resource.weight() + key.len() as u64
    }
}

/// The answers.
pub(crate) struct Kept {
    cache: Cache<Arc<str>, Arc<Resource>, ByBytes>,
    changes: Lock<()>,
}

/// How large an answer usually is; only used to size tables ahead.
const USUAL_BYTES: u64 = 16 * 1024;

impl Kept {
    pub(crate) fn new(bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        Self {
            cache: Cache::with_weighter(usual.clamp(16, 1 << 16), bytes, ByBytes),
            changes: Lock::new(&KEPT, ()),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<Resource>> {
        self.cache.get(key)
    }

    /// The same, without a word on how much it is asked for.
    pub(crate) fn peek(&self, key: &str) -> Option<Arc<Resource>> {
        self.cache.peek(key)
    }

    /// Keeps an entry that answers a request with these headers, beside the other variants of its address; they are
    /// what is kept from now on.
    pub(crate) fn put(
        &self,
        key: &Arc<str>,
        entry: Arc<Entry>,
        sent: &HeaderMap,
        most: usize,
    ) -> Arc<Resource> {
        let _alone = self.changes.lock();
        let before = self.cache.peek(&**key).unwrap_or_default();
        let resource = Arc::new(before.with(entry, sent, most));
        self.cache.insert(key.clone(), resource.clone());
        resource
    }

    /// Keeps what was kept elsewhere, unless something newer has come in the meantime.
    pub(crate) fn bring_back(&self, key: &Arc<str>, resource: &Arc<Resource>) {
        let _alone = self.changes.lock();
        if self.cache.peek(&**key).is_none() {
            self.cache.insert(key.clone(), resource.clone());
        }
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        let _alone = self.changes.lock();
        self.cache.remove(key).is_some()
    }

    /// Forgets what `gone` picks, and says how many that were.
    pub(crate) fn forget(&self, gone: impl Fn(&str, &Resource) -> bool) -> u64 {
        let _alone = self.changes.lock();
        let count = std::cell::Cell::new(0);
        self.cache.retain(|key, resource| {
            let gone = gone(key, resource);
            count.set(count.get() + u64::from(gone));
            !gone
        });
        count.get()
    }

    pub(crate) fn resize(&self, bytes: u64) {
        self.cache.set_capacity(bytes);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.cache.weight()
    }

    pub(crate) fn count(&self) -> usize {
        self.cache.len()
    }
}
