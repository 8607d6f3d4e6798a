use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::pack::Pack;
use crate::selection::Selection;

const TABLES: &str = "CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);";
/// A picture, as far as anybody looks.
const PNG: &str = "x'89504e470d0a1a0a00'";

struct Database {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn database(sql: &str) -> Database {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tiles of? 100%#.mbtiles");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap();
    Database {
        _directory: directory,
        path,
    }
}

fn tables(sql: &str) -> Database {
    database(&format!("{TABLES} {sql}"))
}

fn brief() -> Limits {
    Limits {
        query_time: Duration::from_millis(300),
        ..Limits::default()
    }
}

impl Database {
    fn open(&self) -> Result<Pack, PackError> {
        Pack::open(&self.path, &Limits::default())
    }

    fn pack(&self) -> Pack {
        self.open().unwrap()
    }
}

fn at(z: u8, x: u32, y: u32) -> TileAddress {
    TileAddress::new(z, x, y).unwrap()
}

fn tile(pack: &Pack, z: u8, x: u32, y: u32) -> Option<Tile> {
    pack.tile(at(z, x, y), Wait::Allowed).unwrap()
}

// req: ED-01
#[test]
fn rows_are_counted_from_the_south() {
    let database = tables("INSERT INTO tiles VALUES (2, 1, 0, x'aa'), (2, 1, 3, x'bb');");
    let pack = database.pack();
    assert_eq!(tile(&pack, 2, 1, 3).unwrap().bytes, [0xaa][..]);
    assert_eq!(tile(&pack, 2, 1, 0).unwrap().bytes, [0xbb][..]);
    assert_eq!(tile(&pack, 2, 1, 1), None);
}

#[test]
fn a_query_is_never_made_where_waiting_is_not_allowed() {
    let database = tables("INSERT INTO tiles VALUES (0, 0, 0, x'aa');");
    let error = database.pack().tile(at(0, 0, 0), Wait::Never).unwrap_err();
    assert!(matches!(error, PackError::WouldBlock));
}

#[test]
fn without_rows_of_metadata_the_tiles_tell() {
    let database = tables(&format!(
        "INSERT INTO tiles VALUES (3, 1, 0, {PNG}), (5, 1, 0, {PNG});"
    ));
    let pack = database.pack();
    let about = pack.about();
    assert_eq!((about.min_zoom, about.max_zoom), (3, 5));
    assert_eq!(
        (about.tile_format, about.coding),
        (TileFormat::Png, Coding::None)
    );
    assert_eq!(about.bounds, Bounds::WORLD);
}

// req: ED-01
#[test]
fn vector_tiles_say_each_for_itself_whether_they_are_compressed() {
    let database = tables(
        "INSERT INTO metadata VALUES ('format', 'pbf');
         INSERT INTO tiles VALUES (1, 0, 0, x'1f8b08'), (1, 0, 1, x'1a00'), (1, 1, 1, x'28b52ffd00');",
    );
    let pack = database.pack();
    assert_eq!(pack.about().coding, Coding::Gzip);
    assert_eq!(tile(&pack, 1, 0, 1).unwrap().coding, Coding::Gzip);
    assert_eq!(tile(&pack, 1, 0, 0).unwrap().coding, Coding::None);
    assert_eq!(tile(&pack, 1, 1, 0).unwrap().coding, Coding::Zstd);
}

// req: ED-01
#[test]
fn tables_may_be_views() {
    let database = database(&format!(
        "CREATE TABLE map (z INTEGER, x INTEGER, y INTEGER, image TEXT);
         CREATE TABLE images (id TEXT PRIMARY KEY, bytes BLOB);
         CREATE TABLE facts (key TEXT, fact TEXT);
         CREATE VIEW metadata AS SELECT key AS name, fact AS value FROM facts;
         CREATE VIEW tiles AS SELECT z AS zoom_level, x AS tile_column, y AS tile_row,
             coalesce(bytes, x'') AS tile_data FROM map LEFT JOIN images ON image = id;
         INSERT INTO facts VALUES ('name', 'viewed'), ('format', 'png');
         INSERT INTO images VALUES ('a', {PNG});
         INSERT INTO map VALUES (0, 0, 0, 'a'), (1, 0, 0, 'a'), (1, 1, 0, 'missing');"
    ));
    let pack = database.pack();
    assert_eq!(pack.about().metadata["name"], "viewed");
    assert!(tile(&pack, 1, 0, 1).is_some());
    assert_eq!(tile(&pack, 1, 1, 1), None);
    let verified = pack.verify(&mut |_, _| ()).unwrap();
    assert_eq!((verified.tiles, verified.notes.len()), (2, 1));
}

// attack: L-22
#[test]
fn a_null_or_empty_blob_is_no_tile() {
    let database =
        tables("INSERT INTO tiles VALUES (1, 0, 0, NULL), (1, 0, 1, x''), (1, 1, 0, 7);");
    let pack = database.pack();
    for (x, y) in [(0, 1), (0, 0), (1, 1)] {
        assert_eq!(tile(&pack, 1, x, y), None);
    }
}

// attack: L-22
#[test]
fn a_view_that_recurses_is_refused() {
    let database = database(&format!(
        "CREATE TABLE metadata (name TEXT, value TEXT);
         CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
             SELECT 0 AS zoom_level, i AS tile_column, -1 AS tile_row, {PNG} AS tile_data FROM n;"
    ));
    assert_eq!(database.open().unwrap_err().reason(), "sqlite");
}

// attack: L-22
#[test]
fn a_view_that_makes_bytes_of_nothing_is_refused() {
    for made in [
        "zeroblob(1073741824)",
        "randomblob(1000000)",
        "printf('%1000000000d', 1)",
        "load_extension('x')",
    ] {
        let database = database(&format!(
            "CREATE TABLE metadata (name TEXT, value TEXT);
             CREATE VIEW tiles AS SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, {made} AS tile_data;"
        ));
        assert_eq!(database.open().unwrap_err().reason(), "sqlite", "{made}");
    }
}

// req: ED-02
// attack: L-22
#[test]
fn a_query_that_takes_its_time_is_cut_off() {
    let database = database(
        "CREATE TABLE metadata (name TEXT, value TEXT);
         CREATE TABLE n (i INTEGER);
         WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 1000) INSERT INTO n SELECT i FROM c;
         CREATE VIEW tiles AS SELECT 0 AS zoom_level, a.i AS tile_column, b.i AS tile_row, x'aa' AS tile_data
             FROM n a, n b, n c, n d WHERE a.i + b.i + c.i + d.i < 0;",
    );
    let refused = Pack::open(&database.path, &brief()).unwrap_err();
    assert!(matches!(refused, PackError::Slow), "{refused}");
}

// req: ED-02
// attack: L-22
#[test]
fn a_blob_beyond_the_limit_is_refused_and_its_neighbours_are_not() {
    let database = tables(
        "INSERT INTO metadata VALUES ('format', 'png'), ('minzoom', 1), ('maxzoom', 1);
         INSERT INTO tiles VALUES (1, 0, 0, x'aa'), (1, 1, 0, zeroblob(3000000));",
    );
    let limits = Limits {
        tile_bytes: 2 << 20,
        ..Limits::default()
    };
    let pack = Pack::open(&database.path, &limits).unwrap();
    let refused = pack.tile(at(1, 1, 1), Wait::Allowed).unwrap_err();
    assert!(
        matches!(
            refused,
            PackError::TooLarge {
                part: Part::Tile,
                ..
            }
        ),
        "{refused}"
    );
    assert!(tile(&pack, 1, 0, 1).is_some());
}

// attack: L-18
#[test]
fn metadata_beyond_the_limit_is_refused() {
    let database = tables("INSERT INTO metadata VALUES ('json', zeroblob(2000000));");
    assert_eq!(database.open().unwrap_err().reason(), "too_large");
    let database = tables(
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 50000)
             INSERT INTO metadata SELECT i, '' FROM c;",
    );
    assert_eq!(database.open().unwrap_err().reason(), "too_large");
}

// attack: L-22
#[test]
fn a_database_with_changes_beside_it_is_refused() {
    let database = tables("PRAGMA journal_mode = WAL;");
    let writer = Connection::open(&database.path).unwrap();
    writer
        .execute_batch("INSERT INTO tiles VALUES (0, 0, 0, x'aa');")
        .unwrap();
    assert!(matches!(database.open(), Err(PackError::Unfinished)));
    writer.close().unwrap();
    assert!(tile(&database.pack(), 0, 0, 0).is_some());
}

// attack: L-22
#[test]
fn a_locked_database_is_read_all_the_same() {
    let database = tables("INSERT INTO tiles VALUES (0, 0, 0, x'aa');");
    let other = Connection::open(&database.path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE;").unwrap();
    assert!(tile(&database.pack(), 0, 0, 0).is_some());
}

// attack: L-21
#[test]
fn a_database_written_to_is_noticed_and_one_renamed_over_it_changes_nothing() {
    let database = tables("INSERT INTO tiles VALUES (0, 0, 0, x'aa');");
    let pack = database.pack();
    let other = tables("INSERT INTO tiles VALUES (0, 0, 0, x'bb');");
    std::fs::rename(&other.path, &database.path).unwrap();
    assert_eq!(tile(&pack, 0, 0, 0).unwrap().bytes, [0xaa][..]);
    let pack = database.pack();
    let writer = Connection::open(&database.path).unwrap();
    writer
        .execute_batch("UPDATE tiles SET tile_data = x'cc';")
        .unwrap();
    let changed = pack.tile(at(0, 0, 0), Wait::Allowed).unwrap_err();
    assert!(matches!(changed, PackError::Changed), "{changed}");
}

#[test]
fn a_database_of_something_else_is_refused_by_name() {
    let refused = database("CREATE TABLE cats (name TEXT);")
        .open()
        .unwrap_err();
    assert!(refused.to_string().contains("metadata"), "{refused}");
}

#[test]
fn a_damaged_database_is_refused() {
    let database = tables("INSERT INTO tiles VALUES (0, 0, 0, x'aa');");
    let mut bytes = std::fs::read(&database.path).unwrap();
    bytes[100..].fill(0xff);
    std::fs::write(&database.path, bytes).unwrap();
    assert_eq!(database.open().unwrap_err().reason(), "sqlite");
}

#[test]
fn impossible_zooms_are_refused() {
    let database = tables("INSERT INTO metadata VALUES ('minzoom', '9'), ('maxzoom', '3');");
    assert_eq!(database.open().unwrap_err().reason(), "malformed");
}

#[test]
fn addresses_that_no_tile_has_are_passed_over_and_fail_verification() {
    let database = tables(
        "INSERT INTO metadata VALUES ('minzoom', '0'), ('maxzoom', '3'), ('format', 'webp');
         INSERT INTO tiles VALUES (1, 2, 0, x'aa'), (1, -1, 0, x'aa'), (1, 0, 'x', x'aa'), (99, 0, 0, x'aa');",
    );
    let pack = database.pack();
    pack.each_tile(&Selection::ALL, |at, _| -> Result<(), PackError> {
        panic!("{at:?}")
    })
    .unwrap();
    assert_eq!(
        pack.verify(&mut |_, _| ()).unwrap_err().reason(),
        "malformed"
    );
}

#[test]
fn a_tile_that_is_there_twice_fails_verification() {
    let database = tables(&format!(
        "INSERT INTO tiles VALUES (0, 0, 0, {PNG}), (0, 0, 0, {PNG});"
    ));
    let refused = database.pack().verify(&mut |_, _| ()).unwrap_err();
    assert!(
        matches!(
            refused,
            PackError::BadTile {
                fault: Fault::Twice,
                ..
            }
        ),
        "{refused}"
    );
}
