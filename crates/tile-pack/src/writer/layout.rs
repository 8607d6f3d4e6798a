//! Directories for many entries: one where it fits, else leaves and a root that points to them.

use std::io;

use crate::coding::Coding;
use crate::pmtiles::directory::encode;
use crate::pmtiles::header::ROOT_END_MAX;
use crate::pmtiles::{Entry, HEADER_BYTES};

/// Compressed directories.
#[derive(Debug)]
pub(super) struct Directories {
    pub(super) root: Vec<u8>,
    /// One after the other; empty where the root holds everything.
    pub(super) leaves: Vec<u8>,
}

const ROOT_BYTES_MAX: usize = ROOT_END_MAX as usize - HEADER_BYTES;
/// Entries of a leaf, to begin with: a few kilobytes to fetch for one tile.
const LEAF_ENTRIES: usize = 4096;

/// Lays out `entries`, which ascend. Leaves grow until the root has room for all pointers.
pub(super) fn directories(entries: &[Entry], coding: Coding) -> io::Result<Directories> {
    // What certainly does not fit need not be compressed to see it: an entry takes more than a byte.
    if entries.len() <= ROOT_BYTES_MAX {
        let root = compressed(coding, &encode(entries))?;
        if root.len() <= ROOT_BYTES_MAX {
            let leaves = Vec::new();
            return Ok(Directories { root, leaves });
        }
    }
    let mut leaf_entries = LEAF_ENTRIES;
    loop {
        let directories = with_leaves(entries, leaf_entries, coding)?;
        if directories.root.len() <= ROOT_BYTES_MAX {
            return Ok(directories);
        }
        leaf_entries *= 2;
    }
}

fn with_leaves(entries: &[Entry], leaf_entries: usize, coding: Coding) -> io::Result<Directories> {
    let mut leaves = Vec::new();
    let mut pointers = Vec::with_capacity(entries.len() / leaf_entries + 1);
    for part in entries.chunks(leaf_entries) {
        let leaf = compressed(coding, &encode(part))?;
        let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        pointers.push(Entry {
            id: part[0].id,
            offset: leaves.len() as u64,
            length: u32::try_from(leaf.len()).map_err(too_large)?,
            run: 0,
        });
        leaves.extend(leaf);
    }
    let root = compressed(coding, &encode(&pointers))?;
    Ok(Directories { root, leaves })
}

pub(super) fn compressed(coding: Coding, plain: &[u8]) -> io::Result<Vec<u8>> {
    let bytes = coding.deflate(plain)?;
    bytes.ok_or_else(|| io::ErrorKind::Unsupported.into())
}
