use proptest::prelude::*;

use super::*;

fn header() -> Header {
    Header {
        root: Section {
            offset: 127,
            length: 100,
        },
        metadata: Section {
            offset: 227,
            length: 50,
        },
        leaves: Section {
            offset: 277,
            length: 0,
        },
        tiles: Section {
            offset: 277,
            length: 1000,
        },
        addressed_tiles: 3,
        tile_entries: 2,
        tile_contents: 1,
        clustered: true,
        internal: Coding::Gzip,
        coding: Some(Coding::Zstd),
        format: TileFormat::Mlt,
        min_zoom: 2,
        max_zoom: 9,
        bounds: Bounds {
            west: -180.0,
            south: -85.5,
            east: 12.345_678_9,
            north: 85.0,
        },
        center: Center {
            longitude: 1.5,
            latitude: -2.25,
            zoom: 4,
        },
    }
}

const LENGTH: u64 = 1277;

fn refused(change: impl FnOnce(&mut [u8; HEADER_BYTES])) -> PackError {
    let mut bytes = header().encode();
    change(&mut bytes);
    Header::decode(&bytes, LENGTH).unwrap_err()
}

fn fault(change: impl FnOnce(&mut [u8; HEADER_BYTES])) -> Fault {
    match refused(change) {
        PackError::Malformed {
            fault,
            part: Part::Header,
            ..
        } => fault,
        other => panic!("{other}"),
    }
}

// req: ED-01
#[test]
fn a_header_survives() {
    assert_eq!(
        Header::decode(&header().encode(), LENGTH).unwrap(),
        header()
    );
}

// attack: L-20
#[test]
fn fewer_than_127_bytes_are_no_header() {
    let bytes = header().encode();
    for length in 0..HEADER_BYTES {
        let refused = Header::decode(&bytes[..length], LENGTH).unwrap_err();
        let expected = if length < 7 {
            "not_a_pack"
        } else {
            "malformed"
        };
        assert_eq!(refused.reason(), expected, "{length} bytes");
    }
}

// attack: L-20
#[test]
fn another_magic_is_another_format() {
    assert_eq!(refused(|bytes| bytes[0] = b'X').reason(), "not_a_pack");
}

#[test]
fn only_version_3_is_read_and_the_digit_is_not_the_number() {
    for version in [0, 1, 2, 4, b'3', 255] {
        let refused = refused(|bytes| bytes[7] = version);
        assert!(matches!(refused, PackError::Version(v) if v == version));
    }
}

// req: ED-02
// attack: L-20
#[test]
fn sections_past_the_end_are_refused() {
    for at in [8, 24, 40, 56] {
        for (offset, length) in [
            (0, LENGTH + 1),
            (LENGTH + 1, 0),
            (1, u64::MAX),
            (u64::MAX, 1),
            (200, 1 << 63),
        ] {
            let fault = fault(|bytes| {
                bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
                bytes[at + 8..at + 16].copy_from_slice(&length.to_le_bytes());
            });
            assert_eq!(fault, Fault::Section, "{at}: {offset} {length}");
        }
    }
}

// attack: L-20
#[test]
fn a_root_past_16_kib_is_refused() {
    let mut far = header();
    far.root.offset = ROOT_END_MAX - 99;
    let refused = Header::decode(&far.encode(), 1 << 20).unwrap_err();
    assert!(matches!(
        refused,
        PackError::Malformed {
            fault: Fault::Section,
            ..
        }
    ));
    far.root.offset -= 1;
    Header::decode(&far.encode(), 1 << 20).unwrap();
}

#[test]
fn a_root_within_the_header_or_without_bytes_is_refused() {
    assert_eq!(fault(|bytes| bytes[8] = 126), Fault::Section);
    assert_eq!(fault(|bytes| bytes[16] = 0), Fault::Empty);
}

#[test]
fn impossible_zooms_are_refused() {
    assert_eq!(fault(|bytes| bytes[100] = 10), Fault::Zoom);
    assert_eq!(fault(|bytes| bytes[101] = 32), Fault::Zoom);
}

#[test]
fn directories_of_unknown_compression_are_refused_and_tiles_are_not() {
    assert_eq!(fault(|bytes| bytes[97] = 0), Fault::UnknownCode);
    assert_eq!(fault(|bytes| bytes[97] = 5), Fault::UnknownCode);
    assert_eq!(fault(|bytes| bytes[98] = 5), Fault::UnknownCode);
    let mut bytes = header().encode();
    bytes[98] = 0;
    assert_eq!(Header::decode(&bytes, LENGTH).unwrap().coding, None);
}

proptest! {
    #[test]
    fn any_bytes_are_answered_and_what_is_read_lies_within(
        bytes in proptest::collection::vec(any::<u8>(), 120..140),
        length: u64,
        small in 0_u64..100_000,
    ) {
        let mut bytes = bytes;
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = VERSION;
        for length in [length, small] {
            if let Ok(header) = Header::decode(&bytes, length) {
                for section in [header.root, header.metadata, header.leaves, header.tiles] {
                    prop_assert!(section.end().unwrap() <= length);
                }
            }
        }
    }
}
