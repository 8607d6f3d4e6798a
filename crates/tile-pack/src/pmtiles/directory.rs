//! Directories of PMTiles: columns of numbers that become entries, each checked, and found by halving.

use crate::address::{LAST_ID, last_id};
use crate::error::Fault;

use super::varint;

/// One entry: a run of tiles that share their bytes, or a pointer to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The first tile.
    pub(crate) id: u64,
    /// From the beginning of its section.
    pub(crate) offset: u64,
    /// Never 0.
    pub(crate) length: u32,
    /// How many tiles; 0 is a leaf.
    pub(crate) run: u32,
}

const _: () = assert!(size_of::<Entry>() == 24);

impl Entry {
    pub(crate) fn is_leaf(&self) -> bool {
        self.run == 0
    }

    /// Where its bytes end, if that is within the numbers.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.length.into())
    }
}

/// What entries must keep to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Bytes of the tile section.
    pub(crate) tiles: u64,
    /// Bytes of the leaf section.
    pub(crate) leaves: u64,
    /// The last zoom the header claims.
    pub(crate) max_zoom: u8,
}

/// A directory. Its entries ascend, do not overlap, and lie within their sections.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    entries: Box<[Entry]>,
}

/// The least an entry takes: one byte in each of the four columns.
const ENTRY_BYTES_MIN: usize = 4;

impl Directory {
    /// Reads a directory from its inflated bytes.
    pub(crate) fn decode(mut bytes: &[u8], frame: Frame) -> Result<Directory, Fault> {
        let bytes = &mut bytes;
        let count = number(bytes)?;
        // Before anything is allocated for them.
        let count = match usize::try_from(count) {
            Ok(0) => return Err(Fault::Empty),
            Ok(count) if count <= bytes.len() / ENTRY_BYTES_MIN => count,
            _ => return Err(Fault::Count),
        };
        let mut entries = ids(bytes, count)?;
        for entry in &mut entries {
            entry.run = number(bytes)?.try_into().map_err(|_| Fault::TileId)?;
        }
        for entry in &mut entries {
            entry.length = number(bytes)?.try_into().map_err(|_| Fault::Place)?;
        }
        offsets(bytes, &mut entries)?;
        check(&entries, frame)?;
        Ok(Directory {
            entries: entries.into_boxed_slice(),
        })
    }

    /// The entry that holds a tile, or the leaf that may.
    pub(crate) fn find(&self, id: u64) -> Option<&Entry> {
        let after = self.entries.partition_point(|entry| entry.id <= id);
        let entry = &self.entries[after.checked_sub(1)?];
        let is_in_run = id - entry.id < entry.run.into();
        (entry.is_leaf() || is_in_run).then_some(entry)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Directory>() + size_of_val(&*self.entries)
    }
}

/// The bytes of a directory, before compression.
pub(crate) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(&mut bytes, entries.len() as u64);
    let mut last = 0;
    for entry in entries {
        varint::put(&mut bytes, entry.id - last);
        last = entry.id;
    }
    for entry in entries {
        varint::put(&mut bytes, entry.run.into());
    }
    for entry in entries {
        varint::put(&mut bytes, entry.length.into());
    }
    let mut expected = None;
    for entry in entries {
        let follows = expected == Some(entry.offset);
        varint::put(&mut bytes, if follows { 0 } else { entry.offset + 1 });
        expected = entry.end();
    }
    bytes
}

fn number(bytes: &mut &[u8]) -> Result<u64, Fault> {
    varint::take(bytes).ok_or(Fault::Number)
}

fn ids(bytes: &mut &[u8], count: usize) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::with_capacity(count);
    let mut id = 0_u64;
    for _ in 0..count {
        id = id.checked_add(number(bytes)?).ok_or(Fault::TileId)?;
        entries.push(Entry {
            id,
            offset: 0,
            length: 0,
            run: 0,
        });
    }
    Ok(entries)
}

/// An offset of 0 continues where the entry before ended; other offsets are one more than they are.
fn offsets(bytes: &mut &[u8], entries: &mut [Entry]) -> Result<(), Fault> {
    let mut expected = None;
    for entry in entries {
        entry.offset = match number(bytes)?.checked_sub(1) {
            Some(offset) => offset,
            None => expected.ok_or(Fault::Place)?,
        };
        expected = Some(entry.end().ok_or(Fault::Place)?);
    }
    Ok(())
}

fn check(entries: &[Entry], frame: Frame) -> Result<(), Fault> {
    let mut free = 0;
    for entry in entries {
        if entry.id < free {
            return Err(Fault::Order);
        }
        let last = entry.id.checked_add(u64::from(entry.run).saturating_sub(1));
        let last = last.filter(|last| *last <= LAST_ID).ok_or(Fault::TileId)?;
        // A run past the last zoom is how a small file claims billions of tiles. A single tile there is a slip.
        if entry.run > 1 && last > last_id(frame.max_zoom) {
            return Err(Fault::TileId);
        }
        let section = match entry.is_leaf() {
            true => frame.leaves,
            false => frame.tiles,
        };
        if entry.length == 0 || entry.end().is_none_or(|end| end > section) {
            return Err(Fault::Place);
        }
        free = last + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
