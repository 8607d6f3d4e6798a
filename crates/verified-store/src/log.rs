//! The records on disk: one file that is only appended to, each entry with its own check.
//!
//! Not a file for each: a hundred thousand of them would have to be opened at the start, to know which objects they
//! need, and each would take a block, an inode and a second sync. What a log costs is that it has to be rewritten once
//! more than half of it is dead.
//!
//! The file is always longer than the log, by zeros: a sync then has no new length to write, and the last of them are
//! kept for removals, so that a purge can be written down on a disk that is full.

mod frame;
mod rewrite;
mod scan;
mod start;

use crate::Hash;
use crate::files::Files;
use crate::index::Spot;
use crate::shelf::Tree;
use bytes::Bytes;
use frame::{Frame, HEADER, decode};
pub(crate) use frame::{OBJECTS_MAX, RECORD_MAX};
pub(crate) use rewrite::Rewritten;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What comes before the first frame.
const HEAD: usize = 64;
/// By how much the file grows.
const STEP: usize = 64 * 1024;
/// What is kept for removals: a thousand of them.
const RESERVE: u64 = 1024 * HEADER as u64;
/// How much may be dead before a rewrite is worth it, however little is alive. Tests see more rewrites.
const SLACK: u64 = if cfg!(test) { 1 << 11 } else { 1 << 20 };

#[derive(Debug)]
pub(crate) struct Log {
    tree: Arc<Tree>,
    /// For readers, who do not wait for those who write.
    current: Mutex<Arc<Opened>>,
    tail: Mutex<Tail>,
    synced: Mutex<Mark>,
    /// Of the file, as last seen: whoever asks must not wait for a disk.
    len: AtomicU64,
}

/// A log's file, and the key that its entries are checked with.
#[derive(Debug)]
pub(crate) struct Opened {
    files: Arc<dyn Files>,
    file: Arc<File>,
    key: [u8; 32],
}

/// Where the next frame goes.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    opened: Arc<Opened>,
    mark: Mark,
    /// Of the file, zeros included.
    len: u64,
    /// A sync failed, something could not be written, or the file takes no writes: it may say what is no longer so,
    /// and nothing is promised of it until it is rewritten.
    broken: bool,
    /// Not worth a rewrite before it has this length.
    not_before: u64,
}

/// How far something has come: in which rewriting, and up to which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    generation: u64,
    end: u64,
}

/// A record as it was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The objects it refers to, all of them in the store.
    pub objects: Vec<Hash>,
    /// What was put.
    pub bytes: Bytes,
}

/// What a log says at the start, in its order.
#[derive(Debug)]
pub(crate) enum Event {
    Set(Hash, Vec<Hash>, Spot),
    Remove(Hash),
}

impl Log {
    /// Opens the log of a store, or starts one. Counts what of it is damaged.
    pub(crate) fn open(tree: &Arc<Tree>, each: impl FnMut(Event)) -> io::Result<(Self, u64)> {
        let (tail, damaged) = start::open(tree, each)?;
        let log = Self {
            tree: Arc::clone(tree),
            current: Mutex::new(Arc::clone(&tail.opened)),
            synced: Mutex::new(tail.mark),
            len: AtomicU64::new(tail.len),
            tail: Mutex::new(tail),
        };
        Ok((log, damaged))
    }

    pub(crate) fn tail(&self) -> MutexGuard<'_, Tail> {
        lock(&self.tail)
    }

    /// The file in which the spots of the index are, as long as the caller holds the index.
    pub(crate) fn current(&self) -> Arc<Opened> {
        Arc::clone(&lock(&self.current))
    }

    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    pub(crate) fn measure(&self, tail: &Tail) {
        self.len.store(tail.len, Ordering::Relaxed);
    }

    /// Returns once the disk keeps everything up to `mark`. Those who come while another syncs find it done.
    pub(crate) fn sync(&self, mark: Mark) -> io::Result<()> {
        let mut synced = lock(&self.synced);
        if *synced >= mark {
            return Ok(());
        }
        let (opened, now) = {
            let tail = self.tail();
            if tail.broken {
                return Err(io::Error::other("an earlier sync of the records failed"));
            }
            // A rewriting syncs what it copies.
            if tail.mark.generation > mark.generation {
                return Ok(());
            }
            (Arc::clone(&tail.opened), tail.mark)
        };
        if let Err(error) = self.tree.files.sync(&opened.file) {
            // A second sync may well report success for pages that the first one lost.
            self.tail().distrust(now.generation);
            return Err(error);
        }
        *synced = now;
        Ok(())
    }

    /// Writes all that is `alive` to a new file. Nothing changes before `adopt`.
    pub(crate) fn rewrite(&self, tail: &Tail, alive: Vec<(Hash, Spot)>) -> io::Result<Rewritten> {
        rewrite::rewrite(&self.tree, tail, alive)
    }

    /// Takes the new file for the log. The caller holds the index, and moves its spots at the same time.
    pub(crate) fn adopt(&self, tail: &mut Tail, rewritten: &Rewritten) {
        *lock(&self.current) = Arc::clone(&rewritten.tail.opened);
        *tail = rewritten.tail.clone();
    }
}

impl Opened {
    /// The record in that spot, unless it is damaged.
    pub(crate) fn read(&self, key: &Hash, spot: Spot) -> io::Result<Option<Record>> {
        let mut bytes = vec![0; spot.len as usize];
        self.files.read(&self.file, &mut bytes, spot.at)?;
        Ok(match decode(&bytes, &self.key) {
            Some(Frame::Set {
                key: found,
                objects,
                record,
            }) if found == *key => Some(Record {
                objects,
                bytes: Bytes::copy_from_slice(record),
            }),
            _ => None,
        })
    }
}

impl Tail {
    pub(crate) fn set(&mut self, key: Hash, objects: &[Hash], record: &[u8]) -> io::Result<Spot> {
        let objects = objects.to_vec();
        self.append(
            &Frame::Set {
                key,
                objects,
                record,
            },
            RESERVE,
        )
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether it is to be rewritten, with so much of it alive.
    pub(crate) fn is_due(&self, alive: u64) -> bool {
        let worth = alive.saturating_mul(2).saturating_add(SLACK);
        self.broken || self.mark.end > worth.max(self.not_before)
    }

    /// A rewrite failed; try again when there is more to win.
    pub(crate) fn postpone(&mut self) {
        self.not_before = self.mark.end + SLACK;
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    fn distrust(&mut self, generation: u64) {
        self.broken |= self.mark.generation == generation;
    }

    /// Writes down that a record is gone. If that fails the whole file has to be written anew.
    pub(crate) fn bury(&mut self, key: Hash) {
        self.broken |= self.append(&Frame::Remove { key }, 0).is_err();
    }

    fn append(&mut self, frame: &Frame<'_>, reserve: u64) -> io::Result<Spot> {
        let bytes = frame.encode(&self.opened.key);
        self.grow(bytes.len() as u64 + reserve)?;
        let spot = Spot {
            at: self.mark.end,
            len: u32::try_from(bytes.len()).map_err(io::Error::other)?,
        };
        // Half a frame is overwritten by the next one, or skipped at the next start.
        self.opened
            .files
            .write(&self.opened.file, &bytes, spot.at)?;
        self.mark.end += u64::from(spot.len);
        Ok(spot)
    }

    /// Has `more` bytes behind the end in the file.
    fn grow(&mut self, more: u64) -> io::Result<()> {
        while self.len < self.mark.end + more {
            let zeros = [0; STEP];
            self.opened
                .files
                .write(&self.opened.file, &zeros, self.len)?;
            self.len += zeros.len() as u64;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
