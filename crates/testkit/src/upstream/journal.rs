//! The latest requests as they came, byte for byte.

use crate::wire::{Malformed, RequestHead};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Of a larger request only the beginning is kept.
const MAX_RAW_BYTES: usize = 1 << 20;

/// A request as the origin saw it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The connection it came on, counted from 0.
    pub connection: u64,
    /// Its place on that connection, counted from 0.
    pub index: u64,
    /// When its last byte had come.
    pub at: Instant,
    /// Its bytes, head and body as sent, up to 1 MiB.
    pub raw: Vec<u8>,
    /// Its head, or why it is none.
    pub head: Result<RequestHead, Malformed>,
    /// Its body, decoded from chunks, up to 1 MiB.
    pub body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Journal {
    kept: Mutex<Kept>,
    received: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    capacity: usize,
    entries: VecDeque<Recorded>,
}

impl Journal {
    pub(super) fn new(capacity: usize) -> Self {
        let kept = Kept {
            capacity,
            entries: VecDeque::new(),
        };
        Self {
            kept: Mutex::new(kept),
            received: AtomicU64::new(0),
        }
    }

    pub(super) fn add(&self, mut request: Recorded) {
        request.raw.truncate(MAX_RAW_BYTES);
        request.body.truncate(MAX_RAW_BYTES);
        let mut kept = self.kept.lock();
        kept.entries.push_back(request);
        kept.trim();
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn resize(&self, capacity: usize) {
        let mut kept = self.kept.lock();
        kept.capacity = capacity;
        kept.trim();
    }

    pub(super) fn entries(&self) -> Vec<Recorded> {
        self.kept.lock().entries.iter().cloned().collect()
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Kept {
    fn trim(&mut self) {
        while self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }
}
