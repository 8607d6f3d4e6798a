//! How much a store may hold.

/// The most that a store holds. Beyond it the least wanted makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of all objects together, as they lie on the disk: in whole blocks of 4 KiB and with their proofs.
    pub bytes: u64,
    /// Of one object.
    pub object_bytes: u64,
    /// How many objects, those being written included.
    pub objects: u64,
    /// How many records.
    pub records: u64,
    /// Of one record. All records together take at most twice `records * record_bytes` on the disk, and for the
    /// moment in which their log is rewritten three times.
    pub record_bytes: usize,
}

impl Limits {
    /// Limits for a store of `bytes`, for what the web is made of: no object above a quarter, many small ones.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self {
            bytes,
            object_bytes: bytes / 4,
            objects: 1_000_000,
            records: 1_000_000,
            record_bytes: 64 * 1024,
        }
    }
}

impl Default for Limits {
    /// 1 GiB.
    fn default() -> Self {
        Self::of_bytes(1 << 30)
    }
}
