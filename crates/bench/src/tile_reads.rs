//! Tiles read out of packs, beside the readers most others use: the `pmtiles` crate over mapped memory, and a plain
//! SELECT for MBTiles.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use pmtiles::{AsyncPmTilesReader, HashMapCache, TileCoord};
use rusqlite::{Connection, params};
use tempfile::TempDir;
use tile_pack::{
    Coding, Description, Limits, Pack, PackError, PackWriter, TileAddress, TileFormat, Wait,
};

use crate::clock::Clock;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "tiles",
    about: "tiles read out of PMTiles with leaves and out of MBTiles, each after another anywhere",
    metrics,
};

/// 16,384 tiles: too many for a root directory alone.
const ZOOM: u8 = 7;
const TILES: u32 = 1 << (2 * ZOOM);
const TILE_BYTES: u32 = 2048;
/// Far apart, and each of them once before any comes again.
const STRIDE: u32 = 40_503;

fn metrics(effort: Effort) -> Vec<Metric> {
    let reads = effort.scaled(100_000);
    let packs = Rc::new(Packs::new().expect("packs can be written where tests run"));
    let beside = |name, file: &Path, rival, theirs| Metric {
        name,
        unit: "ns/tile",
        ours: ours(&packs, file, reads),
        peer: Peer::Rival {
            name: rival,
            theirs,
        },
        goal_ratio: 1.0,
    };
    let mapped = mapped(&packs, reads);
    let selected = selected(&packs, reads);
    vec![
        beside("pmtiles", &packs.pmtiles, "pmtiles crate", mapped),
        beside("mbtiles", &packs.mbtiles, "plain SELECT", selected),
    ]
}

/// The same tiles in both formats.
struct Packs {
    pmtiles: PathBuf,
    mbtiles: PathBuf,
    _home: TempDir,
}

type Failure = Box<dyn std::error::Error>;

impl Packs {
    fn new() -> Result<Self, Failure> {
        let home = tempfile::tempdir()?;
        let (pmtiles, mbtiles) = (home.path().join("t.pmtiles"), home.path().join("t.mbtiles"));
        write_pmtiles(&pmtiles)?;
        write_mbtiles(&mbtiles)?;
        Ok(Self {
            pmtiles,
            mbtiles,
            _home: home,
        })
    }
}

fn address(number: u32) -> TileAddress {
    let number = number % TILES;
    let (x, y) = (number >> ZOOM, number & ((1 << ZOOM) - 1));
    TileAddress::new(ZOOM, x, y).expect("a number below their count is that of a tile")
}

/// Of no two tiles the same.
fn content(at: TileAddress) -> Bytes {
    let number = (at.x() << ZOOM) | at.y();
    let words = (0..TILE_BYTES / 4).flat_map(|word| (number ^ word.rotate_left(16)).to_be_bytes());
    words.collect()
}

fn write_pmtiles(path: &Path) -> Result<(), PackError> {
    let description = Description::new(TileFormat::Png, Coding::None);
    let mut writer = PackWriter::create(path, description)?;
    for number in 0..TILES {
        writer.add(address(number), &content(address(number)))?;
    }
    writer.finish().map(drop)
}

fn write_mbtiles(path: &Path) -> rusqlite::Result<()> {
    let mut database = Connection::open(path)?;
    database.execute_batch(
        "CREATE TABLE metadata (name TEXT, value TEXT);
         INSERT INTO metadata VALUES ('name', 't'), ('format', 'png');
         CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
         CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);",
    )?;
    let all = database.transaction()?;
    {
        let mut insert = all.prepare("INSERT INTO tiles VALUES (?1, ?2, ?3, ?4)")?;
        for at in (0..TILES).map(address) {
            insert.execute(params![at.z(), at.x(), at.tms_row(), &content(at)[..]])?;
        }
    }
    all.commit()
}

/// The cost of a tile when `read` says how many bytes it has.
fn anywhere(
    packs: &Rc<Packs>,
    reads: usize,
    mut read: impl FnMut(TileAddress) -> usize + 'static,
) -> Cost {
    let packs = packs.clone();
    let mut next = 0_u32;
    Box::new(move || {
        let _they_stay = &packs;
        let mut bytes = 0;
        let cost = Clock::Cpu.nanos_each(reads, || {
            for _ in 0..reads {
                next = next.wrapping_add(STRIDE);
                bytes += read(address(next));
            }
        });
        assert_eq!(bytes, reads * TILE_BYTES as usize, "every tile was there");
        cost
    })
}

fn ours(packs: &Rc<Packs>, file: &Path, reads: usize) -> Cost {
    let pack = Pack::open(file, &Limits::default()).expect("it was just written");
    anywhere(packs, reads, move |at| {
        let tile = pack.tile(at, Wait::Allowed).expect("it can be read");
        black_box(tile).map_or(0, |tile| tile.bytes.len())
    })
}

fn mapped(packs: &Rc<Packs>, reads: usize) -> Cost {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without threads can be had");
    let open = AsyncPmTilesReader::new_with_cached_path(HashMapCache::default(), &packs.pmtiles);
    let reader = runtime.block_on(open).expect("it was just written");
    anywhere(packs, reads, move |at| {
        let at = TileCoord::new(at.z(), at.x(), at.y()).expect("it is one for us");
        let tile = runtime.block_on(reader.get_tile(at));
        black_box(tile.expect("it can be read")).map_or(0, |tile| tile.len())
    })
}

fn selected(packs: &Rc<Packs>, reads: usize) -> Cost {
    const TILE: &str = "SELECT tile_data FROM tiles
        WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3";
    let database = Connection::open(&packs.mbtiles).expect("it was just written");
    anywhere(packs, reads, move |at| {
        let mut select = database.prepare_cached(TILE).expect("it is right");
        let tile = select.query_row(params![at.z(), at.x(), at.tms_row()], |row| {
            row.get::<_, Vec<u8>>(0)
        });
        black_box(tile.expect("it can be read")).len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ED-02
    #[test]
    fn all_readers_find_the_same_tiles() {
        let packs = Rc::new(Packs::new().unwrap());
        for file in [&packs.pmtiles, &packs.mbtiles] {
            let pack = Pack::open(file, &Limits::default()).unwrap();
            for at in [0, 1, STRIDE, TILES - 1].map(address) {
                let tile = pack.tile(at, Wait::Allowed).unwrap().unwrap();
                assert_eq!(tile.bytes, content(at));
            }
        }
        for mut cost in [
            ours(&packs, &packs.pmtiles, 50),
            mapped(&packs, 50),
            ours(&packs, &packs.mbtiles, 50),
            selected(&packs, 50),
        ] {
            // Each says itself whether every tile was there.
            assert!(cost() > 0.0);
        }
    }
}
