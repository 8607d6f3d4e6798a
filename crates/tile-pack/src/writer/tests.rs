use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::limits::{Limits, Wait};
use crate::pack::Pack;
use crate::selection::Selection;

fn at(id: u64) -> TileAddress {
    TileAddress::from_id(id).unwrap()
}

fn describe() -> Description {
    Description::new(TileFormat::Other, Coding::None)
}

fn written(tiles: &[(u64, &str)]) -> (tempfile::TempDir, Pack, Written) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pack.pmtiles");
    let mut writer = PackWriter::create(&path, describe()).unwrap();
    for (id, text) in tiles {
        writer
            .add(at(*id), &Bytes::copy_from_slice(text.as_bytes()))
            .unwrap();
    }
    let written = writer.finish().unwrap();
    let pack = Pack::open(&path, &Limits::default()).unwrap();
    (directory, pack, written)
}

#[test]
fn tiles_alike_are_stored_once_and_neighbours_share_an_entry() {
    let (_directory, pack, written) =
        written(&[(9, "sea"), (3, "land"), (4, "sea"), (5, "sea"), (7, "land")]);
    assert_eq!(written.contents, 2);
    let about = pack.about();
    assert_eq!(about.addressed_tiles, Some(5));
    assert_eq!(about.tile_entries, Some(4));
    assert_eq!(about.tile_contents, Some(2));
    assert_eq!((about.min_zoom, about.max_zoom), (1, 2));
    assert!(about.clustered);
}

// Few enough to try one directory, and too many for it.
#[test]
fn entries_beyond_a_root_directory_go_to_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pack.pmtiles");
    let mut writer = PackWriter::create(&path, describe()).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut id = 0;
    for number in 0..12_000_u32 {
        id += random.u64(1..1000);
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.resize(random.usize(4..200), 7);
        writer.add(at(id), &bytes.into()).unwrap();
    }
    writer.finish().unwrap();
    let pack = Pack::open(&path, &Limits::default()).unwrap();
    assert_eq!(pack.verify(&mut |_, _| ()).unwrap().tiles, 12_000);
}

#[test]
fn of_tiles_given_twice_the_first_stays() {
    let (_directory, pack, written) = written(&[(3, "first"), (2, "other"), (3, "second")]);
    assert_eq!((written.tiles, written.repeated), (2, 1));
    assert_eq!(
        pack.tile(at(3), Wait::Allowed).unwrap().unwrap().bytes,
        "first"
    );
}

#[test]
fn a_pack_without_tiles_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pack.pmtiles");
    let mut writer = PackWriter::create(&path, describe()).unwrap();
    writer.add(at(1), &Bytes::new()).unwrap();
    assert!(matches!(writer.finish(), Err(PackError::NoTiles)));
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_writer_given_up_leaves_the_old_pack_and_nothing_else() {
    let (directory, ..) = written(&[(0, "old")]);
    let path = directory.path().join("pack.pmtiles");
    let mut writer = PackWriter::create(&path, describe()).unwrap();
    writer.add(at(0), &Bytes::from("new")).unwrap();
    drop(writer);
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    let pack = Pack::open(&path, &Limits::default()).unwrap();
    assert_eq!(
        pack.tile(at(0), Wait::Allowed).unwrap().unwrap().bytes,
        "old"
    );
}

#[test]
fn bounds_are_those_of_the_deepest_tiles_unless_given() {
    let address = |z, x, y| TileAddress::new(z, x, y).unwrap().id();
    let (_directory, pack, _) = written(&[
        (0, "world"),
        (address(1, 1, 0), "a"),
        (address(1, 1, 1), "b"),
    ]);
    let bounds = pack.about().bounds;
    assert_eq!((bounds.west, bounds.east), (0.0, 180.0));
    assert!((bounds.north - 85.051_128).abs() < 0.001 && (bounds.south + 85.051_128).abs() < 0.001);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // req: ED-01
    #[test]
    fn what_is_written_is_read(tiles in proptest::collection::btree_map(0_u64..5000, 0_u8..4, 1..300)) {
        let texts = ["sea", "land", "ice", "a longer tile"];
        let tiles: Vec<(u64, &str)> = tiles.into_iter().map(|(id, text)| (id, texts[usize::from(text)])).collect();
        let (_directory, pack, _) = written(&tiles);
        let mut read = Vec::new();
        pack.each_tile(&Selection::ALL, |at, tile| {
            read.push((at.id(), String::from_utf8(tile.bytes.to_vec()).unwrap()));
            Ok::<_, PackError>(())
        }).unwrap();
        prop_assert_eq!(read.len(), tiles.len());
        for ((id, text), (read_id, read_text)) in tiles.iter().zip(&read) {
            prop_assert_eq!((id, *text), (read_id, read_text.as_str()));
        }
        let verified = pack.verify(&mut |_, _| ()).unwrap();
        prop_assert_eq!(verified.notes, Vec::<String>::new());
    }
}
