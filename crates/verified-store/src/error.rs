//! What can go wrong, in the terms in which a caller decides.

use crate::Hash;
use std::fmt;
use std::io;

/// Why the store did not do it. After any of them the caller can go on without the store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room, and none can be made.
    Full(Shortage),
    /// The disk takes no writes.
    ReadOnly,
    /// The object or record is larger than one may be.
    TooLarge {
        /// What one may be.
        limit: u64,
    },
    /// What was written is not what was announced; nothing was kept.
    Mismatch,
    /// An object that the record refers to is not here.
    Missing(Hash),
    /// The stored bytes do not match their hash, or could not be read. The object is no longer in the store.
    Damaged,
    /// The directory is not a store of this version, or another process has it open.
    Foreign(String),
    /// The store is closed, or this writing has failed before.
    Closed,
    /// The disk failed.
    Io(io::Error),
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The disk has no space, no inodes or no quota left.
    Disk,
    /// Of the store's own limits, because all that could go is being read or written.
    InUse,
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match error.kind() {
            // A limit on file size is a limit on what this process may store.
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full(Shortage::Disk),
            ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Io(error),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(Shortage::Disk) => f.write_str("the disk is full"),
            Self::Full(Shortage::InUse) => f.write_str("the store is full of what is in use"),
            Self::ReadOnly => f.write_str("the disk takes no writes"),
            Self::TooLarge { limit } => write!(f, "larger than {limit} bytes"),
            Self::Mismatch => f.write_str("not what was announced"),
            Self::Missing(hash) => write!(f, "refers to {hash}, which is not in the store"),
            Self::Damaged => f.write_str("the stored bytes are damaged"),
            Self::Foreign(why) => f.write_str(why),
            Self::Closed => f.write_str("closed"),
            Self::Io(error) => write!(f, "the disk failed: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
