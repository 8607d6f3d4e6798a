//! Limits that the system sets to the process: no files, no bytes, no descriptors.

use std::process::Command;
use verified_store::{Hash, Limits, Shortage, Standing, Store, StoreError, Why};

const ROLE: &str = "VERIFIED_STORE_ROLE";

/// Runs `part` in a process of its own, since what it limits cannot be lifted again.
fn alone(test: &str, part: impl FnOnce()) {
    if std::env::var_os(ROLE).is_some() {
        return part();
    }
    let mut program = Command::new(std::env::current_exe().expect("a test knows its program"));
    let output = program
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, "limited")
        .output();
    let output = output.expect("the test program starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn limit(which: libc::__rlimit_resource_t, to: libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is whole and lives as long as the calls.
    let set = unsafe {
        libc::getrlimit(which, &raw mut limit);
        limit.rlim_cur = to;
        libc::setrlimit(which, &raw const limit)
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

fn put(store: &Store, bytes: &[u8]) -> Result<Hash, StoreError> {
    let mut writing = store.begin(None)?;
    writing.write(bytes)?;
    writing.commit()
}

// req: ED-13
#[test]
fn a_store_in_memory_needs_no_file_at_all() {
    alone("a_store_in_memory_needs_no_file_at_all", || {
        limit(libc::RLIMIT_NOFILE, 0);
        let refused = std::fs::File::open("/dev/null");
        assert!(refused.is_err(), "no file can be opened here");
        let store = Store::in_memory(Limits::of_bytes(1 << 20));
        for seed in 0..100 {
            let hash = put(&store, &[seed; 50_000]).expect("memory");
            store.put_record(&hash, &[hash], b"head").expect("memory");
            let object = store.get(&hash).expect("just written");
            assert_eq!(object.whole().expect("memory"), vec![seed; 50_000]);
        }
        assert!(store.stats().evicted > 0);
    });
}

// attack: J-01
#[test]
fn a_limit_on_file_size_is_a_full_disk() {
    alone("a_limit_on_file_size_is_a_full_disk", || {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(dir.path(), Limits::of_bytes(1 << 30)).expect("a good disk");
        // SAFETY: ignoring a signal installs no handler of ours.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limit(libc::RLIMIT_FSIZE, 100_000);
        let hash = put(&store, &[1; 90_000]).expect("below the limit");
        let refused = put(&store, &[2; 110_000]);
        assert!(
            matches!(refused, Err(StoreError::Full(Shortage::Disk))),
            "{refused:?}"
        );
        assert_eq!(store.standing(), Standing::Degraded { why: Why::Full });
        assert!(store.get(&hash).is_some());
        let temps = std::fs::read_dir(dir.path().join("tmp")).expect("a directory");
        assert_eq!(temps.count(), 0);
        put(&store, &[3; 1000]).expect("below the limit");
        assert_eq!(store.standing(), Standing::Good);
    });
}

// attack: J-06
#[test]
fn a_process_without_descriptors_serves_again_once_it_has_some() {
    alone(
        "a_process_without_descriptors_serves_again_once_it_has_some",
        || {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let store = Store::open(dir.path(), Limits::of_bytes(1 << 30)).expect("a good disk");
            let hash = put(&store, b"here").expect("a good disk");
            store
                .put_record(&hash, &[hash], b"head")
                .expect("a good disk");
            limit(libc::RLIMIT_NOFILE, 0);
            assert!(store.get(&hash).is_none());
            assert!(put(&store, b"there").is_err());
            assert!(store.record(&hash).is_some(), "the log is open");
            limit(libc::RLIMIT_NOFILE, 100);
            let object = store.get(&hash).expect("it was never gone");
            assert_eq!(object.whole().expect("undamaged"), "here");
            put(&store, b"there").expect("a good disk");
            assert_eq!(
                (store.stats().quarantined, store.standing()),
                (0, Standing::Good)
            );
        },
    );
}
