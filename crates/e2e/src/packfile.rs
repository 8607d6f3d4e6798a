//! Small PMTiles files made by hand, good ones and such as nobody should make. Written from the format's description
//! alone: the node's own writer would share the mistakes of its reader.

use std::collections::BTreeMap;

/// A pack in the making.
#[derive(Clone, Debug)]
pub struct PackFile {
    tiles: BTreeMap<u64, Vec<u8>>,
    zooms: (u8, u8),
    coding: u8,
    kind: u8,
    metadata: String,
}

impl Default for PackFile {
    fn default() -> Self {
        Self {
            tiles: BTreeMap::new(),
            zooms: (31, 0),
            coding: 1,
            kind: 2,
            metadata: "{}".to_owned(),
        }
    }
}

impl PackFile {
    /// Of vector tiles in a coding: 1 none, 2 gzip, 3 Brotli, 4 Zstandard.
    #[must_use]
    pub fn vectors(coding: u8) -> Self {
        Self {
            coding,
            kind: 1,
            ..Self::default()
        }
    }

    /// With these metadata, a JSON object.
    #[must_use]
    pub fn metadata(mut self, json: &str) -> Self {
        json.clone_into(&mut self.metadata);
        self
    }

    /// One more tile.
    #[must_use]
    pub fn tile(mut self, z: u8, x: u32, y: u32, bytes: &[u8]) -> Self {
        self.tiles.insert(number(z, x, y), bytes.to_vec());
        self.zooms = (self.zooms.0.min(z), self.zooms.1.max(z));
        self
    }

    /// The file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let root = directory(&self.tiles);
        let data: Vec<u8> = self.tiles.values().flatten().copied().collect();
        self.with_directory(&root, &data)
    }

    /// The file with this root directory in place of a true one.
    #[must_use]
    pub fn with_directory(&self, root: &[u8], data: &[u8]) -> Vec<u8> {
        let metadata = self.metadata.as_bytes();
        let at_root = HEADER as u64;
        let at_metadata = at_root + root.len() as u64;
        let at_leaves = at_metadata + metadata.len() as u64;
        let mut file = b"PMTiles\x03".to_vec();
        for number in [
            at_root,
            root.len() as u64,
            at_metadata,
            metadata.len() as u64,
            at_leaves,
            0,
            at_leaves,
            data.len() as u64,
            0,
            0,
            0,
        ] {
            file.extend(number.to_le_bytes());
        }
        file.extend([1, 1, self.coding, self.kind, self.zooms.0, self.zooms.1]);
        for degrees in [-180.0, -85.0, 180.0, 85.0] {
            file.extend(((degrees * 1e7) as i32).to_le_bytes());
        }
        file.push(self.zooms.0);
        file.extend([0; 8]);
        assert_eq!(file.len(), HEADER);
        [&file, root, metadata, data].concat()
    }
}

/// Bytes of the header.
pub const HEADER: usize = 127;

/// The columns of a directory, each tile beside the one before.
fn directory(tiles: &BTreeMap<u64, Vec<u8>>) -> Vec<u8> {
    let mut columns = Vec::new();
    put(&mut columns, tiles.len() as u64);
    let mut before = 0;
    for number in tiles.keys() {
        put(&mut columns, number - before);
        before = *number;
    }
    for _ in tiles {
        put(&mut columns, 1);
    }
    for tile in tiles.values() {
        put(&mut columns, tile.len() as u64);
    }
    for index in 0..tiles.len() {
        put(&mut columns, u64::from(index == 0));
    }
    columns
}

/// A number as directories have it.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A tile's place along the Hilbert curves of all zooms.
fn number(z: u8, mut x: u32, mut y: u32) -> u64 {
    let before = ((1_u64 << (2 * z)) - 1) / 3;
    let mut along = 0;
    for level in (0..z).rev() {
        let side = 1_u32 << level;
        let (right, low) = (u32::from(x & side != 0), u32::from(y & side != 0));
        along += u64::from(side) * u64::from(side) * u64::from((3 * right) ^ low);
        if low == 0 {
            if right == 1 {
                (x, y) = (
                    side.wrapping_sub(1).wrapping_sub(x),
                    side.wrapping_sub(1).wrapping_sub(y),
                );
            }
            (x, y) = (y, x);
        }
    }
    before + along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_tile_has_its_known_number() {
        assert_eq!(number(0, 0, 0), 0);
        assert_eq!(
            [
                number(1, 0, 0),
                number(1, 0, 1),
                number(1, 1, 1),
                number(1, 1, 0)
            ],
            [1, 2, 3, 4]
        );
        assert_eq!(number(12, 3423, 1763), 19_078_479);
    }
}
