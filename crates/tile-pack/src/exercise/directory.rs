//! Any bytes as root and leaf directories: answered by the laws of whole packs.

use super::whole;

/// Bytes of the section of tiles.
const TILES: usize = 600;

/// The first byte picks the compression, the second how much of the rest is the root; what follows are leaves.
pub fn exercise(data: &[u8]) {
    let [coding, split, rest @ ..] = data else {
        return;
    };
    let split = usize::from(*split).min(rest.len());
    let (root, leaves) = rest.split_at(split);
    let mut file = b"PMTiles\x03".to_vec();
    let mut offset = 127_u64;
    for length in [root.len(), 0, leaves.len(), TILES] {
        file.extend(offset.to_le_bytes());
        file.extend((length as u64).to_le_bytes());
        offset += length as u64;
    }
    file.resize(127, 0);
    file[97] = coding % 4 + 1;
    file[98] = 1;
    file[101] = 31;
    file.extend(root);
    file.extend(leaves);
    file.extend((0..TILES).map(|at| at as u8));
    whole::exercise(&file);
}
