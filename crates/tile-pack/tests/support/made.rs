//! Packs made by hand, so that each part can be got wrong.

use std::path::PathBuf;

/// The parts of a pack, to be got wrong one by one. Directories are not compressed unless they say so.
pub(crate) struct Made {
    pub(crate) header: Vec<u8>,
    pub(crate) root: Vec<u8>,
    pub(crate) metadata: Vec<u8>,
    pub(crate) leaves: Vec<u8>,
    pub(crate) tiles: Vec<u8>,
}

pub(crate) const NONE: u8 = 1;
pub(crate) const GZIP: u8 = 2;
pub(crate) const BROTLI: u8 = 3;
pub(crate) const ZSTD: u8 = 4;

pub(crate) fn numbers(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &number in numbers {
        let mut number = number;
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes
}

impl Default for Made {
    /// One tile, in order.
    fn default() -> Self {
        let mut header = vec![0; 127];
        header[..8].copy_from_slice(b"PMTiles\x03");
        header[97] = NONE;
        header[98] = NONE;
        header[101] = 5;
        Made {
            header,
            root: numbers(&[1, 0, 1, 4, 1]),
            metadata: b"{}".to_vec(),
            leaves: vec![],
            tiles: b"tile".to_vec(),
        }
    }
}

impl Made {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.clone();
        let parts = [&self.root, &self.metadata, &self.leaves, &self.tiles];
        let mut offset = 127_u64;
        for (at, part) in parts.iter().enumerate() {
            bytes[8 + 16 * at..][..8].copy_from_slice(&offset.to_le_bytes());
            bytes[16 + 16 * at..][..8].copy_from_slice(&(part.len() as u64).to_le_bytes());
            offset += part.len() as u64;
            bytes.extend(*part);
        }
        bytes
    }
}

pub(crate) struct Placed {
    _directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn placed(bytes: &[u8]) -> Placed {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostile.pmtiles");
    std::fs::write(&path, bytes).unwrap();
    Placed {
        _directory: directory,
        path,
    }
}
