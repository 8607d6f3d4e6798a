//! The same bytes for everybody: a file for a server of files, a tile of a pack for ours, a length for the others.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tile_pack::{Coding, Description, PackWriter, TileAddress, TileFormat};

use crate::peers::Kind;

/// The file of a server of files.
pub(super) const FILE: &str = "tile";
/// The pack, by its name.
pub(super) const PACK: &str = "bench";
const PACK_FILE: &str = "bench.pmtiles";

/// A tile as maps have them: compressed when it was made.
pub(super) struct Content {
    tile: Vec<u8>,
    pack: Vec<u8>,
}

impl Content {
    pub(super) fn of(bytes: usize) -> Result<Self, String> {
        let tile = compressed_to(bytes).map_err(|error| format!("no tile: {error}"))?;
        let pack = pack_of(&tile).map_err(|error| format!("no pack: {error}"))?;
        Ok(Self { tile, pack })
    }

    pub(super) fn files(&self) -> [(&'static str, &[u8]); 2] {
        [(FILE, &self.tile), (PACK_FILE, &self.pack)]
    }

    /// Where a server has it.
    pub(super) fn path(&self, kind: Kind) -> String {
        match kind {
            Kind::Nginx => format!("/{FILE}"),
            Kind::Earlier | Kind::Macronode => format!("/tiles/{PACK}/0/0/0.mvt"),
            Kind::Varnish | Kind::Bare | Kind::Haproxy => format!("/bytes/{}", self.tile.len()),
        }
    }
}

/// What cannot be compressed any further, as gzip of exactly this length.
fn compressed_to(bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut inside = bytes;
    loop {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
        gzip.write_all(&noise(inside))?;
        let whole = gzip.finish()?;
        if whole.len() == bytes {
            return Ok(whole);
        }
        inside = (inside + bytes).saturating_sub(whole.len());
    }
}

/// Bytes without a pattern, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn pack_of(tile: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let path = home.path().join(PACK_FILE);
    let description = Description::new(TileFormat::Mvt, Coding::Gzip);
    let mut writer = PackWriter::create(&path, description)?;
    let top = TileAddress::new(0, 0, 0).ok_or("there is a tile at the top")?;
    writer.add(top, &tile.to_vec().into())?;
    writer.finish()?;
    Ok(std::fs::read(path)?)
}
