//! Writing PMTiles: tiles in any order, each content once, in the order of the curve, and visible only when whole.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::about::{About, Bounds, Center, TileFormat};
use crate::address::TileAddress;
use crate::coding::Coding;
use crate::error::PackError;
use crate::pmtiles::{Entry, HEADER_BYTES, Header, Section};

use extent::Extent;

pub(crate) mod extent;
mod layout;
pub(crate) mod staged;

/// What a pack to be written says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The format of its tiles.
    pub tile_format: TileFormat,
    /// How its tiles are compressed.
    pub coding: Coding,
    /// What it covers; else what its deepest tiles cover.
    pub bounds: Option<Bounds>,
    /// Where to look first; else the middle of what it covers.
    pub center: Option<Center>,
    /// The metadata.
    pub metadata: Map<String, Value>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Tiles that can be asked for.
    pub tiles: u64,
    /// Tiles given twice; the first was kept.
    pub repeated: u64,
    /// Tiles that differ.
    pub contents: u64,
    /// Bytes of the file.
    pub length: u64,
}

/// A pack being written. Tiles go to a file without a name until all are there; dropped early, nothing is left.
#[derive(Debug)]
pub struct PackWriter {
    path: PathBuf,
    description: Description,
    spool: BufWriter<File>,
    spooled: u64,
    contents: Vec<Content>,
    by_hash: HashMap<[u8; 16], u32>,
    tiles: Vec<Placed>,
    extent: Extent,
    /// The content given last: tiles of a run come one after the other.
    last: Option<(bytes::Bytes, u32)>,
}

/// Where bytes lie in the spool.
#[derive(Clone, Copy, Debug)]
struct Content {
    offset: u64,
    length: u32,
}

/// A tile and its bytes, by their place in `contents`.
#[derive(Clone, Copy, Debug)]
struct Placed {
    id: u64,
    content: u32,
}

impl Description {
    /// Of tiles of a format, with nothing else to say.
    pub fn new(tile_format: TileFormat, coding: Coding) -> Description {
        Description {
            tile_format,
            coding,
            bounds: None,
            center: None,
            metadata: Map::new(),
        }
    }

    /// As an open pack says it.
    pub fn of(about: &About) -> Description {
        Description {
            tile_format: about.tile_format,
            coding: about.coding,
            bounds: Some(about.bounds),
            center: Some(about.center),
            metadata: about.metadata.as_object().cloned().unwrap_or_default(),
        }
    }
}

impl PackWriter {
    /// Begins a pack that will stand at `path`, in place of what stands there.
    pub fn create(path: &Path, description: Description) -> Result<PackWriter, PackError> {
        Ok(PackWriter {
            path: path.to_owned(),
            description,
            spool: BufWriter::new(tempfile::tempfile_in(staged::directory(path))?),
            spooled: 0,
            contents: Vec::new(),
            by_hash: HashMap::new(),
            tiles: Vec::new(),
            extent: Extent::default(),
            last: None,
        })
    }

    /// Adds a tile, compressed as the description says. One without bytes is no tile and left out.
    pub fn add(&mut self, at: TileAddress, bytes: &bytes::Bytes) -> Result<(), PackError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let content = self.content(bytes)?;
        self.tiles.push(Placed {
            id: at.id(),
            content,
        });
        self.extent.add(at);
        Ok(())
    }

    /// Writes the pack, makes it last, and gives it its name.
    pub fn finish(mut self) -> Result<Written, PackError> {
        if self.tiles.is_empty() {
            return Err(PackError::NoTiles);
        }
        self.spool.flush()?;
        // Stable: of tiles given twice the first stays.
        self.tiles.sort_by_key(|tile| tile.id);
        let given = self.tiles.len();
        self.tiles.dedup_by_key(|tile| tile.id);
        let (entries, order) = self.clustered();
        let internal = Coding::Gzip;
        let directories = layout::directories(&entries, internal)?;
        let metadata = Value::Object(self.description.metadata.clone()).to_string();
        let metadata = layout::compressed(internal, metadata.as_bytes())?;
        let mut header = self.header(&entries, &order);
        header.place(&directories, &metadata);
        let written = Written {
            tiles: header.addressed_tiles,
            repeated: (given - self.tiles.len()) as u64,
            contents: header.tile_contents,
            length: header.tiles.offset + header.tiles.length,
        };
        staged::write(&self.path, |file| {
            let mut file = BufWriter::new(file);
            file.write_all(&header.encode())?;
            file.write_all(&directories.root)?;
            file.write_all(&metadata)?;
            file.write_all(&directories.leaves)?;
            self.copy(&order, &mut file)?;
            file.flush()
        })?;
        Ok(written)
    }

    /// The place of bytes in `contents`, there for the first time or again.
    fn content(&mut self, bytes: &bytes::Bytes) -> Result<u32, PackError> {
        if let Some((last, content)) = &self.last
            && last.as_ptr() == bytes.as_ptr()
            && last.len() == bytes.len()
        {
            return Ok(*content);
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        let content = match self.by_hash.get(&hash) {
            Some(content) => *content,
            None => {
                let content = self.spool(bytes)?;
                self.by_hash.insert(hash, content);
                content
            }
        };
        self.last = Some((bytes.clone(), content));
        Ok(content)
    }

    fn spool(&mut self, bytes: &[u8]) -> Result<u32, PackError> {
        let too_many = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let content = u32::try_from(self.contents.len()).map_err(too_many)?;
        self.contents.push(Content {
            offset: self.spooled,
            length: u32::try_from(bytes.len()).map_err(too_many)?,
        });
        self.spool.write_all(bytes)?;
        self.spooled += bytes.len() as u64;
        Ok(content)
    }

    /// The entries, runs drawn together, and the contents in the order they are first needed.
    fn clustered(&self) -> (Vec<Entry>, Vec<Content>) {
        let mut places = vec![None; self.contents.len()];
        let mut order = Vec::with_capacity(self.contents.len());
        let mut end = 0;
        let mut entries: Vec<Entry> = Vec::new();
        for tile in &self.tiles {
            let content = self.contents[tile.content as usize];
            let offset = *places[tile.content as usize].get_or_insert_with(|| {
                order.push(content);
                end += u64::from(content.length);
                end - u64::from(content.length)
            });
            match entries.last_mut() {
                Some(run) if run.continues_with(tile.id, offset) => run.run += 1,
                _ => entries.push(Entry {
                    id: tile.id,
                    offset,
                    length: content.length,
                    run: 1,
                }),
            }
        }
        (entries, order)
    }

    fn header(&self, entries: &[Entry], contents: &[Content]) -> Header {
        let (min_zoom, max_zoom) = self.extent.zooms();
        let bounds = self.description.bounds;
        let bounds = bounds.unwrap_or_else(|| self.extent.bounds());
        let middle = Center {
            longitude: (bounds.west + bounds.east) / 2.0,
            latitude: (bounds.south + bounds.north) / 2.0,
            zoom: min_zoom,
        };
        Header {
            root: Section::default(),
            metadata: Section::default(),
            leaves: Section::default(),
            tiles: Section {
                offset: 0,
                length: contents
                    .iter()
                    .map(|content| u64::from(content.length))
                    .sum(),
            },
            addressed_tiles: self.tiles.len() as u64,
            tile_entries: entries.len() as u64,
            tile_contents: contents.len() as u64,
            clustered: true,
            internal: Coding::Gzip,
            coding: Some(self.description.coding),
            format: self.description.tile_format,
            min_zoom,
            max_zoom,
            bounds,
            center: self.description.center.unwrap_or(middle),
        }
    }

    fn copy(&self, order: &[Content], to: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::new();
        for content in order {
            bytes.resize(content.length as usize, 0);
            self.spool
                .get_ref()
                .read_exact_at(&mut bytes, content.offset)?;
            to.write_all(&bytes)?;
        }
        Ok(())
    }
}

impl Entry {
    fn continues_with(&self, id: u64, offset: u64) -> bool {
        self.id + u64::from(self.run) == id && self.offset == offset && self.run < u32::MAX
    }
}

impl Header {
    /// Root, metadata, leaves and tiles, one after the other.
    fn place(&mut self, directories: &layout::Directories, metadata: &[u8]) {
        let mut offset = HEADER_BYTES as u64;
        let mut next = |length: u64| {
            let section = Section { offset, length };
            offset += length;
            section
        };
        self.root = next(directories.root.len() as u64);
        self.metadata = next(metadata.len() as u64);
        self.leaves = next(directories.leaves.len() as u64);
        self.tiles = next(self.tiles.length);
    }
}

#[cfg(test)]
mod tests;
