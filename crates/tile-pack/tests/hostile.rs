//! Packs made to do harm: each is a typed error, and none makes us allocate beyond the limits.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::Write;
use std::path::Path;

use tile_pack::{Fault, Limits, Pack, PackError, Part, Selection, TileAddress, Wait};

use held::held_for;
use made::{BROTLI, GZIP, Made, ZSTD, numbers, placed};

#[path = "support/held.rs"]
mod held;
#[path = "support/made.rs"]
mod made;

/// What even the worst pack may make us hold: directory and metadata at their limits, and what becomes of them.
const HELD_MAX: usize = 32 << 20;

/// Everything a pack can be asked; the first error.
fn ask(path: &Path) -> Result<(), PackError> {
    let pack = Pack::open(path, &Limits::default())?;
    for id in [0, 1, 5, 1000, 6_148_914_691_236_517_204] {
        pack.tile(TileAddress::from_id(id).unwrap(), Wait::Allowed)?;
    }
    pack.verify(&mut |_, _| ())?;
    pack.each_tile(&Selection::ALL, |_, _| Ok::<_, PackError>(()))
}

/// The error a pack ends in; it must end in one, and cheaply.
fn refused(bytes: &[u8]) -> PackError {
    let placed = placed(bytes);
    let (most, asked) = held_for(|| ask(&placed.path));
    let error = asked.unwrap_err();
    assert!(most < HELD_MAX, "{most} bytes were held for: {error}");
    error
}

fn fault(made: &Made) -> (Fault, Part) {
    match refused(&made.bytes()) {
        PackError::Malformed { fault, part, .. } => (fault, part),
        other => panic!("{other}"),
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = brotli::CompressorWriter::new(&mut bytes, 4096, 5, 22);
    writer.write_all(plain).unwrap();
    drop(writer);
    bytes
}

fn compressed(code: u8, plain: &[u8]) -> Vec<u8> {
    match code {
        GZIP => gzip(plain),
        BROTLI => brotli(plain),
        _ => zstd::stream::encode_all(plain, 1).unwrap(),
    }
}

#[test]
fn the_pack_they_are_made_from_is_good() {
    let placed = placed(&Made::default().bytes());
    ask(&placed.path).unwrap();
}

// req: ED-02
// attack: L-19
#[test]
fn a_count_of_two_to_the_64() {
    let root = numbers(&[u64::MAX, 0, 1, 4, 1]);
    let made = Made {
        root,
        ..Made::default()
    };
    assert_eq!(fault(&made), (Fault::Count, Part::Root));
}

// attack: L-19
#[test]
fn a_first_offset_of_zero() {
    let root = numbers(&[1, 0, 1, 4, 0]);
    let made = Made {
        root,
        ..Made::default()
    };
    assert_eq!(fault(&made), (Fault::Place, Part::Root));
}

// attack: L-19
#[test]
fn a_length_of_zero() {
    let root = numbers(&[1, 0, 1, 0, 1]);
    let made = Made {
        root,
        ..Made::default()
    };
    assert_eq!(fault(&made), (Fault::Place, Part::Root));
}

// attack: L-19, E-17
#[test]
fn tiles_beyond_the_file_and_beyond_all_numbers() {
    for offset in [2, 1 << 40, u64::MAX] {
        let root = numbers(&[1, 0, 1, 4, offset]);
        let made = Made {
            root,
            ..Made::default()
        };
        assert_eq!(fault(&made), (Fault::Place, Part::Root));
    }
}

// attack: L-19
#[test]
fn a_run_of_four_billion() {
    let root = numbers(&[1, 0, 0xffff_ffff, 4, 1]);
    let made = Made {
        root,
        ..Made::default()
    };
    assert_eq!(fault(&made), (Fault::TileId, Part::Root));
}

// attack: L-19
#[test]
fn a_leaf_that_is_its_own_leaf() {
    let leaf = numbers(&[1, 0, 0, 5, 1]);
    let made = Made {
        root: leaf.clone(),
        leaves: leaf,
        ..Made::default()
    };
    assert_eq!(fault(&made), (Fault::Depth, Part::Leaf));
}

// attack: L-19
#[test]
fn a_leaf_of_many_pointers_to_itself() {
    // Without an order kept between leaves, walking this takes forever: each level multiplies by a thousand.
    let count = 1000;
    let ids = std::iter::once(0).chain(std::iter::repeat_n(1, count - 1));
    let columns = [vec![0; count], vec![100; count], vec![1; count]].concat();
    let leaf = numbers(
        &std::iter::once(count as u64)
            .chain(ids)
            .chain(columns)
            .collect::<Vec<_>>(),
    );
    let made = Made {
        root: leaf.clone(),
        leaves: leaf,
        ..Made::default()
    };
    // A pointer that does not span its leaf fails for that; one that does, for depth.
    assert_eq!(refused(&made.bytes()).reason(), "malformed");
}

// attack: L-19
#[test]
fn two_pointers_to_one_leaf_and_a_leaf_that_reaches_past_the_next() {
    let once = numbers(&[1, 0, 1, 4, 1]);
    let wide = numbers(&[2, 0, 3, 1, 1, 4, 4, 1, 1]);
    for (leaf, next) in [(once, 5), (wide, 2)] {
        let length = leaf.len() as u64;
        let made = Made {
            root: numbers(&[2, 0, next, 0, 0, length, length, 1, 1]),
            leaves: leaf,
            ..Made::default()
        };
        assert_eq!(fault(&made), (Fault::Order, Part::Leaf));
    }
}

// attack: L-19
#[test]
fn leaves_four_deep() {
    let root = numbers(&[1, 0, 0, 5, 1]);
    let leaves: Vec<u8> = [6, 11, 16]
        .iter()
        .flat_map(|offset| numbers(&[1, 0, 0, 5, *offset]))
        .chain(numbers(&[1, 0, 1, 4, 1]))
        .collect();
    let made = Made {
        root,
        leaves,
        ..Made::default()
    };
    assert_eq!(fault(&made), (Fault::Depth, Part::Leaf));
}

// req: ED-02
// attack: L-18
#[test]
fn a_directory_that_inflates_without_end() {
    for code in [GZIP, BROTLI, ZSTD] {
        let root = bomb(code);
        assert!(root.len() < 16_000, "{} bytes", root.len());
        let mut made = Made {
            root,
            ..Made::default()
        };
        made.header[97] = code;
        made.metadata = compressed(code, b"{}");
        let refused = refused(&made.bytes());
        assert!(
            matches!(
                refused,
                PackError::TooLarge {
                    part: Part::Root,
                    ..
                }
            ),
            "{refused}"
        );
    }
}

/// Zeros upon zeros: as many as fit a root directory.
fn bomb(code: u8) -> Vec<u8> {
    compressed(code, &vec![0; 8 << 20])
}

// attack: L-18
#[test]
fn metadata_that_inflates_without_end() {
    for code in [GZIP, BROTLI, ZSTD] {
        let mut made = Made {
            root: compressed(code, &numbers(&[1, 0, 1, 4, 1])),
            metadata: compressed(code, &vec![b' '; 12 << 20]),
            ..Made::default()
        };
        made.header[97] = code;
        let refused = refused(&made.bytes());
        assert!(
            matches!(
                refused,
                PackError::TooLarge {
                    part: Part::Metadata,
                    ..
                }
            ),
            "{refused}"
        );
    }
}

// attack: L-18
#[test]
fn metadata_that_nests_or_is_no_object() {
    for text in [
        "[".repeat(100_000),
        "[]".to_owned(),
        "null".to_owned(),
        "{".to_owned(),
    ] {
        let metadata = text.into_bytes();
        let made = Made {
            metadata,
            ..Made::default()
        };
        assert_eq!(fault(&made), (Fault::Json, Part::Metadata));
    }
}

// attack: L-18
#[test]
fn metadata_of_300_000_empty_values() {
    let metadata = format!("{{\"a\":[{}[]]}}", "[],".repeat(300_000)).into_bytes();
    let made = Made {
        metadata,
        ..Made::default()
    };
    let refused = refused(&made.bytes());
    assert!(
        matches!(
            refused,
            PackError::TooLarge {
                part: Part::Metadata,
                ..
            }
        ),
        "{refused}"
    );
}

// attack: L-18
#[test]
fn the_directory_with_most_entries_for_its_bytes() {
    // Allowed, so it must be cheap: a quarter of a million entries of four bytes each.
    let count = (1 << 20) / 4 - 1;
    let mut root = numbers(&[count]);
    for (first, rest) in [(0, 1), (1, 1), (1, 1), (1, 1)] {
        root.push(first);
        root.extend(std::iter::repeat_n(rest, count as usize - 1));
    }
    let mut made = Made {
        root: gzip(&root),
        metadata: gzip(b"{}"),
        ..Made::default()
    };
    made.header[97] = GZIP;
    made.header[101] = 31;
    let placed = placed(&made.bytes());
    let (most, opened) = held_for(|| Pack::open(&placed.path, &Limits::default()));
    opened.unwrap();
    assert!(
        (6 << 20..HELD_MAX).contains(&most),
        "{most} bytes were held"
    );
}

// attack: L-20
#[test]
fn a_metadata_length_of_two_to_the_63() {
    let mut bytes = Made::default().bytes();
    bytes[32..40].copy_from_slice(&(1_u64 << 63).to_le_bytes());
    assert_eq!(refused(&bytes).reason(), "malformed");
}

// attack: L-20
#[test]
fn every_beginning_of_a_pack() {
    let whole = Made::default().bytes();
    for length in 0..whole.len() {
        let reason = refused(&whole[..length]).reason();
        assert!(
            matches!(reason, "not_a_pack" | "malformed"),
            "{length}: {reason}"
        );
    }
}

// attack: L-18
#[test]
fn a_tile_larger_than_tiles_may_be() {
    let length = 10 * 1024 * 1024 + 1;
    let made = Made {
        root: numbers(&[1, 0, 1, length as u64, 1]),
        tiles: vec![0; length],
        ..Made::default()
    };
    let refused = refused(&made.bytes());
    assert!(
        matches!(
            refused,
            PackError::TooLarge {
                part: Part::Tile,
                ..
            }
        ),
        "{refused}"
    );
}

// attack: L-21
#[test]
fn a_pack_truncated_while_it_is_served() {
    let made = Made {
        root: numbers(&[1, 0, 1, 100_000, 1]),
        tiles: vec![7; 100_000],
        ..Made::default()
    };
    let placed = placed(&made.bytes());
    let pack = Pack::open(&placed.path, &Limits::default()).unwrap();
    let at = TileAddress::new(0, 0, 0).unwrap();
    assert_eq!(
        pack.tile(at, Wait::Allowed).unwrap().unwrap().bytes,
        vec![7; 100_000]
    );
    let file = std::fs::File::options()
        .write(true)
        .open(&placed.path)
        .unwrap();
    file.set_len(5_000).unwrap();
    for wait in [Wait::Allowed, Wait::Never] {
        let reason = pack.tile(at, wait).unwrap_err().reason();
        assert!(matches!(reason, "changed" | "would_block"), "{reason}");
    }
}

// attack: L-21
#[test]
fn a_pack_replaced_while_it_is_served() {
    let of = |byte: u8| Made {
        root: numbers(&[1, 0, 1, 100_000, 1]),
        tiles: vec![byte; 100_000],
        ..Made::default()
    };
    let old = placed(&of(7).bytes());
    let pack = Pack::open(&old.path, &Limits::default()).unwrap();
    let new = placed(&of(8).bytes());
    std::fs::rename(&new.path, &old.path).unwrap();
    let at = TileAddress::new(0, 0, 0).unwrap();
    assert_eq!(
        pack.tile(at, Wait::Allowed).unwrap().unwrap().bytes,
        vec![7; 100_000]
    );
    let again = Pack::open(&old.path, &Limits::default()).unwrap();
    assert_eq!(
        again.tile(at, Wait::Allowed).unwrap().unwrap().bytes,
        vec![8; 100_000]
    );
    assert_ne!(again.about().stamp, pack.about().stamp);
}
