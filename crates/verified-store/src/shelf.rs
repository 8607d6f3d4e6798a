//! Where the bytes of objects lie: in files named by their hash, or in memory.
//!
//! A file is written under `tmp`, synced, renamed to `objects/ab/ab…` and its directory synced. An unnamed file
//! (`O_TMPFILE`) would spare the collecting of stale ones at the start, but not every file system has them, and two
//! ways would be twice to test. One level of 256 directories, not two: the next start reads 256 directories instead
//! of up to 65,536, and they exist from the first start on, so that writing an object syncs one directory.

mod draft;

use crate::files::Files;
use crate::{Hash, proof};
use bytes::Bytes;
pub(crate) use draft::{Draft, Temp};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What file systems hand out.
const BLOCK: u64 = 4096;

#[derive(Debug)]
pub(crate) enum Shelf {
    Memory(Mutex<HashMap<Hash, Bytes>>),
    Disk(Arc<Tree>),
}

/// The directories of a store on disk.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) files: Arc<dyn Files>,
    dir: PathBuf,
    next: AtomicU64,
}

/// An object's bytes, open.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(Bytes),
    File(Arc<dyn Files>, File),
}

impl Shelf {
    pub(crate) fn memory() -> Self {
        Self::Memory(Mutex::default())
    }

    /// What an object of `len` bytes takes.
    pub(crate) fn charge(&self, len: u64) -> u64 {
        match self {
            Self::Memory(_) => len,
            Self::Disk(_) => {
                let file = len.saturating_add(proof::values_len(len));
                file.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
            }
        }
    }

    pub(crate) fn draft(&self) -> io::Result<Draft> {
        match self {
            Self::Memory(_) => Ok(Draft::Memory(Vec::new())),
            Self::Disk(tree) => tree.draft(),
        }
    }

    /// Gives a synced draft its name. When it fails the name is gone again, or at least not promised.
    pub(crate) fn publish(&self, draft: Draft, hash: &Hash) -> io::Result<()> {
        match (self, draft) {
            (Self::Memory(objects), Draft::Memory(bytes)) => {
                lock(objects).insert(*hash, bytes.into());
                Ok(())
            }
            (Self::Disk(tree), Draft::File(temp)) => tree.publish(temp, hash),
            _ => Err(io::Error::other("a draft of another store")),
        }
    }

    pub(crate) fn open(&self, hash: &Hash) -> io::Result<Source> {
        match self {
            Self::Memory(objects) => {
                let bytes = lock(objects).get(hash).cloned();
                bytes
                    .map(Source::Memory)
                    .ok_or(io::ErrorKind::NotFound.into())
            }
            Self::Disk(tree) => {
                let file = tree.files.open(&tree.object(hash))?;
                Ok(Source::File(Arc::clone(&tree.files), file))
            }
        }
    }

    /// Done as well if it was not there.
    pub(crate) fn remove(&self, hash: &Hash) -> io::Result<()> {
        match self {
            Self::Memory(objects) => {
                lock(objects).remove(hash);
                Ok(())
            }
            Self::Disk(tree) => match tree.files.remove(&tree.object(hash)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        }
    }
}

impl Tree {
    pub(crate) fn new(files: Arc<dyn Files>, dir: &Path) -> Self {
        Self {
            files,
            dir: dir.to_owned(),
            next: AtomicU64::new(0),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("records.log")
    }

    pub(crate) fn temps(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.dir.join("objects")
    }

    pub(crate) fn shard(&self, shard: u8) -> PathBuf {
        self.objects().join(format!("{shard:02x}"))
    }

    fn object(&self, hash: &Hash) -> PathBuf {
        self.shard(hash.as_bytes()[0]).join(hash.to_string())
    }

    /// A path under `tmp` that nobody else has.
    pub(crate) fn fresh(&self) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.temps().join(number.to_string())
    }

    fn draft(&self) -> io::Result<Draft> {
        Temp::create(Arc::clone(&self.files), self.fresh()).map(Draft::File)
    }

    fn publish(&self, temp: Temp, hash: &Hash) -> io::Result<()> {
        let path = self.object(hash);
        temp.rename(&path)?;
        let synced = self.files.sync_dir(&self.shard(hash.as_bytes()[0]));
        if synced.is_err() {
            // If this fails too the file may be found at the next start. It is whole, so that would do no harm.
            let _ = self.files.remove(&path);
        }
        synced
    }
}

impl Source {
    pub(crate) fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::Memory(all) => {
                let start = usize::try_from(at).ok();
                let part = start.and_then(|start| all.get(start..start.checked_add(bytes.len())?));
                bytes.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::File(files, file) => files.read(file, bytes, at),
        }
    }

    /// Best effort: it only helps the next start to guess what is wanted.
    pub(crate) fn touch(&self) {
        if let Self::File(files, file) = self {
            let _ = files.touch(file);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
