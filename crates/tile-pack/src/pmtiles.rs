//! PMTiles: one file, a header, directories that lead to tiles.

use std::sync::Arc;

use serde_json::Value;

use crate::about::{About, Kind, TileFormat};
use crate::address::TileAddress;
use crate::coding::{Coding, NotInflated};
use crate::error::{Fault, PackError, Part};
use crate::file::RawFile;
use crate::limits::{Limits, Wait};
use crate::pack::Tile;

pub use cache::DirectoryCache;
pub(crate) use directory::{Directory, Entry, Frame};
pub(crate) use header::{HEADER_BYTES, Header, MAGIC, Section};

mod cache;
pub(crate) mod directory;
pub(crate) mod header;
pub(crate) mod varint;
mod walk;

/// An open PMTiles file.
#[derive(Debug)]
pub(crate) struct PmTiles {
    file: RawFile,
    header: Header,
    limits: Limits,
    cache: cache::Seat,
}

impl PmTiles {
    /// Checks header, sections, root directory and metadata. Leaves are checked when they are needed.
    pub(crate) fn open(
        file: RawFile,
        limits: &Limits,
        cache: &DirectoryCache,
    ) -> Result<(PmTiles, About), PackError> {
        let first = file.length().min(HEADER_BYTES as u64) as usize;
        let first = file.read_at(0, first, Wait::Allowed)?;
        let header = Header::decode(&first, file.length())?;
        let pack = PmTiles {
            file,
            header,
            limits: limits.clone(),
            cache: cache.seat(),
        };
        let root = pack.stored(pack.header.root, Part::Root, Wait::Allowed)?;
        pack.keep(pack.header.root, Part::Root, &root)?;
        let metadata = pack.stored(pack.header.metadata, Part::Metadata, Wait::Allowed)?;
        let stamp = pack.file.stamp(&[&first, &root, &metadata])?;
        let about = pack.about(pack.metadata(&metadata)?, stamp);
        Ok((pack, about))
    }

    pub(crate) fn raw(&self) -> &RawFile {
        &self.file
    }

    pub(crate) fn tile(&self, at: TileAddress, wait: Wait) -> Result<Option<Tile>, PackError> {
        let id = at.id();
        let mut place = self.header.root;
        for depth in 0..=self.limits.depth {
            let part = if depth == 0 { Part::Root } else { Part::Leaf };
            let directory = self.directory(place, part, wait)?;
            match directory.find(id) {
                None => return Ok(None),
                Some(entry) if entry.is_leaf() => place = self.place(entry),
                Some(entry) => return self.content(entry, wait).map(Some),
            }
        }
        Err(malformed(Fault::Depth, Part::Leaf, place))
    }

    /// The bytes of a tile entry.
    pub(crate) fn content(&self, entry: &Entry, wait: Wait) -> Result<Tile, PackError> {
        let bytes = self.stored(self.place(entry), Part::Tile, wait)?;
        let coding = match (self.header.coding, self.header.format) {
            (Some(coding), _) => coding,
            (None, TileFormat::Mvt | TileFormat::Mlt | TileFormat::Other) => Coding::sniff(&bytes),
            (None, _) => Coding::None,
        };
        Ok(Tile { bytes, coding })
    }

    /// A directory, from the cache or from the file.
    pub(crate) fn directory(
        &self,
        place: Section,
        part: Part,
        wait: Wait,
    ) -> Result<Arc<Directory>, PackError> {
        if let Some(directory) = self.cache.get(place.offset) {
            return Ok(directory);
        }
        let stored = self.stored(place, part, wait)?;
        self.keep(place, part, &stored)
    }

    /// Where the bytes of an entry lie in the file. The sum fits: entries lie within their sections, and these within
    /// the file.
    pub(crate) fn place(&self, entry: &Entry) -> Section {
        let section = match entry.is_leaf() {
            true => self.header.leaves,
            false => self.header.tiles,
        };
        Section {
            offset: section.offset + entry.offset,
            length: entry.length.into(),
        }
    }

    fn keep(&self, place: Section, part: Part, stored: &[u8]) -> Result<Arc<Directory>, PackError> {
        let plain = self.inflated(stored, place, part)?;
        let frame = Frame {
            tiles: self.header.tiles.length,
            leaves: self.header.leaves.length,
            max_zoom: self.header.max_zoom,
        };
        let directory = Directory::decode(&plain, frame);
        let directory = directory.map_err(|fault| malformed(fault, part, place))?;
        let directory = Arc::new(directory);
        self.cache.insert(place.offset, Arc::clone(&directory));
        Ok(directory)
    }

    /// The bytes of a part as they are stored, if they may be that many.
    fn stored(&self, place: Section, part: Part, wait: Wait) -> Result<bytes::Bytes, PackError> {
        let limit = self.limit(part);
        match usize::try_from(place.length) {
            Ok(length) if length <= limit => self.file.read_at(place.offset, length, wait),
            _ => Err(too_large(part, place, limit)),
        }
    }

    fn inflated(&self, stored: &[u8], place: Section, part: Part) -> Result<Vec<u8>, PackError> {
        let limit = self.limit(part);
        let plain = self.header.internal.inflate(stored, limit);
        plain.map_err(|why| match why {
            NotInflated::TooLarge => too_large(part, place, limit),
            NotInflated::Broken => malformed(Fault::Compression, part, place),
        })
    }

    fn limit(&self, part: Part) -> usize {
        match part {
            Part::Header => HEADER_BYTES,
            Part::Root | Part::Leaf => self.limits.directory_bytes,
            Part::Metadata => self.limits.metadata_bytes,
            Part::Tile => self.limits.tile_bytes,
        }
    }

    fn metadata(&self, stored: &[u8]) -> Result<Value, PackError> {
        let place = self.header.metadata;
        // Some writers leave it out.
        if stored.is_empty() {
            return Ok(Value::Object(Default::default()));
        }
        let plain = self.inflated(stored, place, Part::Metadata)?;
        check_values(&plain, place, self.limits.metadata_bytes)?;
        match serde_json::from_slice(&plain) {
            Ok(Value::Object(object)) => Ok(Value::Object(object)),
            _ => Err(malformed(Fault::Json, Part::Metadata, place)),
        }
    }

    fn about(&self, metadata: Value, stamp: u64) -> About {
        let header = &self.header;
        let known = |count: u64| (count != 0).then_some(count);
        About {
            kind: Kind::PmTiles,
            tile_format: header.format,
            coding: header.coding.unwrap_or(Coding::None),
            min_zoom: header.min_zoom,
            max_zoom: header.max_zoom,
            bounds: header.bounds,
            center: header.center,
            metadata,
            addressed_tiles: known(header.addressed_tiles),
            tile_entries: known(header.tile_entries),
            tile_contents: known(header.tile_contents),
            clustered: header.clustered,
            length: self.file.length(),
            modified_ns: self.file.identity().modified_ns,
            stamp,
        }
    }
}

/// Refuses text of nothing but tiny values: each takes tens of bytes once it is read.
fn check_values(text: &[u8], place: Section, limit: usize) -> Result<(), PackError> {
    let begins = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
    match text.iter().filter(begins).count() > limit / VALUE_BYTES_TYPICAL {
        true => Err(too_large(Part::Metadata, place, limit)),
        false => Ok(()),
    }
}

/// What a value of metadata takes as text, on the whole.
const VALUE_BYTES_TYPICAL: usize = 8;

pub(crate) fn malformed(fault: Fault, part: Part, place: Section) -> PackError {
    PackError::Malformed {
        fault,
        part,
        offset: Some(place.offset),
    }
}

fn too_large(part: Part, place: Section, limit: usize) -> PackError {
    PackError::TooLarge {
        part,
        offset: Some(place.offset),
        limit: limit as u64,
    }
}
