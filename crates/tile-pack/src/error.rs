//! What is wrong with a pack, and where. For operators: clients are told less.

use std::fmt;
use std::io;

use crate::address::TileAddress;

/// Why a pack cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The bytes are not in memory, and the read was not to wait.
    #[error("the bytes are not in memory")]
    WouldBlock,
    /// All connections to the file are in use.
    #[error("all connections to the pack are in use")]
    Busy,
    /// A query took longer than it may.
    #[error("a query took longer than it may")]
    Slow,
    /// The file was truncated or written to since it was opened.
    #[error(
        "the file was changed while it was open; replace packs by renaming a new file over them"
    )]
    Changed,
    /// A database that somebody is writing to, or that a writer left unfinished.
    #[error("the database has a journal beside it; let its writer finish, or checkpoint it")]
    Unfinished,
    /// Not a regular file, or none of the formats that are read here.
    #[error("neither PMTiles nor MBTiles")]
    NotAPack,
    /// PMTiles of another version.
    #[error("PMTiles version {0}; only version 3 is read")]
    Version(u8),
    /// The file contradicts its format or itself.
    #[error("{fault}, in the {part}{}", at_byte(*offset))]
    Malformed {
        /// What is wrong.
        fault: Fault,
        /// In which part.
        part: Part,
        /// Where that part begins in the file; nothing in a database.
        offset: Option<u64>,
    },
    /// A part exceeds its limit.
    #[error("the {part}{} exceeds {limit} bytes", at_byte(*offset))]
    TooLarge {
        /// Which part.
        part: Part,
        /// Where it begins in the file; nothing in a database.
        offset: Option<u64>,
        /// What it may have.
        limit: u64,
    },
    /// A tile is not what it should be.
    #[error("{fault}, in tile {}/{}/{}", at.z(), at.x(), at.y())]
    BadTile {
        /// What is wrong.
        fault: Fault,
        /// Which tile.
        at: TileAddress,
    },
    /// A pack without tiles is none, and is not written.
    #[error("there is no tile to write")]
    NoTiles,
    /// The file cannot be opened, read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// SQLite refuses the file, or what its views do.
    #[error("SQLite: {0}")]
    Sqlite(rusqlite::Error),
}

impl PackError {
    /// A stable word for metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            PackError::WouldBlock => "would_block",
            PackError::Busy => "busy",
            PackError::Slow => "slow",
            PackError::Changed => "changed",
            PackError::Unfinished => "unfinished",
            PackError::NotAPack => "not_a_pack",
            PackError::Version(_) => "version",
            PackError::Malformed { .. } => "malformed",
            PackError::TooLarge { .. } => "too_large",
            PackError::BadTile { .. } => "bad_tile",
            PackError::NoTiles => "no_tiles",
            PackError::Io(_) => "io",
            PackError::Sqlite(_) => "sqlite",
        }
    }

    /// Whether the same call may succeed later, with the file as it is.
    pub fn is_transient(&self) -> bool {
        match self {
            PackError::WouldBlock | PackError::Busy | PackError::Slow => true,
            // Another pack may have used up what SQLite has.
            PackError::Sqlite(error) => {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::OutOfMemory)
            }
            _ => false,
        }
    }
}

fn at_byte(offset: Option<u64>) -> String {
    offset.map_or_else(String::new, |offset| format!(" at byte {offset}"))
}

/// The part of a pack that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first 127 bytes of PMTiles.
    Header,
    /// The root directory.
    Root,
    /// A leaf directory.
    Leaf,
    /// The metadata.
    Metadata,
    /// A tile.
    Tile,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Header => "header",
            Part::Root => "root directory",
            Part::Leaf => "leaf directory",
            Part::Metadata => "metadata",
            Part::Tile => "tile",
        })
    }
}

/// What a file got wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file ends before the part does.
    Short,
    /// A section lies outside the file, or where it may not.
    Section,
    /// A code the format does not know.
    UnknownCode,
    /// The smallest zoom is above the largest, or a zoom above 31.
    Zoom,
    /// A number ends too late or not at all.
    Number,
    /// More entries are announced than bytes are there for.
    Count,
    /// No entry at all.
    Empty,
    /// Entries do not ascend, or overlap.
    Order,
    /// An entry beyond the last tile there can be.
    TileId,
    /// An entry's bytes lie outside their section, or it has none.
    Place,
    /// Directories nest deeper than they may, or in a circle.
    Depth,
    /// The compressed bytes are damaged.
    Compression,
    /// Not a JSON object.
    Json,
    /// The bytes are not what the format of the pack says.
    Content,
    /// More bytes than a tile may have.
    Size,
    /// A tile that is there twice.
    Twice,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Short => "the file ends too early",
            Fault::Section => "a section lies outside the file or its place",
            Fault::UnknownCode => "a code that is not known",
            Fault::Zoom => "impossible zoom levels",
            Fault::Number => "a broken number",
            Fault::Count => "more entries announced than there are bytes for",
            Fault::Empty => "no entries",
            Fault::Order => "entries that overlap or do not ascend",
            Fault::TileId => "an entry beyond the last tile there can be",
            Fault::Place => "an entry whose bytes lie outside their section",
            Fault::Depth => "directories nested too deep or in a circle",
            Fault::Compression => "damaged compression",
            Fault::Json => "not a JSON object",
            Fault::Content => "bytes of another format",
            Fault::Size => "more bytes than a tile may have",
            Fault::Twice => "the second of one address",
        })
    }
}
