//! Every tile, beside what an independent reader gives: packs of others, packs of our writer, packs of its writer.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use pmtiles::{
    AsyncPmTilesReader, HashMapCache, MmapBackend, PmTilesWriter, TileCoord, TileId, TileType,
};
use tile_pack::{
    Coding, Description, Kind, Limits, Pack, PackError, PackWriter, Selection, TileAddress,
    TileFormat, Wait,
};

type Oracle = AsyncPmTilesReader<MmapBackend, HashMapCache>;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The packs of others, and how many tiles each has.
const PACKS: [(&str, u64); 5] = [
    ("firenze.pmtiles", 16),
    ("leaf.pmtiles", 5),
    ("single_tile_brotli.pmtiles", 1),
    ("stamen_toner.pmtiles", 5),
    ("unclustered.pmtiles", 2),
];

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

async fn oracle(path: &Path) -> Arc<Oracle> {
    let reader = AsyncPmTilesReader::new_with_cached_path(HashMapCache::default(), path).await;
    Arc::new(reader.unwrap())
}

/// All numbers the oracle finds tiles for.
async fn numbers(oracle: &Arc<Oracle>) -> Vec<u64> {
    let entries = Arc::clone(oracle).entries();
    let coords = entries.flat_map(|entry| {
        let ids: Vec<u64> = entry.unwrap().iter_coords().map(TileId::value).collect();
        futures_util::stream::iter(ids)
    });
    coords.collect().await
}

/// Compares every tile both ways; says how many there were.
fn same_as_oracle(path: &Path) -> u64 {
    let pack = Pack::open(path, &Limits::default()).unwrap();
    runtime().block_on(async {
        let oracle = oracle(path).await;
        let expected = numbers(&oracle).await;
        let mut ours = Vec::new();
        pack.each_tile(&Selection::ALL, |at, tile| {
            ours.push((at.id(), tile.clone()));
            Ok::<_, PackError>(())
        })
        .unwrap();
        assert_eq!(ours.iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected);
        for (id, tile) in &ours {
            let at = TileAddress::from_id(*id).unwrap();
            let coord = TileCoord::new(at.z(), at.x(), at.y()).unwrap();
            assert_eq!(oracle.get_tile(coord).await.unwrap().unwrap(), tile.bytes);
            assert_eq!(pack.tile(at, Wait::Allowed).unwrap().as_ref(), Some(tile));
        }
        expected.len() as u64
    })
}

// req: ED-01
#[test]
fn every_tile_of_others_packs_is_what_the_oracle_reads() {
    for (name, tiles) in PACKS {
        assert_eq!(same_as_oracle(&data(name)), tiles, "{name}");
    }
}

// req: ED-01
#[test]
fn others_packs_verify() {
    for (name, tiles) in PACKS {
        let pack = Pack::open(&data(name), &Limits::default()).unwrap();
        let verified = pack.verify(&mut |_, _| ()).unwrap();
        assert_eq!(verified.tiles, tiles, "{name}");
        assert_eq!(verified.notes, Vec::<String>::new(), "{name}");
    }
}

/// Every tile of one is in the other.
fn check_same(one: &Pack, other: &Pack) {
    one.each_tile(&Selection::ALL, |at, tile| {
        assert_eq!(other.tile(at, Wait::Allowed)?.as_ref(), Some(tile));
        Ok::<_, PackError>(())
    })
    .unwrap();
}

// req: ED-01
#[test]
fn an_mbtiles_copy_has_the_same_tiles_and_turns_back_into_the_same_pack() {
    let directory = tempfile::tempdir().unwrap();
    for (name, tiles) in [PACKS[0], PACKS[3]] {
        let pack = Pack::open(&data(name), &Limits::default()).unwrap();
        let database = directory.path().join(name).with_extension("mbtiles");
        let written = tile_pack::copy(
            &pack,
            &Selection::ALL,
            &database,
            Kind::MbTiles,
            &mut |_, _| (),
        );
        assert_eq!(written.unwrap().tiles, tiles);
        let other = Pack::open(&database, &Limits::default()).unwrap();
        assert_eq!(other.about().kind, Kind::MbTiles);
        check_same(&pack, &other);
        assert_eq!(other.verify(&mut |_, _| ()).unwrap().tiles, tiles);
        let back = directory.path().join(name);
        tile_pack::copy(
            &other,
            &Selection::ALL,
            &back,
            Kind::PmTiles,
            &mut |_, _| (),
        )
        .unwrap();
        assert_eq!(same_as_oracle(&back), tiles);
        let back = Pack::open(&back, &Limits::default()).unwrap();
        check_same(&pack, &back);
        check_same(&other, &back);
        assert_eq!(back.about().bounds, pack.about().bounds);
        assert_eq!(back.about().tile_format, pack.about().tile_format);
        assert_eq!(back.about().coding, pack.about().coding);
    }
}

/// For packs too large to be kept here: every one of a directory, and the databases beside them.
#[test]
#[ignore = "needs a directory of packs: TILE_PACKS=… cargo test -p tile-pack --test oracle -- --ignored"]
fn every_tile_of_large_packs_is_what_the_oracle_reads() {
    let directory = PathBuf::from(std::env::var_os("TILE_PACKS").unwrap());
    for path in directory
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().path())
    {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let tiles = match extension {
            Some("pmtiles") => same_as_oracle(&path),
            Some("mbtiles") => same_as_beside(&path),
            _ => continue,
        };
        println!("{}: {tiles} tiles", path.display());
    }
}

fn same_as_beside(database: &Path) -> u64 {
    let open = |path: &Path| Pack::open(path, &Limits::default()).unwrap();
    let (database, pack) = (open(database), open(&database.with_extension("pmtiles")));
    let mut tiles = 0;
    database
        .each_tile(&Selection::ALL, |at, tile| {
            assert_eq!(pack.tile(at, Wait::Allowed)?.as_ref(), Some(tile));
            assert_eq!(database.tile(at, Wait::Allowed)?.as_ref(), Some(tile));
            tiles += 1;
            Ok::<_, PackError>(())
        })
        .unwrap();
    assert_eq!(pack.about().addressed_tiles, Some(tiles));
    tiles
}

const MANY: usize = 300_000;
const SEED: u64 = 0x70_6d_74;

/// Tiles with gaps, runs and repeats, ascending; the seed says which.
fn many() -> Vec<(TileAddress, Bytes)> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut id = 0;
    let mut bytes = Bytes::new();
    let mut tiles = Vec::with_capacity(MANY);
    while tiles.len() < MANY {
        id += if random.u8(..) < 200 {
            1
        } else {
            random.u64(1..50)
        };
        if bytes.is_empty() || random.u8(..) < 230 {
            // Fewer contents than tiles, so that some recur far apart.
            let content = random.u32(..200_000);
            bytes = Bytes::from(format!("tile {content}"));
        }
        tiles.push((TileAddress::from_id(id).unwrap(), bytes.clone()));
    }
    tiles
}

fn check_many(path: &Path, tiles: &[(TileAddress, Bytes)]) {
    let pack = Pack::open(path, &Limits::default()).unwrap();
    let mut expected = tiles.iter();
    pack.each_tile(&Selection::ALL, |at, tile| {
        let (wanted_at, wanted) = expected.next().unwrap();
        assert_eq!((at, &tile.bytes), (*wanted_at, wanted));
        Ok::<_, PackError>(())
    })
    .unwrap();
    assert_eq!(expected.next(), None);
    let mut random = fastrand::Rng::with_seed(SEED);
    for _ in 0..5_000 {
        let (at, bytes) = &tiles[random.usize(..tiles.len())];
        assert_eq!(pack.tile(*at, Wait::Allowed).unwrap().unwrap().bytes, bytes);
    }
}

// req: ED-01
#[test]
fn a_pack_of_300_000_tiles_with_leaves_is_read_by_the_oracle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.pmtiles");
    let tiles = many();
    let mut writer =
        PackWriter::create(&path, Description::new(TileFormat::Other, Coding::None)).unwrap();
    // Any order will do.
    let mut shuffled = tiles.clone();
    fastrand::Rng::with_seed(SEED).shuffle(&mut shuffled);
    for (at, bytes) in &shuffled {
        writer.add(*at, bytes).unwrap();
    }
    let written = writer.finish().unwrap();
    assert_eq!((written.tiles, written.repeated), (MANY as u64, 0));
    assert!(written.contents < MANY as u64);
    check_many(&path, &tiles);
    runtime().block_on(async {
        let oracle = oracle(&path).await;
        let expected: Vec<u64> = tiles.iter().map(|(at, _)| at.id()).collect();
        assert_eq!(numbers(&oracle).await, expected);
        let mut random = fastrand::Rng::with_seed(SEED);
        for _ in 0..2_000 {
            let (at, bytes) = &tiles[random.usize(..tiles.len())];
            let coord = TileCoord::new(at.z(), at.x(), at.y()).unwrap();
            assert_eq!(oracle.get_tile(coord).await.unwrap().as_ref(), Some(bytes));
        }
    });
}

// req: ED-01
#[test]
fn a_pack_of_300_000_tiles_of_the_oracle_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.pmtiles");
    let tiles = many();
    let file = std::fs::File::create(&path).unwrap();
    let writer = PmTilesWriter::new(TileType::Unknown);
    let mut writer = writer
        .tile_compression(pmtiles::Compression::None)
        .create(std::io::BufWriter::new(file))
        .unwrap();
    for (at, bytes) in &tiles {
        let coord = TileCoord::new(at.z(), at.x(), at.y()).unwrap();
        writer.add_tile(coord, bytes).unwrap();
    }
    writer.finalize().unwrap();
    check_many(&path, &tiles);
}
