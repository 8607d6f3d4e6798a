//! What a pack says of itself.

use serde_json::Value;

use crate::coding::Coding;

/// What a pack says of itself, and which file it was.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The format of the file.
    pub kind: Kind,
    /// The format of its tiles.
    pub tile_format: TileFormat,
    /// How tiles are compressed; a single tile may differ and says so.
    pub coding: Coding,
    /// The smallest zoom with tiles.
    pub min_zoom: u8,
    /// The largest zoom with tiles.
    pub max_zoom: u8,
    /// What the pack covers.
    pub bounds: Bounds,
    /// Where to look first.
    pub center: Center,
    /// The metadata, a JSON object.
    pub metadata: Value,
    /// Tiles that can be asked for; nothing when the pack does not say.
    pub addressed_tiles: Option<u64>,
    /// Entries of its directories; nothing when the pack does not say.
    pub tile_entries: Option<u64>,
    /// Tiles that differ; nothing when the pack does not say.
    pub tile_contents: Option<u64>,
    /// Whether tiles lie in the order of their numbers.
    pub clustered: bool,
    /// Bytes of the file.
    pub length: u64,
    /// When the file was last written, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Names this very file: made of header, root directory, metadata, samples, length and time of the last write.
    pub stamp: u64,
}

/// The format of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PMTiles, version 3.
    PmTiles,
    /// MBTiles, a SQLite database.
    MbTiles,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::PmTiles => "PMTiles",
            Kind::MbTiles => "MBTiles",
        }
    }
}

/// The format of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileFormat {
    /// None of the others, or the pack does not say.
    Other,
    /// Mapbox vector tiles.
    Mvt,
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
    /// AVIF.
    Avif,
    /// MapLibre tiles.
    Mlt,
}

impl TileFormat {
    /// For `Content-Type`.
    pub const fn media_type(self) -> &'static str {
        match self {
            TileFormat::Other => "application/octet-stream",
            TileFormat::Mvt => "application/vnd.mapbox-vector-tile",
            TileFormat::Png => "image/png",
            TileFormat::Jpeg => "image/jpeg",
            TileFormat::Webp => "image/webp",
            TileFormat::Avif => "image/avif",
            TileFormat::Mlt => "application/vnd.maplibre-vector-tile",
        }
    }

    /// What stands after the dot in the path of a tile.
    pub const fn extension(self) -> &'static str {
        match self {
            TileFormat::Other => "bin",
            TileFormat::Mvt => "mvt",
            TileFormat::Png => "png",
            TileFormat::Jpeg => "jpg",
            TileFormat::Webp => "webp",
            TileFormat::Avif => "avif",
            TileFormat::Mlt => "mlt",
        }
    }

    /// Whether tiles are geometry rather than pictures.
    pub const fn is_vector(self) -> bool {
        matches!(self, TileFormat::Mvt | TileFormat::Mlt)
    }

    /// The format of a name as MBTiles uses it: an extension or a media type.
    pub(crate) fn from_name(name: &str) -> Option<TileFormat> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "pbf" | "mvt" | "application/x-protobuf" | "application/vnd.mapbox-vector-tile" => {
                TileFormat::Mvt
            }
            "png" | "image/png" => TileFormat::Png,
            "jpg" | "jpeg" | "image/jpeg" => TileFormat::Jpeg,
            "webp" | "image/webp" => TileFormat::Webp,
            "avif" | "image/avif" => TileFormat::Avif,
            "mlt" | "application/vnd.maplibre-vector-tile" => TileFormat::Mlt,
            _ => return None,
        })
    }

    /// The picture that begins so, if it is one.
    pub(crate) fn of_picture(bytes: &[u8]) -> Option<TileFormat> {
        Some(match bytes {
            [0x89, b'P', b'N', b'G', ..] => TileFormat::Png,
            [0xff, 0xd8, 0xff, ..] => TileFormat::Jpeg,
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => TileFormat::Webp,
            [
                _,
                _,
                _,
                _,
                b'f',
                b't',
                b'y',
                b'p',
                b'a',
                b'v',
                b'i',
                b'f' | b's',
                ..,
            ] => TileFormat::Avif,
            _ => return None,
        })
    }
}

/// What a pack covers, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The western edge.
    pub west: f64,
    /// The southern edge.
    pub south: f64,
    /// The eastern edge.
    pub east: f64,
    /// The northern edge.
    pub north: f64,
}

impl Bounds {
    /// All that the square of tiles shows.
    pub const WORLD: Bounds = Bounds {
        west: -180.0,
        south: -85.051_128_78,
        east: 180.0,
        north: 85.051_128_78,
    };
}

/// Where to look first, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Center {
    /// From Greenwich to the east.
    pub longitude: f64,
    /// From the equator to the north.
    pub latitude: f64,
    /// How near.
    pub zoom: u8,
}
