//! Tiles read out of packs, beside the readers most others use: the `pmtiles` crate over mapped memory, and a plain
//! SELECT for MBTiles.
//!
//! Mapped memory is what no read comes near, and no goal: a page that is not there holds up the thread that touches it,
//! and a file cut short ends the process. Ours asks the system twice a tile, for the bytes and for whether the file is
//! still what it was.

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
    let beside = |name, file: &Path, rival, theirs, goal_ratio| Metric {
        name,
        unit: "ns/tile",
        ours: ours(&packs, file, reads),
        peer: Peer::Rival {
            name: rival,
            theirs,
        },
        goal_ratio,
    };
    let none = f64::INFINITY;
    let mapped = mapped(&packs, reads);
    let selected = selected(&packs, reads);
    vec![
        beside("pmtiles", &packs.pmtiles, "pmtiles, mapped", mapped, none),
        beside("mbtiles", &packs.mbtiles, "plain SELECT", selected, 1.0),
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

/// The cost of a tile that `read` finds, down to its last byte: who sends it copies it.
fn anywhere<T: AsRef<[u8]>>(
    packs: &Rc<Packs>,
    reads: usize,
    mut read: impl FnMut(TileAddress) -> Option<T> + 'static,
) -> Cost {
    let packs = packs.clone();
    let mut next = 0_u32;
    Box::new(move || {
        let _they_stay = &packs;
        let mut sent = [0; TILE_BYTES as usize];
        let mut whole = 0;
        let cost = Clock::Cpu.nanos_each(reads, || {
            for _ in 0..reads {
                next = next.wrapping_add(STRIDE);
                let tile = read(address(next));
                if let Some(tile) = tile
                    .as_ref()
                    .map(T::as_ref)
                    .filter(|tile| tile.len() == sent.len())
                {
                    sent.copy_from_slice(tile);
                    black_box(&sent);
                    whole += 1;
                }
            }
        });
        assert_eq!(whole, reads, "every tile was there");
        cost
    })
}

fn ours(packs: &Rc<Packs>, file: &Path, reads: usize) -> Cost {
    let pack = Pack::open(file, &Limits::default()).expect("it was just written");
    anywhere(packs, reads, move |at| {
        let tile = pack.tile(at, Wait::Allowed).expect("it can be read");
        tile.map(|tile| tile.bytes)
    })
}

fn mapped(packs: &Rc<Packs>, reads: usize) -> Cost {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without threads can be had");
    let open = AsyncPmTilesReader::new_with_cached_path(HashMapCache::default(), &packs.pmtiles);
    let reader = runtime.block_on(open).expect("it was just written");
    anywhere(packs, reads, move |at| {
        let at = TileCoord::new(at.z(), at.x(), at.y()).expect("it is one for us");
        runtime
            .block_on(reader.get_tile(at))
            .expect("it can be read")
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
        Some(tile.expect("it can be read"))
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
