use std::ffi::CString;
use std::os::unix::fs::symlink;

use super::*;

fn wanted(directory: &Path) -> Wanted {
    Wanted {
        packs: Vec::new(),
        directories: vec![directory.to_owned()],
    }
}

fn names(sweep: &Sweep) -> Vec<&str> {
    sweep.found.keys().map(String::as_str).collect()
}

// req: ED-01
// attack: F-08, F-09, L-05
#[test]
fn only_regular_files_that_lie_inside_are_packs() {
    let outside = tempfile::tempdir().unwrap();
    let inside = tempfile::tempdir().unwrap();
    let at = |name: &str| inside.path().join(name);
    fs::write(outside.path().join("secret.pmtiles"), b"x").unwrap();
    fs::write(at("good.pmtiles"), b"x").unwrap();
    fs::write(at("notes.txt"), b"x").unwrap();
    fs::write(at(".hidden.pmtiles"), b"x").unwrap();
    fs::write(at("odd name.pmtiles"), b"x").unwrap();
    fs::create_dir(at("directory.pmtiles")).unwrap();
    fs::create_dir(at("data")).unwrap();
    fs::write(at("data/real.pmtiles"), b"x").unwrap();
    symlink(at("data/real.pmtiles"), at("linked.pmtiles")).unwrap();
    symlink(outside.path().join("secret.pmtiles"), at("escape.pmtiles")).unwrap();
    symlink(at("nowhere"), at("dangling.pmtiles")).unwrap();
    let pipe = CString::new(at("pipe.pmtiles").to_str().unwrap()).unwrap();
    // SAFETY: the path ends with a zero byte and outlives the call.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    let sweep = sweep(&wanted(inside.path()));
    assert_eq!(names(&sweep), ["good", "linked"]);
    assert!(sweep.troubles.is_empty(), "{:?}", sweep.troubles);
}

// req: ED-01
#[test]
fn a_file_that_is_replaced_or_written_to_has_another_stamp() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pmtiles");
    fs::write(&path, b"one").unwrap();
    let stamp = || {
        sweep(&wanted(directory.path())).found["a"]
            .stamp
            .clone()
            .unwrap()
    };
    let first = stamp();
    assert_eq!(stamp(), first);
    let other = directory.path().join("other");
    fs::write(&other, b"two").unwrap();
    fs::rename(&other, &path).unwrap();
    let second = stamp();
    assert_ne!(second, first);
    fs::write(&path, b"three").unwrap();
    assert_ne!(stamp(), second);
}

// req: ED-01
#[test]
fn the_config_names_first_and_what_is_left_out_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["a.pmtiles", "b.mbtiles", "b.pmtiles", "other"] {
        fs::write(at(name), b"x").unwrap();
    }
    let wanted = Wanted {
        packs: vec![
            ("a".to_owned(), at("other")),
            ("missing".to_owned(), at("missing.pmtiles")),
        ],
        directories: vec![directory.path().to_owned(), at("nowhere")],
    };
    let sweep = sweep(&wanted);
    assert_eq!(sweep.found["a"].path, at("other"));
    assert_eq!(sweep.found["a.pmtiles"].path, at("a.pmtiles"));
    assert_eq!(sweep.found["b"].path, at("b.pmtiles"));
    assert_eq!(sweep.found["b.mbtiles"].path, at("b.mbtiles"));
    assert!(sweep.found["missing"].stamp.is_err());
    assert_eq!(sweep.troubles.len(), 1, "{:?}", sweep.troubles);
}
