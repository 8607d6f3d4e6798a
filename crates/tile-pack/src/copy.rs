//! One pack into another: all of it or a part, in either format.

use std::path::Path;

use bytes::Bytes;

use crate::about::{About, Bounds, Kind, TileFormat};
use crate::address::TileAddress;
use crate::coding::{Coding, NotInflated};
use crate::error::{Fault, PackError};
use crate::mbtiles::MbTilesWriter;
use crate::pack::{Pack, Tile};
use crate::selection::Selection;
use crate::writer::{Description, PackWriter, Written};

/// Names that the header of PMTiles and the rows of MBTiles state themselves.
const STATED: [&str; 5] = ["format", "minzoom", "maxzoom", "bounds", "center"];

/// Writes the selected tiles of a pack to `path`, in place of what stands there. `progress` is told how many tiles are
/// done and how many the pack has, or 0 when it does not say.
pub fn copy(
    from: &Pack,
    selection: &Selection,
    path: &Path,
    kind: Kind,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Written, PackError> {
    let description = description(from.about(), selection, kind);
    let (format, coding) = (description.tile_format, description.coding);
    let limit = from.limits().tile_bytes;
    let mut sink = match kind {
        Kind::PmTiles => Sink::PmTiles(Box::new(PackWriter::create(path, description)?)),
        Kind::MbTiles => Sink::MbTiles(Box::new(MbTilesWriter::create(path, description)?)),
    };
    let all = from.about().addressed_tiles.unwrap_or(0);
    let mut done = 0;
    // Tiles of a run share their bytes; once is enough to compress them anew.
    let mut last: Option<(Tile, Bytes)> = None;
    from.each_tile(selection, |at, tile| {
        let bytes = match &last {
            _ if tile.coding == coding || is_picture(format) => tile.bytes.clone(),
            Some((same, bytes)) if same.bytes.as_ptr() == tile.bytes.as_ptr() => bytes.clone(),
            _ => {
                let bytes = recoded(at, tile, coding, limit)?;
                last = Some((tile.clone(), bytes.clone()));
                bytes
            }
        };
        sink.add(at, &bytes)?;
        done += 1;
        progress(done, all);
        Ok::<_, PackError>(())
    })?;
    sink.finish()
}

enum Sink {
    PmTiles(Box<PackWriter>),
    MbTiles(Box<MbTilesWriter>),
}

impl Sink {
    fn add(&mut self, at: TileAddress, bytes: &Bytes) -> Result<(), PackError> {
        match self {
            Sink::PmTiles(writer) => writer.add(at, bytes),
            Sink::MbTiles(writer) => writer.add(at, bytes),
        }
    }

    fn finish(self) -> Result<Written, PackError> {
        match self {
            Sink::PmTiles(writer) => writer.finish(),
            Sink::MbTiles(writer) => writer.finish(),
        }
    }
}

fn description(about: &About, selection: &Selection, kind: Kind) -> Description {
    let mut description = Description::of(about);
    if let Some(chosen) = selection.bounds() {
        description.bounds = Some(common(chosen, about.bounds));
        // The old middle may lie outside.
        description.center = None;
    }
    for name in STATED {
        description.metadata.remove(name);
    }
    // Readers of MBTiles expect vector tiles in gzip.
    if kind == Kind::MbTiles && about.tile_format.is_vector() {
        description.coding = Coding::Gzip;
    }
    description
}

/// What both cover. Where they cross the date line or have nothing in common, what was chosen.
fn common(chosen: Bounds, whole: Bounds) -> Bounds {
    let both = Bounds {
        west: chosen.west.max(whole.west),
        south: chosen.south.max(whole.south),
        east: chosen.east.min(whole.east),
        north: chosen.north.min(whole.north),
    };
    let crosses = chosen.west > chosen.east || whole.west > whole.east;
    match crosses || both.west > both.east || both.south > both.north {
        true => chosen,
        false => both,
    }
}

fn is_picture(format: TileFormat) -> bool {
    !format.is_vector() && format != TileFormat::Other
}

fn recoded(at: TileAddress, tile: &Tile, to: Coding, limit: usize) -> Result<Bytes, PackError> {
    let bad = |fault| PackError::BadTile { fault, at };
    let plain = tile.coding.inflate(&tile.bytes, limit);
    let plain = plain.map_err(|why| match why {
        NotInflated::TooLarge => bad(Fault::Size),
        NotInflated::Broken => bad(Fault::Compression),
    })?;
    let bytes = to.deflate(&plain)?;
    Ok(bytes.ok_or(bad(Fault::Compression))?.into())
}
