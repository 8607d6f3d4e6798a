use std::io::Write;

use super::*;

fn file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    (directory, path)
}

#[test]
fn a_read_gives_the_bytes_of_its_place() {
    let (_directory, path) = file(b"0123456789");
    let raw = RawFile::open(&path).unwrap();
    assert_eq!(raw.length(), 10);
    assert_eq!(raw.read_at(3, 4, Wait::Allowed).unwrap(), "3456");
    assert_eq!(raw.read_at(10, 0, Wait::Allowed).unwrap(), "");
}

// req: ED-02
// attack: E-17
#[test]
fn a_read_past_the_end_is_refused_before_anything_is_allocated() {
    let (_directory, path) = file(b"0123456789");
    let raw = RawFile::open(&path).unwrap();
    for (offset, length) in [
        (8, 3),
        (11, 0),
        (u64::MAX, 1),
        (0, usize::MAX),
        (5, usize::MAX),
    ] {
        let refused = raw.read_at(offset, length, Wait::Allowed).unwrap_err();
        assert!(matches!(refused, PackError::Io(_)), "{refused}");
    }
}

// A read that is not to wait may be refused, but never gives something else.
#[test]
fn a_read_that_does_not_wait_is_right_or_would_block() {
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let (_directory, path) = file(&bytes);
    let raw = RawFile::open(&path).unwrap();
    match raw.read_at(1000, 300_000, Wait::Never) {
        Ok(read) => assert_eq!(read, bytes[1000..301_000]),
        Err(error) => assert!(matches!(error, PackError::WouldBlock), "{error}"),
    }
}

// attack: L-21
#[test]
fn a_truncated_file_is_noticed() {
    let (_directory, path) = file(&[1; 10_000]);
    let raw = RawFile::open(&path).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(5_000)
        .unwrap();
    for offset in [0, 4_990, 9_000] {
        let error = raw.read_at(offset, 20, Wait::Allowed).unwrap_err();
        assert!(matches!(error, PackError::Changed), "{error}");
    }
}

// attack: L-21
#[test]
fn a_file_written_to_is_noticed() {
    let (_directory, path) = file(&[1; 10_000]);
    let raw = RawFile::open(&path).unwrap();
    let mut other = File::options().append(true).open(&path).unwrap();
    other.write_all(b"more").unwrap();
    let error = raw.read_at(0, 20, Wait::Allowed).unwrap_err();
    assert!(matches!(error, PackError::Changed), "{error}");
}

// attack: L-21
#[test]
fn a_file_renamed_over_it_changes_nothing() {
    let (directory, path) = file(&[1; 100]);
    let raw = RawFile::open(&path).unwrap();
    let other = directory.path().join("other");
    std::fs::write(&other, [2; 300]).unwrap();
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(raw.read_at(0, 100, Wait::Allowed).unwrap(), [1; 100][..]);
}

// attack: F-09
#[test]
fn what_is_not_a_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    for path in [pipe.as_path(), directory.path(), Path::new("/dev/zero")] {
        let error = RawFile::open(path).unwrap_err();
        assert!(
            matches!(error, PackError::NotAPack | PackError::Io(_)),
            "{error}"
        );
    }
}
