//! Any header before a pack that is otherwise good: answered by the laws of whole packs.

use super::whole;

/// What follows the header: a root directory of three tiles, metadata, tiles.
const REST: &[u8] = b"\x03\x00\x01\x02\x01\x01\x01\x04\x04\x04\x01\x00\x00{}tileTILEtile";

/// The first bytes are a header, up to its length; sections that point into the rest find something there.
pub fn exercise(data: &[u8]) {
    let mut file = b"PMTiles\x03".to_vec();
    file.extend(data.iter().take(119));
    file.resize(127, 0);
    file.extend(REST);
    whole::exercise(&file);
    // As it came, also when it is none.
    whole::exercise(data);
}
