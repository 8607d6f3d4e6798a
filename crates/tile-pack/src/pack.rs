//! A pack of either format behind one type.

use std::path::Path;

use bytes::Bytes;

use crate::about::About;
use crate::address::TileAddress;
use crate::coding::Coding;
use crate::error::PackError;
use crate::file::{Identity, RawFile};
use crate::limits::{Limits, Wait};
use crate::pmtiles::{DirectoryCache, MAGIC, PmTiles};

/// An open pack. It keeps its own file open: one renamed over it changes nothing here.
#[derive(Debug)]
pub struct Pack {
    about: About,
    source: Source,
}

#[derive(Debug)]
enum Source {
    PmTiles(Box<PmTiles>),
}

/// The bytes of a tile, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The bytes.
    pub bytes: Bytes,
    /// How they are compressed.
    pub coding: Coding,
}

impl Pack {
    /// Opens a pack, whichever it is by its content. Reads from the disk.
    pub fn open(path: &Path, limits: &Limits) -> Result<Pack, PackError> {
        let cache = DirectoryCache::new(limits.directory_cache_bytes);
        Pack::open_with(path, limits, &cache)
    }

    /// As [`open`](Pack::open), with a cache that many packs share.
    pub fn open_with(
        path: &Path,
        limits: &Limits,
        cache: &DirectoryCache,
    ) -> Result<Pack, PackError> {
        let file = RawFile::open(path)?;
        let first = file.length().min(MAGIC.len() as u64) as usize;
        let first = file.read_at(0, first, Wait::Allowed)?;
        if first != MAGIC[..] {
            return Err(PackError::NotAPack);
        }
        let (pack, about) = PmTiles::open(file, limits, cache)?;
        let source = Source::PmTiles(Box::new(pack));
        Ok(Pack { about, source })
    }

    /// What it says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The tile at an address, if the pack has one. MBTiles always has to wait.
    pub fn tile(&self, at: TileAddress, wait: Wait) -> Result<Option<Tile>, PackError> {
        match &self.source {
            Source::PmTiles(pack) => pack.tile(at, wait),
        }
    }

    /// The file itself, where that is something to hand out: a database is not.
    pub fn raw(&self) -> Option<&RawFile> {
        match &self.source {
            Source::PmTiles(pack) => Some(pack.raw()),
        }
    }
}

/// Names a file by what it begins with, its length and when it was written.
pub(crate) fn stamp(identity: &Identity, parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&identity.length.to_le_bytes());
    hasher.update(&identity.modified_ns.to_le_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
