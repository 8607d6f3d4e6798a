//! The first 127 bytes of PMTiles: where everything is, checked against the file.

use crate::about::{Bounds, Center, TileFormat};
use crate::address::ZOOM_MAX;
use crate::coding::Coding;
use crate::error::{Fault, PackError, Part};

/// What every version begins with.
pub(crate) const MAGIC: &[u8; 7] = b"PMTiles";
pub(crate) const HEADER_BYTES: usize = 127;
/// Where the root directory ends at the latest, so that readers get it with their first request.
pub(crate) const ROOT_END_MAX: u64 = 16_384;
const VERSION: u8 = 3;

/// A stretch of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Section {
    /// Where it ends, if that is within the numbers.
    pub(crate) fn end(self) -> Option<u64> {
        self.offset.checked_add(self.length)
    }
}

/// The header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) root: Section,
    pub(crate) metadata: Section,
    pub(crate) leaves: Section,
    pub(crate) tiles: Section,
    /// 0 is unknown, for all three.
    pub(crate) addressed_tiles: u64,
    pub(crate) tile_entries: u64,
    pub(crate) tile_contents: u64,
    pub(crate) clustered: bool,
    pub(crate) internal: Coding,
    /// Nothing where the pack does not say.
    pub(crate) coding: Option<Coding>,
    pub(crate) format: TileFormat,
    pub(crate) min_zoom: u8,
    pub(crate) max_zoom: u8,
    pub(crate) bounds: Bounds,
    pub(crate) center: Center,
}

fn malformed(fault: Fault) -> PackError {
    PackError::Malformed {
        fault,
        part: Part::Header,
        offset: Some(0),
    }
}

impl Header {
    /// Reads the header of a file of `file_length` bytes.
    ///
    /// The version must be the number 3. A fixture that is copied about has the digit there instead; other readers
    /// refuse it, and so does this one.
    pub(crate) fn decode(bytes: &[u8], file_length: u64) -> Result<Header, PackError> {
        if !bytes.starts_with(MAGIC) {
            return Err(PackError::NotAPack);
        }
        let bytes: &[u8; HEADER_BYTES] =
            bytes.first_chunk().ok_or_else(|| malformed(Fault::Short))?;
        if bytes[7] != VERSION {
            return Err(PackError::Version(bytes[7]));
        }
        let header = Header {
            root: section(bytes, 8),
            metadata: section(bytes, 24),
            leaves: section(bytes, 40),
            tiles: section(bytes, 56),
            addressed_tiles: u64_at(bytes, 72),
            tile_entries: u64_at(bytes, 80),
            tile_contents: u64_at(bytes, 88),
            clustered: bytes[96] == 1,
            internal: coding(bytes[97])?.ok_or_else(|| malformed(Fault::UnknownCode))?,
            coding: coding(bytes[98])?,
            format: format(bytes[99]),
            min_zoom: bytes[100],
            max_zoom: bytes[101],
            bounds: Bounds {
                west: degrees_at(bytes, 102),
                south: degrees_at(bytes, 106),
                east: degrees_at(bytes, 110),
                north: degrees_at(bytes, 114),
            },
            center: Center {
                zoom: bytes[118],
                longitude: degrees_at(bytes, 119),
                latitude: degrees_at(bytes, 123),
            },
        };
        header.check(file_length).map_err(malformed)?;
        Ok(header)
    }

    /// The bytes of this header.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = VERSION;
        let sections = [self.root, self.metadata, self.leaves, self.tiles];
        let places = sections.iter().flat_map(|part| [part.offset, part.length]);
        let counts = [self.addressed_tiles, self.tile_entries, self.tile_contents];
        for (at, number) in places.chain(counts).enumerate() {
            bytes[8 + 8 * at..][..8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[96] = self.clustered.into();
        bytes[97] = coding_code(Some(self.internal));
        bytes[98] = coding_code(self.coding);
        bytes[99] = format_code(self.format);
        bytes[100] = self.min_zoom;
        bytes[101] = self.max_zoom;
        let Bounds {
            west,
            south,
            east,
            north,
        } = self.bounds;
        for (at, degrees) in [west, south, east, north].into_iter().enumerate() {
            bytes[102 + 4 * at..][..4].copy_from_slice(&fixed(degrees));
        }
        bytes[118] = self.center.zoom;
        bytes[119..123].copy_from_slice(&fixed(self.center.longitude));
        bytes[123..127].copy_from_slice(&fixed(self.center.latitude));
        bytes
    }

    fn check(&self, file_length: u64) -> Result<(), Fault> {
        for section in [self.root, self.metadata, self.leaves, self.tiles] {
            if section.end().is_none_or(|end| end > file_length) {
                return Err(Fault::Section);
            }
        }
        let root_is_near = self.root.end().is_some_and(|end| end <= ROOT_END_MAX);
        if self.root.offset < HEADER_BYTES as u64 || !root_is_near {
            return Err(Fault::Section);
        }
        if self.root.length == 0 {
            return Err(Fault::Empty);
        }
        match self.min_zoom <= self.max_zoom && self.max_zoom <= ZOOM_MAX {
            true => Ok(()),
            false => Err(Fault::Zoom),
        }
    }
}

fn section(bytes: &[u8; HEADER_BYTES], at: usize) -> Section {
    Section {
        offset: u64_at(bytes, at),
        length: u64_at(bytes, at + 8),
    }
}

fn u64_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn degrees_at(bytes: &[u8; HEADER_BYTES], at: usize) -> f64 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    f64::from(i32::from_le_bytes(number)) / 1e7
}

fn fixed(degrees: f64) -> [u8; 4] {
    // `as` saturates, which is what a degree beyond all degrees deserves.
    ((degrees * 1e7).round() as i32).to_le_bytes()
}

/// Nothing for "unknown".
fn coding(code: u8) -> Result<Option<Coding>, PackError> {
    Ok(match code {
        0 => None,
        1 => Some(Coding::None),
        2 => Some(Coding::Gzip),
        3 => Some(Coding::Brotli),
        4 => Some(Coding::Zstd),
        _ => return Err(malformed(Fault::UnknownCode)),
    })
}

fn coding_code(coding: Option<Coding>) -> u8 {
    match coding {
        None => 0,
        Some(Coding::None) => 1,
        Some(Coding::Gzip) => 2,
        Some(Coding::Brotli) => 3,
        Some(Coding::Zstd) => 4,
    }
}

/// Formats to come are served as bytes, so an unknown one is no mistake.
fn format(code: u8) -> TileFormat {
    match code {
        1 => TileFormat::Mvt,
        2 => TileFormat::Png,
        3 => TileFormat::Jpeg,
        4 => TileFormat::Webp,
        5 => TileFormat::Avif,
        6 => TileFormat::Mlt,
        _ => TileFormat::Other,
    }
}

fn format_code(format: TileFormat) -> u8 {
    match format {
        TileFormat::Other => 0,
        TileFormat::Mvt => 1,
        TileFormat::Png => 2,
        TileFormat::Jpeg => 3,
        TileFormat::Webp => 4,
        TileFormat::Avif => 5,
        TileFormat::Mlt => 6,
    }
}

#[cfg(test)]
mod tests;
