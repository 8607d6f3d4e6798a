use std::fs;

use super::*;

fn contents(files: &[(&str, &Path)]) -> Contents {
    let files = files.iter();
    Contents::of(
        files
            .map(|(key, path)| ((*key).to_owned(), path.to_path_buf()))
            .collect(),
    )
}

fn changed(old: &Contents, new: &Contents) -> Vec<String> {
    let changes = old.changes(new);
    changes.map(|change| change.to_string()).collect()
}

// req: KN-14
#[test]
fn a_file_that_holds_something_else_or_is_gone_is_a_change_of_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rules");
    let name = || contents(&[("policy.file", &path)]);
    let absent = name();
    fs::write(&path, "one").unwrap();
    let one = name();
    fs::write(&path, "two").unwrap();
    let two = name();
    fs::write(&path, "one").unwrap();
    let again = name();
    assert_eq!(changed(&one, &again), [""; 0]);
    for (old, new) in [(&absent, &one), (&one, &two), (&two, &absent)] {
        assert_eq!(changed(old, new), ["policy.file: changed"]);
    }
}

// req: KN-14
#[test]
fn another_name_is_a_change_of_the_text_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (directory.path().join("a"), directory.path().join("b"));
    fs::write(&here, "one").unwrap();
    fs::write(&there, "two").unwrap();
    let (old, new) = (contents(&[("ca", &here)]), contents(&[("ca", &there)]));
    assert_eq!(changed(&old, &new), [""; 0]);
}

// req: KN-14
#[test]
fn who_writes_a_file_changes_its_stamp_even_to_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rules");
    let absent = Stamp::of(&path);
    fs::write(&path, "one").unwrap();
    let written = Stamp::of(&path);
    assert!(absent != written && written == Stamp::of(&path));
    let fresh = path.with_extension("new");
    fs::write(&fresh, "one").unwrap();
    fs::rename(&fresh, &path).unwrap();
    assert!(written != Stamp::of(&path));
}
