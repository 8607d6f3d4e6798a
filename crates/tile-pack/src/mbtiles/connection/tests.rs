use super::*;

fn guarded() -> (tempfile::TempDir, Guarded) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("CREATE TABLE t (i); INSERT INTO t VALUES (1);")
        .unwrap();
    writer.close().unwrap();
    let file = RawFile::open(&path).unwrap();
    let guarded = Guarded::open(&path, &file, &Limits::default()).unwrap();
    (directory, guarded)
}

fn refused(guarded: &Guarded, sql: &str) -> bool {
    let asked = guarded.within(Duration::from_secs(20), Part::Tile, |connection, _| {
        connection.execute_batch(sql)
    });
    asked.is_err()
}

// attack: L-22
#[test]
fn a_connection_reads_and_does_nothing_else() {
    let (directory, guarded) = guarded();
    assert!(!refused(&guarded, "SELECT i, abs(i) FROM t"));
    for sql in [
        "INSERT INTO t VALUES (2)",
        "CREATE TABLE u (i)",
        "CREATE TEMP TABLE u (i)",
        "ATTACH ':memory:' AS other",
        "PRAGMA query_only = OFF",
        "SELECT load_extension('x')",
        "SELECT i FROM pragma_database_list",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 1",
    ] {
        assert!(refused(&guarded, sql), "{sql}");
    }
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
}

#[test]
fn a_hot_journal_is_told_from_a_spent_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let journal = directory.path().join("db-journal");
    assert!(check_finished(&path).is_ok());
    std::fs::write(&journal, [0; 512]).unwrap();
    assert!(check_finished(&path).is_ok());
    std::fs::write(&journal, HOT).unwrap();
    assert!(matches!(check_finished(&path), Err(PackError::Unfinished)));
}

#[test]
fn a_path_of_any_bytes_becomes_a_uri() {
    let path = Path::new(OsStr::from_bytes(b"/a b/?#%\xff.x"));
    assert_eq!(uri(path), "file:/a%20b/%3F%23%25%FF.x?mode=ro&immutable=1");
}
