//! Decoded directories, kept while they are used and as long as they fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::directory::Directory;

/// Decoded directories of any number of packs, bounded together. Clones are the same cache.
#[derive(Clone)]
pub struct DirectoryCache {
    shared: Arc<Shared>,
}

struct Shared {
    directories: Cache<Key, Arc<Directory>, ByBytes>,
    seats: AtomicU64,
}

/// Which pack, and where in it.
type Key = (u64, u64);

#[derive(Clone)]
struct ByBytes;

impl Weighter<Key, Arc<Directory>> for ByBytes {
    fn weight(&self, _: &Key, directory: &Arc<Directory>) -> u64 {
        directory.weight() as u64
    }
}

/// The least a directory is expected to take; it sizes the tables of the cache.
const DIRECTORY_BYTES_TYPICAL: usize = 4096;

impl DirectoryCache {
    /// Holds up to so many bytes.
    pub fn new(bytes: usize) -> DirectoryCache {
        let items = (bytes / DIRECTORY_BYTES_TYPICAL).max(16);
        let shared = Shared {
            directories: Cache::with_weighter(items, bytes as u64, ByBytes),
            seats: AtomicU64::new(0),
        };
        DirectoryCache {
            shared: Arc::new(shared),
        }
    }

    /// What it holds now.
    pub fn bytes(&self) -> u64 {
        self.shared.directories.weight()
    }

    /// A part of the cache for one pack.
    pub(crate) fn seat(&self) -> Seat {
        Seat {
            cache: self.clone(),
            pack: self.shared.seats.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl std::fmt::Debug for DirectoryCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectoryCache")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// One pack's part of a cache. What a closed pack leaves behind is the next to be evicted: nobody asks for it.
#[derive(Debug)]
pub(crate) struct Seat {
    cache: DirectoryCache,
    pack: u64,
}

impl Seat {
    pub(crate) fn get(&self, offset: u64) -> Option<Arc<Directory>> {
        self.cache.shared.directories.get(&(self.pack, offset))
    }

    pub(crate) fn insert(&self, offset: u64, directory: Arc<Directory>) {
        let key = (self.pack, offset);
        self.cache.shared.directories.insert(key, directory);
    }
}
