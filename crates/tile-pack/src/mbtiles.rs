//! MBTiles: a SQLite database with a table, or a view, of tiles.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::about::{About, Bounds, Center, Kind, TileFormat};
use crate::address::{TileAddress, ZOOM_MAX};
use crate::coding::Coding;
use crate::error::{Fault, PackError, Part};
use crate::file::RawFile;
use crate::limits::{Limits, Wait};
use crate::pack::Tile;

use connection::Guarded;
use metadata::Rows;
use pool::Pool;

pub(crate) use write::MbTilesWriter;

mod connection;
mod deadline;
mod metadata;
mod pool;
mod write;

/// What every SQLite database begins with.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

const TILE: &str = "SELECT tile_data FROM tiles
    WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3 LIMIT 1";
const EACH: &str = "SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles
    WHERE zoom_level BETWEEN ?1 AND ?2";
const SAMPLE: &str = "SELECT tile_data FROM tiles LIMIT 1";
const ZOOMS: &str = "SELECT min(zoom_level), max(zoom_level) FROM tiles";
const METADATA: &str = "SELECT name, value FROM metadata";

/// An open MBTiles file.
#[derive(Debug)]
pub(crate) struct MbTiles {
    file: Arc<RawFile>,
    pool: Pool,
    limits: Limits,
    format: TileFormat,
}

impl MbTiles {
    pub(crate) fn open(
        path: &Path,
        file: RawFile,
        limits: &Limits,
    ) -> Result<(MbTiles, About), PackError> {
        let path = std::path::absolute(path)?;
        connection::check_finished(&path)?;
        let file = Arc::new(file);
        let pool = Pool::open(path, Arc::clone(&file), limits)?;
        let lease = pool.lease()?;
        let rows = rows(&lease, limits)?;
        let sample = sample(&lease, limits)?;
        let format = rows.format().unwrap_or_else(|| metadata::sniffed(&sample));
        let zooms = zooms(&lease, &rows, limits)?;
        drop(lease);
        let pack = MbTiles {
            file,
            pool,
            limits: limits.clone(),
            format,
        };
        let about = pack.about(rows, zooms, &sample)?;
        pack.file.check_unchanged()?;
        Ok((pack, about))
    }

    pub(crate) fn tile(&self, at: TileAddress, wait: Wait) -> Result<Option<Tile>, PackError> {
        if wait == Wait::Never {
            return Err(PackError::WouldBlock);
        }
        let lease = self.pool.lease()?;
        let found = lease.within(self.limits.query_time, Part::Tile, |connection, _| {
            let mut statement = connection.prepare_cached(TILE)?;
            let mut rows = statement.query((at.z(), at.x(), at.tms_row()))?;
            match rows.next()? {
                Some(row) => Ok(bytes(row.get_ref(0)?)),
                None => Ok(None),
            }
        });
        let found = found?;
        // What a changed file gave may be anything.
        self.file.check_unchanged()?;
        Ok(found.map(|bytes| self.coded(bytes)))
    }

    /// Visits all rows of the wanted zooms, in the order they lie. A row whose address no tile has comes without one.
    pub(crate) fn each_row<E: From<PackError>>(
        &self,
        zooms: RangeInclusive<u8>,
        mut visit: impl FnMut(Option<TileAddress>, Option<Tile>) -> Result<(), E>,
    ) -> Result<(), E> {
        let lease = self.pool.lease()?;
        let mut stopped = None;
        let read = lease.within(self.limits.query_time, Part::Tile, |connection, renew| {
            let mut statement = connection.prepare_cached(EACH)?;
            let mut rows = statement.query((zooms.start(), zooms.end()))?;
            while let Some(row) = rows.next()? {
                let at = address(row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?);
                let tile = bytes(row.get_ref(3)?).map(|bytes| self.coded(bytes));
                if let Err(error) = visit(at, tile) {
                    stopped = Some(error);
                    break;
                }
                renew();
            }
            Ok(())
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        read?;
        Ok(self.file.check_unchanged()?)
    }

    pub(crate) fn raw(&self) -> &RawFile {
        &self.file
    }

    fn coded(&self, bytes: Bytes) -> Tile {
        let coding = match TileFormat::of_picture(&bytes) {
            None if may_be_compressed(self.format) => Coding::sniff(&bytes),
            _ => Coding::None,
        };
        Tile { bytes, coding }
    }

    fn about(
        &self,
        rows: Rows,
        (min_zoom, max_zoom): (u8, u8),
        sample: &[u8],
    ) -> Result<About, PackError> {
        let identity = self.file.identity();
        let bounds = rows.bounds().unwrap_or(Bounds::WORLD);
        let middle = Center {
            longitude: (bounds.west + bounds.east) / 2.0,
            latitude: (bounds.south + bounds.north) / 2.0,
            zoom: min_zoom,
        };
        let coding = match may_be_compressed(self.format) {
            // The format's own default, where there is no tile to look at.
            true if sample.is_empty() => Coding::Gzip,
            true => Coding::sniff(sample),
            false => Coding::None,
        };
        let center = rows.center().unwrap_or(middle);
        let metadata = rows.into_object();
        Ok(About {
            kind: Kind::MbTiles,
            tile_format: self.format,
            coding,
            min_zoom,
            max_zoom,
            bounds,
            center,
            stamp: self.file.stamp(&[metadata.to_string().as_bytes()])?,
            metadata,
            addressed_tiles: None,
            tile_entries: None,
            tile_contents: None,
            clustered: false,
            length: identity.length,
            modified_ns: identity.modified_ns,
        })
    }
}

fn may_be_compressed(format: TileFormat) -> bool {
    format.is_vector() || format == TileFormat::Other
}

/// Nothing for NULL, for no bytes at all, and for what is no bytes.
fn bytes(value: ValueRef<'_>) -> Option<Bytes> {
    match value {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) if !bytes.is_empty() => {
            Some(Bytes::copy_from_slice(bytes))
        }
        _ => None,
    }
}

fn address(z: ValueRef<'_>, column: ValueRef<'_>, row: ValueRef<'_>) -> Option<TileAddress> {
    let number = |value: ValueRef<'_>| u32::try_from(value.as_i64().ok()?).ok();
    let z = u8::try_from(number(z)?).ok().filter(|z| *z <= ZOOM_MAX)?;
    let y = ((1 << z) - 1_u32).checked_sub(number(row)?)?;
    TileAddress::new(z, number(column)?, y)
}

fn rows(guarded: &Guarded, limits: &Limits) -> Result<Rows, PackError> {
    let mut left = limits.metadata_bytes;
    let read = guarded.within(limits.query_time, Part::Metadata, |connection, _| {
        let mut statement = connection.prepare(METADATA)?;
        let mut rows = statement.query(())?;
        let mut all = Rows::default();
        while let Some(row) = rows.next()? {
            let (name, value) = (text(row.get_ref(0)?), text(row.get_ref(1)?));
            // Each row costs something, also an empty one.
            match left.checked_sub(name.len() + value.len() + size_of::<String>() * 2) {
                Some(rest) => left = rest,
                None => return Ok(None),
            }
            all.0.entry(name).or_insert(value);
        }
        Ok(Some(all))
    });
    read?.ok_or(PackError::TooLarge {
        part: Part::Metadata,
        offset: None,
        limit: limits.metadata_bytes as u64,
    })
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

/// One tile, to see what tiles are like; no bytes when there is none.
fn sample(guarded: &Guarded, limits: &Limits) -> Result<Bytes, PackError> {
    let sample = guarded.within(limits.query_time, Part::Tile, |connection, _| {
        let mut statement = connection.prepare(SAMPLE)?;
        let mut rows = statement.query(())?;
        Ok(match rows.next()? {
            Some(row) => bytes(row.get_ref(0)?),
            None => None,
        })
    });
    Ok(sample?.unwrap_or_default())
}

/// As the metadata says, or as the tiles are.
fn zooms(guarded: &Guarded, rows: &Rows, limits: &Limits) -> Result<(u8, u8), PackError> {
    let stated = (rows.zoom("minzoom"), rows.zoom("maxzoom"));
    let (min, max) = match stated {
        (Some(min), Some(max)) => (min, max),
        _ => guarded.within(limits.query_time, Part::Tile, measured)?,
    };
    match min <= max && max <= ZOOM_MAX {
        true => Ok((min, max)),
        false => Err(PackError::Malformed {
            fault: Fault::Zoom,
            part: Part::Metadata,
            offset: None,
        }),
    }
}

fn measured(connection: &Connection, _: &dyn Fn()) -> Result<(u8, u8), rusqlite::Error> {
    connection.query_row(ZOOMS, (), |row| {
        let zoom = |value: ValueRef<'_>| value.as_i64().map_or(0, |z| z.clamp(0, 255) as u8);
        Ok((zoom(row.get_ref(0)?), zoom(row.get_ref(1)?)))
    })
}

#[cfg(test)]
mod tests;
