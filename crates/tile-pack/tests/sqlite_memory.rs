//! What SQLite may hold has a limit of the process, so this test has a process of its own.

use std::time::Duration;

use rusqlite::Connection;
use tile_pack::{Limits, Pack, PackError};

// Without the limit the join would sort gigabytes.
// req: ED-02
// attack: L-22
#[test]
fn what_a_view_sorts_is_bounded_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sorted.mbtiles");
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch(
            "CREATE TABLE metadata (name TEXT, value TEXT);
             CREATE TABLE t (i INTEGER, b BLOB);
             INSERT INTO t VALUES (1, zeroblob(4000000)), (2, zeroblob(4000000));
             CREATE VIEW tiles AS SELECT a.i AS zoom_level, b.i AS tile_column, c.i AS tile_row, a.b AS tile_data
                 FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k ORDER BY a.i + k.i;",
        )
        .unwrap();
    writer.close().unwrap();
    let limits = Limits {
        sqlite_bytes: 64 << 20,
        query_time: Duration::from_secs(60),
        ..Limits::default()
    };
    let pack = Pack::open(&path, &limits).unwrap();
    let refused = pack.verify(&mut |_, _| ()).unwrap_err();
    assert!(matches!(refused, PackError::Sqlite(_)), "{refused}");
    assert!(refused.is_transient(), "{refused}");
}
