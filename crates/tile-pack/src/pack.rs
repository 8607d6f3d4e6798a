//! A pack of either format behind one type.

use std::path::Path;

use bytes::Bytes;

use crate::about::About;
use crate::address::TileAddress;
use crate::coding::Coding;
use crate::error::PackError;
use crate::file::RawFile;
use crate::limits::{Limits, Wait};
use crate::mbtiles::{self, MbTiles};
use crate::pmtiles::{self, DirectoryCache, Entry, PmTiles};
use crate::selection::Selection;
use crate::verify::{self, Verified};

/// An open pack. It keeps its own file open: one renamed over it changes nothing here.
#[derive(Debug)]
pub struct Pack {
    about: About,
    source: Source,
    limits: Limits,
}

#[derive(Debug)]
pub(crate) enum Source {
    PmTiles(Box<PmTiles>),
    MbTiles(Box<MbTiles>),
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
        let first = file.length().min(mbtiles::MAGIC.len() as u64) as usize;
        let first = file.read_at(0, first, Wait::Allowed)?;
        let (source, about) = if first.starts_with(pmtiles::MAGIC) {
            let (pack, about) = PmTiles::open(file, limits, cache)?;
            (Source::PmTiles(Box::new(pack)), about)
        } else if first.starts_with(mbtiles::MAGIC) {
            let (pack, about) = MbTiles::open(path, file, limits)?;
            (Source::MbTiles(Box::new(pack)), about)
        } else {
            return Err(PackError::NotAPack);
        };
        Ok(Pack {
            about,
            source,
            limits: limits.clone(),
        })
    }

    /// What it says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The tile at an address, if the pack has one. MBTiles always has to wait.
    pub fn tile(&self, at: TileAddress, wait: Wait) -> Result<Option<Tile>, PackError> {
        match &self.source {
            Source::PmTiles(pack) => pack.tile(at, wait),
            Source::MbTiles(pack) => pack.tile(at, wait),
        }
    }

    /// The file itself, where that is something to hand out: a database is not.
    pub fn raw(&self) -> Option<&RawFile> {
        match &self.source {
            Source::PmTiles(pack) => Some(pack.raw()),
            Source::MbTiles(_) => None,
        }
    }

    /// Reads everything: each directory, and each tile, which must lie where it may, once, and decode to what the pack
    /// says it is. `progress` is told how many entries are done and how many there are, or 0 when that is not known.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified, PackError> {
        verify::verify(self, progress)
    }

    /// Visits the selected tiles. Those of PMTiles come in the order of their numbers, rows of MBTiles as they lie;
    /// those with no bytes, or with an address that no tile has, are passed over.
    pub fn each_tile<E: From<PackError>>(
        &self,
        selection: &Selection,
        mut visit: impl FnMut(TileAddress, &Tile) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.source {
            Source::PmTiles(pack) => pack.each_entry(selection.ids(), &mut |entry| {
                each_of_run(pack, entry, selection, &mut visit)
            }),
            Source::MbTiles(pack) => {
                pack.each_row(selection.zooms(), |at, tile| match (at, tile) {
                    (Some(at), Some(tile)) if selection.contains(at) => visit(at, &tile),
                    _ => Ok(()),
                })
            }
        }
    }

    /// The BLAKE3 hash of the whole file. `progress` is told how many bytes are done, of how many.
    pub fn content_hash(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<[u8; 32], PackError> {
        let file = match &self.source {
            Source::PmTiles(pack) => pack.raw(),
            Source::MbTiles(pack) => pack.raw(),
        };
        let mut hasher = blake3::Hasher::new();
        let mut done = 0;
        while done < file.length() {
            let length = (file.length() - done).min(HASHED_BYTES);
            hasher.update(&file.read_at(done, length as usize, Wait::Allowed)?);
            done += length;
            progress(done, file.length());
        }
        Ok(hasher.finalize().into())
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// How much of a file is read at once to be hashed.
const HASHED_BYTES: u64 = 1 << 20;

/// The bytes of a run are read once, and not at all when nothing of it is wanted.
fn each_of_run<E: From<PackError>>(
    pack: &PmTiles,
    entry: &Entry,
    selection: &Selection,
    visit: &mut impl FnMut(TileAddress, &Tile) -> Result<(), E>,
) -> Result<(), E> {
    let mut tile = None;
    let ids = entry.id..=entry.id + u64::from(entry.run) - 1;
    let wanted = ids
        .filter_map(TileAddress::from_id)
        .filter(|at| selection.contains(*at));
    for at in wanted {
        let tile = match &tile {
            Some(tile) => tile,
            None => tile.insert(pack.content(entry, Wait::Allowed)?),
        };
        visit(at, tile)?;
    }
    Ok(())
}
