//! The bytes that fetches under way may hold together, however long each of them may be.

use std::sync::atomic::{AtomicU64, Ordering};

/// Room for bytes.
#[derive(Debug)]
pub(crate) struct Room {
    most: u64,
    held: AtomicU64,
}

impl Room {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            held: AtomicU64::new(0),
        }
    }

    /// Takes so many bytes, if there is room for them.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.most;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes held now.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }
}
