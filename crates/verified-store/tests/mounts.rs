//! Real file systems that are full, without inodes, or read-only. Where none can be mounted a line says so.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use verified_store::{Hash, Limits, Shortage, Standing, Store, StoreError, Why};

const ROLE: &str = "VERIFIED_STORE_MOUNT";

/// Runs `part` in a mount namespace of its own, with a small file system in memory at the path it gets.
fn mounted(test: &str, options: &str, part: impl FnOnce(&Path)) {
    if let Some(dir) = std::env::var_os(ROLE) {
        return part(Path::new(&dir));
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mount = format!("mount -t tmpfs -o {options} none \"$0\"");
    let namespace = |command: &str| {
        let mut shell = Command::new("unshare");
        // Root of its own user namespace, where the system lets anybody be that.
        shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", command]);
        shell.arg(dir.path());
        shell
    };
    let possible = namespace(&mount).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        // Past the harness, which shows the output of failed tests only.
        let said = writeln!(
            std::io::stderr(),
            "{test} did not run: nothing can be mounted here"
        );
        return said.expect("standard error");
    }
    let program = std::env::current_exe().expect("a test knows its program");
    let run = format!("{mount} && exec \"$1\" --exact {test} --nocapture");
    let mut command = namespace(&run);
    let output = command.arg(program).env(ROLE, dir.path()).output();
    let output = output.expect("the test program starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn put(store: &Store, bytes: &[u8]) -> Result<Hash, StoreError> {
    let mut writing = store.begin(None)?;
    writing.write(bytes)?;
    writing.commit()
}

fn fill(store: &Store, len: usize) -> (Vec<Hash>, StoreError) {
    let mut hashes = Vec::new();
    loop {
        let mut bytes = vec![0; len];
        bytes[..8].copy_from_slice(&hashes.len().to_le_bytes());
        match put(store, &bytes) {
            Ok(hash) => hashes.push(hash),
            Err(error) => return (hashes, error),
        }
        assert!(hashes.len() < 10_000, "the disk is never full");
    }
}

fn is_full_and_whole(dir: &Path, len: usize) {
    let store = Store::open(dir, Limits::of_bytes(1 << 30)).expect("room for an empty one");
    let (hashes, error) = fill(&store, len);
    assert!(matches!(error, StoreError::Full(Shortage::Disk)), "{error}");
    assert_eq!(store.standing(), Standing::Degraded { why: Why::Full });
    assert!(
        hashes
            .iter()
            .all(|hash| store.get(hash).is_some_and(|object| object.whole().is_ok()))
    );
    let temps = std::fs::read_dir(dir.join("tmp")).expect("a directory");
    assert_eq!((temps.count(), store.stats().reserved), (0, 0));
    drop(store);
    // A smaller store on the same disk makes its own room.
    let lower = Limits {
        objects: hashes.len() as u64 / 2,
        ..Limits::of_bytes(1 << 30)
    };
    let store = Store::open(dir, lower).expect("opens on a full disk");
    put(&store, b"there is room again").expect("half of them went");
    assert_eq!(store.standing(), Standing::Good);
}

// req: ED-03
// attack: J-01
#[test]
fn a_full_file_system_takes_what_fits_and_shows_nothing_partial() {
    let test = "a_full_file_system_takes_what_fits_and_shows_nothing_partial";
    mounted(test, "size=4m", |dir| is_full_and_whole(dir, 50_000));
}

// req: ED-03
// attack: J-07
#[test]
fn a_file_system_without_inodes_is_full() {
    let test = "a_file_system_without_inodes_is_full";
    mounted(test, "size=64m,nr_inodes=320", |dir| {
        is_full_and_whole(dir, 10)
    });
}

// req: ED-03
// attack: J-04
#[test]
fn a_read_only_file_system_is_served_from() {
    let test = "a_read_only_file_system_is_served_from";
    mounted(test, "size=8m", |dir| {
        let limits = Limits::of_bytes(1 << 30);
        let store = Store::open(dir, limits).expect("room");
        let hash = put(&store, b"here").expect("room");
        store.put_record(&hash, &[hash], b"head").expect("room");
        drop(store);
        remount(dir, "ro");
        let store = Store::open(dir, limits).expect("what is there can be read");
        let why = Why::ReadOnly;
        assert_eq!(store.standing(), Standing::Degraded { why });
        assert_eq!(
            store.get(&hash).expect("here").whole().expect("undamaged"),
            "here"
        );
        assert_eq!(store.record(&hash).expect("here").bytes, "head");
        assert!(matches!(put(&store, b"new"), Err(StoreError::ReadOnly)));
        assert!(matches!(
            store.put_record(&hash, &[], b"new"),
            Err(StoreError::ReadOnly)
        ));
        assert_eq!(store.standing(), Standing::Degraded { why });
        assert_eq!(store.record(&hash).expect("still here").bytes, "head");
        drop(store);
        remount(dir, "rw");
        let store = Store::open(dir, limits).expect("room");
        put(&store, b"new").expect("room");
        assert_eq!(store.standing(), Standing::Good);
    });
}

// attack: J-04
#[test]
fn a_read_only_file_system_without_a_store_says_so() {
    let test = "a_read_only_file_system_without_a_store_says_so";
    mounted(test, "size=8m", |dir| {
        remount(dir, "ro");
        let refused = Store::open(dir, Limits::default());
        assert!(matches!(refused, Err(StoreError::ReadOnly)), "{refused:?}");
    });
}

fn remount(dir: &Path, how: &str) {
    let options = format!("remount,{how}");
    let status = Command::new("mount")
        .args(["-o", &options])
        .arg(dir)
        .status();
    assert!(status.expect("mount starts").success());
}
