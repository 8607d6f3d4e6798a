//! `pack`: tile packs looked at, checked, converted and cut, without a node.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tile_pack::{Kind, Limits, Pack, PackError, Selection, Written};

use crate::cli::{ConvertArgs, ExtractArgs, LookArgs, PackCommand};
use crate::exit::Exit;

use page::size;
use progress::Progress;

mod page;
mod progress;

/// Why nothing came of it: a sentence for people, and how the command ends.
type Refused = (Exit, String);

/// One query when whole databases are read: without an index each takes as long as reading them.
const QUERY_TIME: Duration = Duration::from_secs(60);

/// Does what was asked of packs.
pub(crate) fn pack(command: &PackCommand) -> Exit {
    match command {
        PackCommand::Inspect(args) => each(args, inspect),
        PackCommand::Verify(args) => each(args, verify),
        PackCommand::Convert(args) => said(convert(args)),
        PackCommand::Extract(args) => said(extract(args)),
    }
}

/// All files, also after one that is bad.
fn each(args: &LookArgs, look: fn(&Path, &LookArgs) -> Result<String, Refused>) -> Exit {
    let mut exit = Exit::Ok;
    for (at, file) in args.files.iter().enumerate() {
        if at > 0 && !args.json {
            println!();
        }
        let one = said(look(file, args));
        exit = if exit == Exit::Ok { one } else { exit };
    }
    exit
}

fn said(made: Result<String, Refused>) -> Exit {
    match made {
        Ok(text) => {
            println!("{text}");
            Exit::Ok
        }
        Err((exit, why)) => {
            eprintln!("error: {why}");
            exit
        }
    }
}

fn inspect(file: &Path, args: &LookArgs) -> Result<String, Refused> {
    let pack = open(file, &Limits::default())?;
    let hash = hash(file, &pack, args)?;
    let facts = page::facts(file, pack.about(), hash);
    Ok(match args.json {
        true => facts.to_string(),
        false => page::page(&facts),
    })
}

fn verify(file: &Path, args: &LookArgs) -> Result<String, Refused> {
    let pack = open(file, &Limits::default())?;
    let mut progress = Progress::new("verifying");
    let verified = pack.verify(&mut |done, all| progress.at(done, all));
    drop(progress);
    let verified = verified.map_err(|error| bad(file, &error))?;
    let hash = hash(file, &pack, args)?;
    if args.json {
        let document = json!({
            "file": file.to_string_lossy(),
            "tiles": verified.tiles,
            "entries": verified.entries,
            "contents": verified.contents,
            "bytes": verified.bytes,
            "notes": verified.notes,
            "hash": hash,
        });
        return Ok(document.to_string());
    }
    let mut text = format!(
        "{} is whole: {} tiles, {} different, {}",
        file.display(),
        verified.tiles,
        verified.contents,
        size(verified.bytes)
    );
    for note in &verified.notes {
        text.push_str(&format!("\n  note: {note}"));
    }
    text.extend(hash.map(|hash| format!("\n  blake3 {hash}")));
    Ok(text)
}

fn convert(args: &ConvertArgs) -> Result<String, Refused> {
    copy(args, &Selection::ALL)
}

fn extract(args: &ExtractArgs) -> Result<String, Refused> {
    let nothing = "no tile can be in that: zooms go up to 31, degrees from -180,-90 to 180,90, south is below north";
    let selection = Selection::new(args.min_zoom, args.max_zoom, args.bbox);
    copy(&args.files, &selection.ok_or_else(|| usage(nothing))?)
}

fn copy(args: &ConvertArgs, selection: &Selection) -> Result<String, Refused> {
    let kind = kind(&args.to)?;
    if args.to.exists() && !args.force {
        let to = args.to.display();
        return Err(usage(format_args!("{to} exists; --force replaces it")));
    }
    let limits = Limits {
        query_time: QUERY_TIME,
        ..Limits::default()
    };
    let from = open(&args.from, &limits)?;
    let mut progress = Progress::new("copying");
    let written = tile_pack::copy(&from, selection, &args.to, kind, &mut |done, all| {
        progress.at(done, all);
    });
    drop(progress);
    let written = written.map_err(|error| bad(&args.from, &error))?;
    Ok(report(&args.to, &written, args.json))
}

fn report(to: &Path, written: &Written, as_json: bool) -> String {
    if as_json {
        let document = json!({
            "file": to.to_string_lossy(),
            "tiles": written.tiles,
            "repeated": written.repeated,
            "contents": written.contents,
            "bytes": written.length,
        });
        return document.to_string();
    }
    let repeated = match written.repeated {
        0 => String::new(),
        repeated => format!("; {repeated} were there twice, the first was kept"),
    };
    let (to, tiles, length) = (to.display(), written.tiles, size(written.length));
    format!("{to}: {tiles} tiles, {length}{repeated}")
}

fn kind(to: &Path) -> Result<Kind, Refused> {
    match to.extension().and_then(|extension| extension.to_str()) {
        Some("pmtiles") => Ok(Kind::PmTiles),
        Some("mbtiles") => Ok(Kind::MbTiles),
        _ => {
            let to = to.display();
            Err(usage(format_args!(
                "{to}: a name that ends in .pmtiles or .mbtiles says which format to write"
            )))
        }
    }
}

fn open(file: &Path, limits: &Limits) -> Result<Pack, Refused> {
    Pack::open(file, limits).map_err(|error| bad(file, &error))
}

fn hash(file: &Path, pack: &Pack, args: &LookArgs) -> Result<Option<String>, Refused> {
    if !args.hash {
        return Ok(None);
    }
    let mut progress = Progress::new("hashing");
    let hash = pack.content_hash(&mut |done, all| progress.at(done, all));
    let hash = hash.map_err(|error| bad(file, &error))?;
    Ok(Some(
        hash.iter().map(|byte| format!("{byte:02x}")).collect(),
    ))
}

fn usage(why: impl ToString) -> Refused {
    (Exit::Usage, why.to_string())
}

/// What is wrong with a pack, and what to do about it where there is something.
fn bad(file: &Path, error: &PackError) -> Refused {
    let advice = match error {
        PackError::Slow => {
            "\n  an index may help: CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row)"
        }
        PackError::Version(1 | 2) => "\n  the `pmtiles` tool converts older versions",
        PackError::Malformed { .. } | PackError::BadTile { .. } => {
            "\n  the file is damaged or was not finished; fetch or make it again"
        }
        PackError::NoTiles => "\n  `macronode pack inspect` shows what the pack covers",
        _ => "",
    };
    (
        Exit::Refused,
        format!("{}: {error}{advice}", file.display()),
    )
}

#[cfg(test)]
mod tests;
