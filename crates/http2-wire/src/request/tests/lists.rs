//! How long a list of fields may be, and what is remembered of one that is unfit.

use super::*;

/// A field that the reader is to remember.
const REMEMBER: u8 = 0x40;

/// A list that counts so many bytes: 32 for each field beside its text.
fn list_of(bytes: usize, more: &[Said<'_>]) -> Vec<u8> {
    let fields = [&GET[..3], &[(":path", "/"), ("x-fill", "")], more].concat();
    let counted: usize = fields
        .iter()
        .map(|(name, value)| name.len() + value.len() + 32)
        .sum();
    let fill = "v".repeat(bytes - counted);
    let filled: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            (
                name,
                if name == "x-fill" {
                    fill.as_str()
                } else {
                    value
                },
            )
        })
        .collect();
    packed(FORGET, &filled)
}

// attack: B-07
#[test]
fn a_list_fits_or_is_too_large_or_ends_the_connection() {
    let mut reader = HeadReader::new(300);
    for (bytes, expected) in [
        (299, Ok(())),
        (300, Ok(())),
        (301, Err(Unfit::TooLarge { head_only: false })),
        (2400, Err(Unfit::TooLarge { head_only: false })),
        (2401, Err(Unfit::Flood)),
        (9000, Err(Unfit::Flood)),
        (300, Ok(())),
    ] {
        let block = list_of(bytes, &[]);
        let read = reader.request(&block, HeaderMap::new()).unwrap();
        assert_eq!(read.map(|_| ()), expected, "{bytes}");
    }
    let head = packed(FORGET, &[(":method", "HEAD"), ("x", &"v".repeat(300))]);
    let read = reader.request(&head, HeaderMap::new()).unwrap();
    assert_eq!(read.err(), Some(Unfit::TooLarge { head_only: true }));
    for (bytes, expected) in [
        (300, Ok(1)),
        (301, Err(Unfit::TooLarge { head_only: false })),
        (2401, Err(Unfit::Flood)),
    ] {
        let block = packed(FORGET, &[("x", &"v".repeat(bytes - 33))]);
        let read = reader.trailers(&block).unwrap();
        assert_eq!(read.map(|trailers| trailers.len()), expected);
    }
}

#[test]
fn what_is_too_large_is_that_whatever_else_is_wrong_with_it() {
    let mut reader = HeadReader::new(300);
    for more in [
        (":method", "GET"),
        ("X", ""),
        ("te", "gzip"),
        ("content-length", "x"),
    ] {
        for (bytes, expected) in [
            (300, Unfit::Malformed),
            (301, Unfit::TooLarge { head_only: false }),
            (2401, Unfit::Flood),
        ] {
            let read = reader.request(&list_of(bytes, &[more]), HeaderMap::new());
            assert_eq!(read.unwrap().map(|_| ()), Err(expected), "{more:?}");
        }
    }
}

// attack: B-07
#[test]
fn a_bomb_of_references_is_counted_as_what_it_stands_for() {
    let mut reader = HeadReader::new(MOST);
    let large = "v".repeat(4000);
    let first = [
        packed(FORGET, &GET),
        packed(REMEMBER, &[("cookie", &large)]),
    ]
    .concat();
    assert!(reader.request(&first, HeaderMap::new()).unwrap().is_ok());
    let mut bomb = |references| {
        let block = [packed(FORGET, &GET), vec![0x80 | 62; references]].concat();
        let read = reader.request(&block, HeaderMap::new()).unwrap();
        read.map(|request| request.headers.len())
    };
    assert_eq!(bomb(3), Ok(3));
    assert_eq!(bomb(5), Err(Unfit::TooLarge { head_only: false }));
    assert_eq!(bomb(16_000), Err(Unfit::Flood));
}

/// Remembers one field of each kind behind a head of this sort, and says all of them again by reference.
fn is_understood_behind(head: &[u8], most: usize) {
    let mut reader = HeadReader::new(most);
    let said = [
        GET[0],
        (":path", "/kept"),
        (":authority", "kept"),
        ("x-kept", "k"),
    ];
    let block = [head, &packed(REMEMBER, &said)].concat();
    let unfit = reader.request(&block, HeaderMap::new()).unwrap();
    assert!(unfit.is_err());
    // The newest first; the scheme is one that the standard has fixed.
    let block = [0x80 | 65, 0x80 | 64, 0x80 | 63, 0x87, 0x80 | 62];
    let request = reader.request(&block, HeaderMap::new()).unwrap().unwrap();
    assert_eq!(request.uri, "https://kept/kept");
    assert_eq!(request.headers["x-kept"], "k");
}

#[test]
fn what_an_unfit_head_has_remembered_is_understood_behind_it() {
    is_understood_behind(b"", MOST); // No scheme.
    is_understood_behind(&packed(FORGET, &[("x", "")]), MOST);
    is_understood_behind(&packed(FORGET, &[("Unfit", "\r\n")]), MOST);
    is_understood_behind(&packed(FORGET, &[("x", &"v".repeat(400))]), 300);
    is_understood_behind(&packed(FORGET, &[("x", &"v".repeat(4000))]), 300);
}

#[test]
fn a_block_that_cannot_be_unpacked_is_broken_and_not_unfit() {
    for block in [&b"\x80"[..], b"\x82\x40", b"\xff\xff\xff\xff\xff\xff"] {
        assert!(reader().request(block, HeaderMap::new()).is_err());
        assert!(reader().trailers(block).is_err());
    }
}
