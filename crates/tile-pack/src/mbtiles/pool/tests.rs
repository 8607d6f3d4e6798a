use std::time::Duration;

use rusqlite::Connection;

use super::*;

fn pool(limits: &Limits) -> (tempfile::TempDir, Pool) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("CREATE TABLE t (i);").unwrap();
    writer.close().unwrap();
    let file = Arc::new(RawFile::open(&path).unwrap());
    let pool = Pool::open(path, file, limits).unwrap();
    (directory, pool)
}

fn two() -> Limits {
    Limits {
        connections: 2,
        query_time: Duration::from_millis(20),
        ..Limits::default()
    }
}

// req: ED-02
#[test]
fn readers_beyond_the_connections_are_refused_after_a_while() {
    let (_directory, pool) = pool(&two());
    let one = pool.lease().unwrap();
    let _other = pool.lease().unwrap();
    assert!(matches!(pool.lease(), Err(PackError::Busy)));
    drop(one);
    pool.lease().unwrap();
}

#[test]
fn a_connection_given_back_is_used_again() {
    let (_directory, pool) = pool(&two());
    for _ in 0..5 {
        pool.lease().unwrap();
    }
    assert_eq!(pool.state.lock().open, 1);
}

#[test]
fn a_reader_that_panics_gives_its_connection_back() {
    let (_directory, pool) = pool(&two());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _lease = pool.lease().unwrap();
        panic!("while reading");
    }));
    assert!(panicked.is_err());
    assert_eq!(pool.state.lock().idle.len(), 1);
}

#[test]
fn a_reader_that_waits_gets_what_another_gives_back() {
    let limits = Limits {
        connections: 1,
        query_time: Duration::from_secs(30),
        ..Limits::default()
    };
    let (_directory, pool) = pool(&limits);
    let lease = pool.lease().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| pool.lease().map(drop));
        drop(lease);
        waiting.join().unwrap().unwrap();
    });
}

// attack: L-21
#[test]
fn no_connection_is_made_to_another_file_of_the_same_name() {
    let (directory, pool) = pool(&two());
    let other = directory.path().join("other");
    std::fs::copy(directory.path().join("db"), &other).unwrap();
    std::fs::rename(&other, directory.path().join("db")).unwrap();
    let _first = pool.lease().unwrap();
    assert!(matches!(pool.lease(), Err(PackError::Busy)));
    let state = pool.state.lock();
    assert_eq!((state.open, state.most), (1, 1));
}

#[test]
fn a_connection_that_cannot_be_made_now_may_be_later() {
    let (directory, pool) = pool(&two());
    let (path, away) = (directory.path().join("db"), directory.path().join("away"));
    std::fs::rename(&path, &away).unwrap();
    let _first = pool.lease().unwrap();
    assert!(matches!(pool.lease(), Err(PackError::Busy)));
    std::fs::rename(&away, &path).unwrap();
    pool.lease().unwrap();
}
