use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn refusal_of(path: &Path) -> String {
    let mistakes = read_file(path).err().expect("is refused");
    assert_eq!(mistakes.iter().count(), 1);
    mistakes.to_string()
}

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn a_regular_file_is_read_whole() {
    let file = written(b"name = \"a\"\n");
    let source = read_file(file.path()).unwrap();
    assert_eq!(
        (source.text(), source.path()),
        ("name = \"a\"\n", file.path())
    );
}

// attack: I-09
#[test]
fn a_file_beyond_the_cap_is_refused_and_one_at_the_cap_is_read() {
    let file = written(&vec![b'\n'; 10_000_000]);
    assert!(refusal_of(file.path()).contains("is larger than the 1048576 bytes"));
    let file = written(&vec![b'\n'; MAX_FILE_BYTES as usize]);
    assert!(read_file(file.path()).is_ok());
}

// attack: I-09
#[test]
fn a_file_whose_size_is_not_told_is_read_only_to_the_cap() {
    let text = read_capped(File::open("/dev/zero").unwrap(), 0).unwrap();
    assert_eq!(text.len() as u64, MAX_FILE_BYTES + 1);
}

#[test]
fn a_file_that_has_another_size_than_it_claims_is_read_whole() {
    let content = "key = 1\n".repeat(1000);
    let file = written(content.as_bytes());
    for claimed in [0, 1, 7_999, 8_000, 8_001, u64::MAX] {
        let read = read_capped(File::open(file.path()).unwrap(), claimed).unwrap();
        assert_eq!(*read, content.as_bytes(), "{claimed}");
        assert!(claimed != 8_000 || read.capacity() < 10_000);
    }
}

// req: KN-13
#[test]
fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refusal_of(dir.path()).contains("is not a regular file"));
    let pipe = dir.path().join("pipe");
    let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: `name` is a valid C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert!(refusal_of(&pipe).contains("is not a regular file"));
    assert!(open_regular(&pipe).is_err() && open_regular(dir.path()).is_err());
    assert!(open_regular(written(b"key = 1\n").path()).is_ok());
}

// req: KN-13
// attack: I-05
#[test]
fn a_missing_file_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("node.toml");
    let report = refusal_of(&path);
    assert!(
        report.starts_with(&format!("{}: does not exist; ", path.display())),
        "{report}"
    );
    // It may be the file of a policy: nobody is advised to go without.
    assert!(report.contains("has to be there"), "{report}");
    assert!(!report.contains("without"), "{report}");
}

#[test]
fn a_file_one_may_not_read_says_so() {
    let file = written(b"");
    std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o000)).unwrap();
    // A privileged user may read anything, which leaves the words to check.
    match read_file(file.path()) {
        Err(mistakes) => assert!(mistakes.to_string().contains("may not be read")),
        Ok(_) => {
            let error = io::Error::from(io::ErrorKind::PermissionDenied);
            assert_eq!(unopened(&error), "may not be read by this user");
        }
    }
}

// attack: I-01
#[test]
fn text_that_is_not_utf_8_is_refused_at_its_line() {
    let file = written(b"name = \"a\"\n# \xff\n");
    let expected = format!("{}:2:1: is not UTF-8 text", file.path().display());
    assert!(refusal_of(file.path()).starts_with(&expected));
}
