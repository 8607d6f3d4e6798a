use super::*;

/// A hello of this version with these extensions, in records of so many bytes.
fn hello(version: [u8; 2], extensions: Option<&[u8]>, record: usize) -> Vec<u8> {
    let mut body = [
        &version[..],
        &[7; RANDOM],
        &[2, 9, 9, 0, 4, 0xc0, 0x13, 0, 0x2f, 1, 0],
    ]
    .concat();
    if let Some(extensions) = extensions {
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
    }
    let mut message = vec![CLIENT_HELLO, 0, 0, body.len() as u8];
    message.extend(body);
    let part = |part: &[u8]| [&[HANDSHAKE, 3, 1, 0, part.len() as u8], part].concat();
    message.chunks(record).flat_map(part).collect()
}

const NAME: &[u8] = &[0, 0, 0, 2, 1, 1];
const VERSIONS: &[u8] = &[0, 43, 0, 3, 2, 3, 4];

// attack: C-09
#[test]
fn who_says_an_old_version_and_no_other_is_outdated() {
    for version in [[3, 0], [3, 1], [3, 2]] {
        for extensions in [None, Some(&[][..]), Some(NAME)] {
            for record in [200, 7] {
                let said = hello(version, extensions, record);
                assert_eq!(outdated(&said), Some(version), "{said:?}");
            }
        }
        let both = [NAME, VERSIONS].concat();
        assert_eq!(outdated(&hello(version, Some(&both), 200)), None);
    }
    assert_eq!(outdated(&hello([3, 3], None, 200)), None);
    assert_eq!(outdated(&hello([3, 4], Some(NAME), 200)), None);
}

// attack: C-03
#[test]
fn of_what_is_no_hello_or_not_all_there_nothing_breaks() {
    let whole = hello([3, 1], Some(&[NAME, VERSIONS].concat()), 30);
    for end in 0..whole.len() {
        let _nothing_breaks = outdated(&whole[..end]);
    }
    for no_hello in [
        &b"GET / HTTP/1.1"[..],
        &[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0],
        &[],
    ] {
        assert_eq!(outdated(no_hello), None);
    }
}
