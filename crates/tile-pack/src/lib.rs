//! Tile packs: bounded readers of PMTiles and MBTiles that survive any file, and writers of both.
//!
//! A pack is a file somebody else made. Every offset, length and count in it is checked before it is used, whatever is
//! inflated is capped, and what is wrong becomes a [`PackError`] that says what and where.

pub use about::{About, Bounds, Center, Kind, TileFormat};
pub use address::TileAddress;
pub use coding::Coding;
pub use copy::copy;
pub use error::{Fault, PackError, Part};
pub use file::RawFile;
pub use limits::{Limits, Wait};
pub use pack::{Pack, Tile};
pub use pmtiles::DirectoryCache;
pub use selection::Selection;
pub use verify::Verified;
pub use writer::{Description, PackWriter, Written};

mod about;
mod address;
mod coding;
mod copy;
mod error;
mod file;
mod limits;
mod mbtiles;
mod pack;
mod pmtiles;
mod selection;
mod verify;
mod writer;

// The laws are shared with the fuzz targets, which know this crate by its name and cannot see into it.
#[cfg(test)]
extern crate self as tile_pack;

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "public for the fuzz targets, which include the files"
)]
mod exercise;
