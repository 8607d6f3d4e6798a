//! Bad input: every mistake is named with its place and what is allowed, at once, by an exit code, in short time.

use std::ffi::CString;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::command::{Ran, macronode, ran};
use tempfile::TempDir;

const CONFIG: i32 = 3;
const START: i32 = 4;
const AT_ONCE: Duration = Duration::from_secs(2);

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn written(directory: &TempDir, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join("node.toml");
    std::fs::write(&path, text).expect("a writable directory");
    path
}

/// What `check` and `run` say of a file, which must be the same.
fn refused(path: &Path) -> String {
    let [checked, run] = ["check", "run"].map(|verb| {
        let said = ran(macronode([verb, "--config"]).arg(path));
        assert_eq!(said.code, Some(CONFIG), "{verb} {path:?}: {said:?}");
        assert_eq!(said.stdout, "", "{verb} {path:?}");
        assert!(said.took < AT_ONCE, "{verb} {path:?} took {:?}", said.took);
        said.stderr
    });
    assert_eq!(checked, run);
    checked
}

fn assert_says(said: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(said.contains(wanted), "no {wanted:?} in: {said}");
    }
}

// req: KN-13
// attack: I-01, I-02, I-03, I-04
#[test]
fn each_mistake_in_a_text_is_told_with_line_key_and_what_is_allowed() {
    let cases: [(&str, &[&str]); 11] = [
        (
            "[demo]\nwrkers = 3\n",
            &[
                "node.toml:2:1",
                "demo.wrkers",
                "not a known key",
                "did you mean `workers`?",
            ],
        ),
        (
            "[dmo]\n",
            &[
                "node.toml:1:2",
                "dmo",
                "not a known key",
                "did you mean `demo`?",
            ],
        ),
        (
            "[demo]\n\nworkers = \"four\"\n",
            &[
                "node.toml:3:11",
                "demo.workers",
                "expected an integer, found a string",
                "allowed: 1 to 512",
            ],
        ),
        (
            "[demo]\nworkers = 0\n",
            &[
                "node.toml:2:11",
                "demo.workers = 0",
                "out of range",
                "allowed: 1 to 512",
            ],
        ),
        (
            "[drain]\ndeadline_ms = -1\n",
            &[
                "node.toml:2:15",
                "drain.deadline_ms = -1",
                "allowed: 0 to 600000",
            ],
        ),
        (
            "[traces]\nratio = nan\n",
            &[
                "node.toml:2:9",
                "traces.ratio = nan",
                "not a finite number",
                "allowed: 0 to 1",
            ],
        ),
        (
            "[demo]\nlisten = \"localhost\"\n",
            &[
                "node.toml:2:10",
                "demo.listen",
                "invalid socket address syntax",
                "IP:PORT",
            ],
        ),
        (
            "[demo]\nworkers = 512\nunits_per_worker = 512\n",
            &[
                "node.toml:2:11",
                "demo.workers",
                "262144 units at once",
                "lower one of them",
            ],
        ),
        (
            "[admin]\nlisten = \"192.0.2.1:9600\"\n",
            &[
                "node.toml:2:10",
                "admin.listen",
                "open to the network without a token",
                "set admin.token",
            ],
        ),
        (
            "[log]\nlevel = \"loud\"\n",
            &[
                "node.toml:2:9",
                "log.level",
                "`loud` is no log level",
                "info",
            ],
        ),
        (
            "[demo]\nworkers = 4\n[logs",
            &["node.toml:3:6", "unclosed table"],
        ),
    ];
    let directory = directory();
    for (text, wanted) in cases {
        assert_says(&refused(&written(&directory, text)), wanted);
    }
}

// req: KN-13
#[test]
fn all_mistakes_are_told_at_once_from_top_to_bottom() {
    let directory = directory();
    let text = "[demo]\nworkers = 0\nrate = \"much\"\nspeed = 1\n[drain]\ndeadline_ms = 1e9\n[log]\nlevel = \"loud\"\n";
    let said = refused(&written(&directory, text));
    let places = ["toml:2:11", "toml:3:8", "toml:4:1", "toml:6:15", "toml:8:9"].map(|place| {
        said.find(place)
            .unwrap_or_else(|| panic!("no {place} in: {said}"))
    });
    assert!(places.is_sorted(), "{said}");
}

// req: KN-13
// attack: I-09
#[test]
fn what_is_no_readable_config_file_is_told_by_path_and_remedy() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("huge.toml"), "# nothing\n".repeat(1 << 20)).unwrap();
    std::fs::write(at("latin1.toml"), b"[log]\n# Stra\xdfe\nlevel = \"info\"\n").unwrap();
    std::fs::write(at("nul.toml"), b"[log]\nlevel = \"in\0fo\"\n").unwrap();
    symlink(at("nowhere"), at("dangling.toml")).unwrap();
    symlink(at("loop.toml"), at("loop.toml")).unwrap();
    pipe(&at("pipe.toml"));
    let cases: [(PathBuf, &[&str]); 10] = [
        (
            at("missing.toml"),
            &["missing.toml: does not exist", "check the path"],
        ),
        (
            at("dangling.toml"),
            &["dangling.toml: does not exist", "check the path"],
        ),
        (at("loop.toml"), &["loop.toml: cannot be opened"]),
        (
            directory.path().to_owned(),
            &["is not a regular file", "name a TOML file"],
        ),
        (
            at("huge.toml/below"),
            &["huge.toml/below: cannot be opened"],
        ),
        (
            at("pipe.toml"),
            &["pipe.toml: is not a regular file", "name a TOML file"],
        ),
        (
            PathBuf::from("/dev/zero"),
            &["/dev/zero: is not a regular file"],
        ),
        (
            at("huge.toml"),
            &[
                "huge.toml: is larger than",
                "check that this is the file you mean",
            ],
        ),
        (
            at("latin1.toml"),
            &["latin1.toml:2:1: is not UTF-8 text", "save it as UTF-8"],
        ),
        (at("nul.toml"), &["nul.toml:2:"]),
    ];
    for (path, wanted) in cases {
        assert_says(&refused(&path), wanted);
    }
}

fn pipe(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path without NUL");
    // SAFETY: a valid, terminated path; the call keeps nothing of it.
    let made = unsafe { libc::mkfifo(path.as_ptr(), 0o600) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
}

// req: KN-13
#[test]
fn defaults_give_way_to_the_file_the_file_to_the_environment_the_environment_to_flags() {
    let directory = directory();
    let path = written(&directory, "[demo]\nworkers = 2\n");
    let printed = |file: bool, variable: Option<&str>, flag: Option<&str>| {
        let mut command = macronode(["config", "print"]);
        if file {
            command.arg("--config").arg(&path);
        }
        if let Some(variable) = variable {
            command.env("MACRONODE__DEMO__WORKERS", variable);
        }
        if let Some(flag) = flag {
            command.arg("--set").arg(format!("demo.workers={flag}"));
        }
        let said = ran(&mut command);
        assert_eq!(said.code, Some(0), "{said:?}");
        let section = said.stdout.lines().skip_while(|line| *line != "[demo]");
        let mut lines = section.filter_map(|line| line.strip_prefix("workers = "));
        let line = lines.next();
        line.unwrap().to_owned()
    };
    assert_eq!(printed(false, None, None), "4");
    assert_eq!(printed(true, None, None), "2");
    assert_eq!(printed(true, Some("3"), None), "3");
    assert_eq!(printed(true, Some("3"), Some("5")), "5");
    assert_eq!(printed(false, Some("3"), Some("5")), "5");
}

// req: KN-13
// attack: I-02, I-03
#[test]
fn mistakes_in_variables_and_flags_are_told_by_their_names_together_with_those_of_the_file() {
    let directory = directory();
    let path = written(&directory, "[demo]\nrate = -1\n");
    let said = ran(
        macronode(["check", "--set", "demo.workers=none", "--set", "drain"])
            .arg("--config")
            .arg(path)
            .env("MACRONODE__DEMO__WRKERS", "3")
            .env("MACRONODE__DRAIN__DEADLINE_MS", "soon"),
    );
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(CONFIG), ""),
        "{said:?}"
    );
    let wanted = [
        "node.toml:2:8: demo.rate = -1",
        "environment MACRONODE__DEMO__WRKERS: demo.wrkers: is not a known key; did you mean `workers`?",
        "environment MACRONODE__DRAIN__DEADLINE_MS: drain.deadline_ms",
        "--set demo.workers: demo.workers",
        "write it as `--set section.key=value`",
    ];
    assert_says(&said.stderr, &wanted);
}

// req: KN-13
#[test]
fn a_printed_config_is_valid_and_prints_as_itself() {
    let directory = directory();
    for comments in [&[][..], &["--comments"]] {
        let print = |path: &Path| {
            let said = ran(macronode(["config", "print"])
                .args(comments)
                .arg("--config")
                .arg(path));
            assert_eq!(said.code, Some(0), "{said:?}");
            said.stdout
        };
        let first = print(&written(
            &directory,
            "[demo]\nworkers = 2\n[drain]\naccept_grace_ms = 7\n",
        ));
        let path = written(&directory, &first);
        let checked = ran(macronode(["check", "--config"]).arg(&path));
        assert_eq!(checked.code, Some(0), "{checked:?}\n{first}");
        assert!(
            checked.stdout.ends_with("node.toml: valid\n"),
            "{checked:?}"
        );
        assert_eq!(print(&path), first);
    }
}

fn cannot_start(sets: &[&str]) -> Ran {
    let mut command = macronode(["run"]);
    for set in sets {
        command.args(["--set", set]);
    }
    let said = ran(&mut command);
    assert_eq!(said.code, Some(START), "{said:?}");
    assert_eq!(said.stdout, "", "nothing is ready");
    assert!(said.took < AT_ONCE, "{said:?}");
    said
}

#[test]
fn a_port_in_use_is_told_by_key_with_how_to_find_who_has_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let free = "127.0.0.1:0";
    for (key, other) in [
        ("admin.listen", "demo.listen"),
        ("demo.listen", "admin.listen"),
    ] {
        let said = cannot_start(&[&format!("{key}={address}"), &format!("{other}={free}")]);
        let port = format!("sport = :{}", address.port());
        let named = format!("{key} = \"{address}\"");
        assert_says(
            &said.stderr,
            &[&named, "in use", "remedy: find who has it", &port],
        );
    }
}

#[test]
fn an_address_this_machine_does_not_have_is_told_by_key_with_a_remedy() {
    let said = cannot_start(&["admin.listen=127.0.0.1:0", "demo.listen=192.0.2.1:0"]);
    let wanted = [
        "demo.listen = \"192.0.2.1:0\"",
        "remedy: this machine has no such address",
        "ip addr",
    ];
    assert_says(&said.stderr, &wanted);
}
