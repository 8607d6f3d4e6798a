use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use tile_pack::{Coding, Limits, Pack, PackError, Selection, Tile, TileAddress, TileFormat};

use super::write;
use crate::topology::Topology;
use crate::topology::tests::SQUARES;
use crate::vector_tile::EXTENT;
use crate::zoom::DEEPEST;
use reader::{Feature, layers};

mod reader;

/// As it is committed, beside the service that mounts it.
const COMMITTED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../svc-edge/demo/world.pmtiles"
);
const BYTES_MAX: u64 = 400_000;

fn open(path: &Path) -> Pack {
    Pack::open(path, &Limits::default()).unwrap()
}

fn inflated(tile: &Tile) -> Vec<u8> {
    assert_eq!(tile.coding, Coding::Gzip);
    let mut bytes = Vec::new();
    GzDecoder::new(tile.bytes.as_ref())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

fn each(pack: &Pack, mut see: impl FnMut(TileAddress, Vec<u8>)) {
    let seen = pack.each_tile(&Selection::ALL, |at, tile| -> Result<(), PackError> {
        see(at, inflated(tile));
        Ok(())
    });
    seen.unwrap();
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    let written = ["one", "other"].map(|name| {
        let path = home.path().join(name);
        write(&Topology::parse(SQUARES).unwrap(), &path).unwrap();
        std::fs::read(path).unwrap()
    });
    assert_eq!(written[0], written[1]);
}

#[test]
fn what_is_written_is_read_back_with_its_names() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("squares.pmtiles");
    let written = write(&Topology::parse(SQUARES).unwrap(), &path).unwrap();
    let pack = open(&path);
    let mut tiles = 0;
    let mut names = BTreeSet::new();
    each(&pack, |_, tile| {
        tiles += 1;
        let countries = layers(&tile)
            .into_iter()
            .filter(|layer| layer.name == "countries");
        names.extend(
            countries
                .flat_map(|layer| layer.features)
                .flat_map(|feature| feature.tags),
        );
    });
    assert_eq!(tiles, written.tiles);
    let expected =
        [("name", "West"), ("iso", "001")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(names, BTreeSet::from(expected));
}

// req: ED-01
#[test]
fn the_committed_pack_is_whole_small_and_describes_itself() {
    let pack = open(Path::new(COMMITTED));
    let about = pack.about();
    assert!(about.length < BYTES_MAX, "{} bytes", about.length);
    assert_eq!(
        (about.tile_format, about.coding),
        (TileFormat::Mvt, Coding::Gzip)
    );
    assert_eq!((about.min_zoom, about.max_zoom), (0, DEEPEST));
    assert_eq!(about.metadata["attribution"], "Made with Natural Earth");
    let all: u64 = (0..=DEEPEST).map(|zoom| 1 << (2 * zoom)).sum();
    let verified = pack.verify(&mut |_, _| ()).unwrap();
    assert_eq!(verified.tiles, all, "every place of the world has a tile");
}

#[test]
fn every_tile_of_the_committed_pack_can_be_drawn() {
    let pack = open(Path::new(COMMITTED));
    let mut countries = BTreeSet::new();
    each(&pack, |at, tile| {
        for layer in layers(&tile) {
            assert!(["graticule", "land", "countries", "borders"].contains(&layer.name.as_str()));
            assert_eq!((layer.version, layer.extent), (2, EXTENT));
            assert!(!layer.features.is_empty(), "{} of {at:?}", layer.name);
            layer
                .features
                .iter()
                .for_each(|feature| drawable(feature, at));
            let tags = layer.features.into_iter().flat_map(|feature| feature.tags);
            countries.extend(tags.filter(|(key, _)| key == "name").map(|(_, name)| name));
        }
    });
    assert!(countries.len() > 230, "{} countries", countries.len());
    assert!(countries.contains("Brazil") && countries.contains("Monaco"));
}

/// Within the tile and its buffer, areas closed and of three corners at least, the first ring an outer one.
fn drawable(feature: &Feature, at: TileAddress) {
    let reach = EXTENT as i32 + 81;
    assert!(!feature.paths.is_empty(), "{at:?}");
    for path in &feature.paths {
        let inside = |spot: &[i32; 2]| spot.iter().all(|value| (-81..=reach).contains(value));
        assert!(path.spots.iter().all(inside), "{at:?}");
        assert_eq!(path.closed, feature.is_area, "{at:?}");
        assert!(
            path.spots.len() >= if feature.is_area { 3 } else { 2 },
            "{at:?}"
        );
    }
    if feature.is_area {
        let outer = crate::vector_tile::doubled_area(&feature.paths[0].spots);
        assert!(outer > 0, "{at:?}");
    }
}
