//! The arguments of `pack`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tile_pack::Bounds;

/// Look at tile packs, check them, and make others of them.
#[derive(Debug, Subcommand)]
pub(crate) enum PackCommand {
    /// Show what packs say of themselves.
    Inspect(LookArgs),
    /// Read packs whole: each directory and each tile must be where it should be, once, and decode.
    Verify(LookArgs),
    /// Write a pack in the other format; which one says the name of the new file: .pmtiles or .mbtiles.
    Convert(ConvertArgs),
    /// Write a part of a pack.
    Extract(ExtractArgs),
}

/// Which packs.
#[derive(Args, Debug)]
pub(crate) struct LookArgs {
    /// PMTiles or MBTiles files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// As JSON, one document a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// With the BLAKE3 hash of each file.
    #[arg(long)]
    pub(crate) hash: bool,
}

/// From where to where.
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// The pack to read.
    pub(crate) from: PathBuf,
    /// The file to write.
    pub(crate) to: PathBuf,
    /// Also when that file exists already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what was written as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which part.
#[derive(Args, Debug)]
pub(crate) struct ExtractArgs {
    /// From where to where.
    #[command(flatten)]
    pub(crate) files: ConvertArgs,
    /// Only tiles that show anything of this, in degrees; west may be greater than east, across the date line.
    #[arg(long, value_name = "W,S,E,N", value_parser = bounds, allow_hyphen_values = true)]
    pub(crate) bbox: Option<Bounds>,
    /// The first zoom.
    #[arg(long, value_name = "ZOOM", default_value_t = 0)]
    pub(crate) min_zoom: u8,
    /// The last zoom.
    #[arg(long, value_name = "ZOOM", default_value_t = 31)]
    pub(crate) max_zoom: u8,
}

fn bounds(text: &str) -> Result<Bounds, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[west, south, east, north]) => Ok(Bounds {
            west,
            south,
            east,
            north,
        }),
        _ => Err(
            "give west, south, east and north in degrees, such as 11.1,43.7,11.4,43.9".to_owned(),
        ),
    }
}
