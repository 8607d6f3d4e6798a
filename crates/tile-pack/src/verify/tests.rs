use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::*;
use crate::limits::Limits;
use crate::writer::{Description, PackWriter};

fn pack(format: TileFormat, coding: Coding, tiles: &[&[u8]]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pack.pmtiles");
    let mut writer = PackWriter::create(&path, Description::new(format, coding)).unwrap();
    for (id, tile) in (0..).zip(tiles) {
        let at = TileAddress::from_id(id).unwrap();
        writer.add(at, &Bytes::copy_from_slice(tile)).unwrap();
    }
    writer.finish().unwrap();
    (directory, path)
}

fn verified(path: &Path) -> Result<Verified, PackError> {
    Pack::open(path, &Limits::default())
        .unwrap()
        .verify(&mut |_, _| ())
}

fn fault(path: &Path) -> Fault {
    match verified(path).unwrap_err() {
        PackError::BadTile { fault, .. } | PackError::Malformed { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_whole_pack_is_counted() {
    let (_directory, path) = pack(
        TileFormat::Mvt,
        Coding::None,
        &[b"\x1a\x01a", b"\x1a\x01a", b"\x1a\x01b"],
    );
    let found = verified(&path).unwrap();
    let expected = Verified {
        tiles: 3,
        entries: 2,
        contents: 2,
        bytes: 6,
        notes: vec![],
    };
    assert_eq!(found, expected);
}

#[test]
fn tiles_of_another_format_are_found() {
    let (_directory, path) = pack(
        TileFormat::Png,
        Coding::None,
        &[b"\x89PNG", b"\xff\xd8\xff"],
    );
    assert_eq!(fault(&path), Fault::Content);
    let (_directory, path) = pack(TileFormat::Mvt, Coding::None, &[b"\x1a\x05cut"]);
    assert_eq!(fault(&path), Fault::Content);
    let gzip = Coding::Gzip.deflate(b"\x1a\x01a").unwrap().unwrap();
    let (_directory, path) = pack(TileFormat::Mvt, Coding::None, &[&gzip]);
    assert_eq!(fault(&path), Fault::Content);
}

// attack: L-18
#[test]
fn a_damaged_tile_and_a_bomb_are_found() {
    let mut damaged = Coding::Gzip.deflate(&[0; 1000]).unwrap().unwrap();
    damaged.truncate(15);
    let (_directory, path) = pack(TileFormat::Other, Coding::Gzip, &[&damaged]);
    assert_eq!(fault(&path), Fault::Compression);
    let bomb = Coding::Gzip.deflate(&vec![0; 11 << 20]).unwrap().unwrap();
    let (_directory, path) = pack(TileFormat::Other, Coding::Gzip, &[&bomb]);
    assert_eq!(fault(&path), Fault::Size);
}

#[test]
fn counts_that_are_wrong_are_noted() {
    let (_directory, path) = pack(TileFormat::Other, Coding::None, &[b"a", b"b"]);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[72] = 9;
    std::fs::write(&path, bytes).unwrap();
    let notes = verified(&path).unwrap().notes;
    assert_eq!(notes, ["the header says 9 addressed tiles, there are 2"]);
}

#[test]
fn messages_are_told_from_bytes() {
    for good in [
        &b""[..],
        b"\x1a\x00",
        b"\x08\x96\x01\x1a\x01x",
        b"\x0d1234",
        b"\x0912345678",
    ] {
        assert!(is_message(good), "{good:?}");
    }
    for bad in [
        &b"\x1a"[..],
        b"\x1a\x02x",
        b"\x02\x00",
        b"\x0b",
        b"\x1f\x8b",
        b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ] {
        assert!(!is_message(bad), "{bad:?}");
    }
}
