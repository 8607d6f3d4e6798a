//! How much of a pack may be held at once, and whether a read may wait for the disk.

use std::time::Duration;

/// What reading one pack may cost. A pack that asks for more is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One directory, inflated. In memory it takes at most six times as much.
    pub directory_bytes: usize,
    /// The metadata, inflated.
    pub metadata_bytes: usize,
    /// One tile, as stored and as inflated.
    pub tile_bytes: usize,
    /// Decoded directories kept for lookups, of a pack that is opened with a cache of its own.
    pub directory_cache_bytes: usize,
    /// Levels of leaf directories below the root.
    pub depth: u8,
    /// One query of an MBTiles file.
    pub query_time: Duration,
    /// Connections to one MBTiles file, and so the most readers at once.
    pub connections: usize,
    /// Everything SQLite holds, of all packs together: the process has one such limit, and the lowest asked for holds.
    pub sqlite_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            directory_bytes: 1 << 20,
            metadata_bytes: 1 << 20,
            tile_bytes: 10 << 20,
            directory_cache_bytes: 16 << 20,
            depth: 3,
            query_time: Duration::from_secs(1),
            connections: 4,
            sqlite_bytes: 512 << 20,
        }
    }
}

/// Whether a read may wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Only what the page cache has; otherwise [`PackError::WouldBlock`](crate::PackError::WouldBlock).
    Never,
    /// As long as the disk takes.
    Allowed,
}
