//! Writing MBTiles: one transaction, visible only when whole.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use crate::about::{Bounds, Center, TileFormat};
use crate::address::TileAddress;
use crate::error::PackError;
use crate::writer::extent::Extent;
use crate::writer::{Description, Written, staged};

use super::connection::failed;

const SCHEMA: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    BEGIN;
    CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
    CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);";

/// An MBTiles file being written. Dropped early, nothing is left.
#[derive(Debug)]
pub(crate) struct MbTilesWriter {
    path: PathBuf,
    description: Description,
    connection: Connection,
    // After the connection, which is to be closed first.
    staged: NamedTempFile,
    extent: Extent,
    tiles: u64,
    repeated: u64,
}

impl MbTilesWriter {
    pub(crate) fn create(path: &Path, description: Description) -> Result<Self, PackError> {
        let staged = staged::begin(path)?;
        let connection = Connection::open(staged.path()).map_err(failed)?;
        connection.execute_batch(SCHEMA).map_err(failed)?;
        Ok(MbTilesWriter {
            path: path.to_owned(),
            description,
            connection,
            staged,
            extent: Extent::default(),
            tiles: 0,
            repeated: 0,
        })
    }

    pub(crate) fn add(&mut self, at: TileAddress, bytes: &[u8]) -> Result<(), PackError> {
        let mut statement = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO tiles VALUES (?1, ?2, ?3, ?4)")
            .map_err(failed)?;
        let row = (at.z(), at.x(), at.tms_row(), bytes);
        let inserted = statement.execute(row).map_err(failed)?;
        self.tiles += inserted as u64;
        self.repeated += u64::from(inserted == 0);
        self.extent.add(at);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Written, PackError> {
        if self.tiles == 0 {
            return Err(PackError::NoTiles);
        }
        for (name, value) in self.metadata() {
            let row = (name, value);
            self.connection
                .execute("INSERT INTO metadata VALUES (?1, ?2)", row)
                .map_err(failed)?;
        }
        self.connection.execute_batch("COMMIT;").map_err(failed)?;
        let closed = self.connection.close();
        closed.map_err(|(_, error)| failed(error))?;
        let length = self.staged.as_file().metadata()?.len();
        staged::keep(self.staged, &self.path)?;
        Ok(Written {
            tiles: self.tiles,
            repeated: self.repeated,
            contents: self.tiles,
            length,
        })
    }

    fn metadata(&self) -> Vec<(String, String)> {
        let (min_zoom, max_zoom) = self.extent.zooms();
        let bounds = self.description.bounds;
        let bounds = bounds.unwrap_or_else(|| self.extent.bounds());
        let format = match self.description.tile_format {
            TileFormat::Mvt => "pbf",
            other => other.extension(),
        };
        let mut rows = vec![
            ("format".to_owned(), format.to_owned()),
            ("minzoom".to_owned(), min_zoom.to_string()),
            ("maxzoom".to_owned(), max_zoom.to_string()),
            ("bounds".to_owned(), bounds_text(bounds)),
        ];
        let center = self.description.center.map(center_text);
        rows.extend(center.map(|center| ("center".to_owned(), center)));
        rows.extend(others(&self.description.metadata));
        rows
    }
}

fn bounds_text(bounds: Bounds) -> String {
    let Bounds {
        west,
        south,
        east,
        north,
    } = bounds;
    format!("{west},{south},{east},{north}")
}

fn center_text(center: Center) -> String {
    format!("{},{},{}", center.longitude, center.latitude, center.zoom)
}

/// Text goes into rows, everything else into the `json` row; a name is required.
fn others(metadata: &Map<String, Value>) -> Vec<(String, String)> {
    let mut rows = vec![];
    let mut inner = Map::new();
    for (name, value) in metadata {
        match value {
            Value::String(text) => rows.push((name.clone(), text.clone())),
            value => {
                inner.insert(name.clone(), value.clone());
            }
        }
    }
    if !metadata.contains_key("name") {
        rows.push(("name".to_owned(), "tiles".to_owned()));
    }
    if !inner.is_empty() {
        rows.push(("json".to_owned(), Value::Object(inner).to_string()));
    }
    rows
}
