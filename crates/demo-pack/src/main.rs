//! Makes the demonstration pack: the world's land and countries as vector tiles, from Natural Earth's TopoJSON.

mod clip;
mod mercator;
mod pack;
mod protobuf;
mod simplify;
mod tiles;
mod topology;
mod vector_tile;
mod zoom;

use std::path::Path;
use std::process::ExitCode;

use topology::Topology;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = words.as_slice() else {
        eprintln!("usage: demo-pack TOPOJSON PACK");
        return ExitCode::from(2);
    };
    match make(Path::new(from), Path::new(to)) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn make(from: &Path, to: &Path) -> Result<String, String> {
    let text =
        std::fs::read_to_string(from).map_err(|error| format!("{}: {error}", from.display()))?;
    let topology =
        Topology::parse(&text).map_err(|error| format!("{}: {error}", from.display()))?;
    let written =
        pack::write(&topology, to).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(format!(
        "{}: {} tiles, {} bytes",
        to.display(),
        written.tiles,
        written.length
    ))
}
