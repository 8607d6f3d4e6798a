//! A whole pack, tile by tile: is each where it should be, once, and what it should be?

use std::collections::HashSet;

use crate::about::TileFormat;
use crate::address::TileAddress;
use crate::coding::{Coding, NotInflated};
use crate::error::{Fault, PackError, Part};
use crate::mbtiles::MbTiles;
use crate::pack::{Pack, Source, Tile};
use crate::pmtiles::{PmTiles, varint};
use crate::selection::Selection;

/// What was found in a pack that is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Tiles that can be asked for.
    pub tiles: u64,
    /// Entries of directories, or rows.
    pub entries: u64,
    /// Tiles that lie at different places.
    pub contents: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// What is odd and does no harm.
    pub notes: Vec<String>,
}

pub(crate) fn verify(
    pack: &Pack,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, PackError> {
    let judge = Judge {
        format: pack.about().tile_format,
        limit: pack.limits().tile_bytes,
    };
    let mut found = match pack.source() {
        Source::PmTiles(source) => pmtiles(source, judge, pack, progress)?,
        Source::MbTiles(source) => mbtiles(source, judge, progress)?,
    };
    found.note_counts(pack);
    Ok(found)
}

fn pmtiles(
    source: &PmTiles,
    judge: Judge,
    pack: &Pack,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, PackError> {
    let all = pack.about().tile_entries.unwrap_or(0);
    let mut found = Verified::default();
    let mut seen = HashSet::new();
    let mut beyond = 0;
    source.each_entry(Selection::ALL.ids(), &mut |entry| {
        let at = TileAddress::from_id(entry.id).ok_or(PackError::Malformed {
            fault: Fault::TileId,
            part: Part::Leaf,
            offset: None,
        })?;
        found.entries += 1;
        found.tiles += u64::from(entry.run);
        beyond += u64::from(at.z() > pack.about().max_zoom);
        if seen.insert((entry.offset, entry.length)) {
            let tile = source.content(entry, crate::Wait::Allowed)?;
            judge.check(at, &tile)?;
            found.contents += 1;
            found.bytes += u64::from(entry.length);
        }
        progress(found.entries, all);
        Ok::<_, PackError>(())
    })?;
    if beyond > 0 {
        let note = format!("{beyond} entries lie beyond the last zoom of the header");
        found.notes.push(note);
    }
    Ok(found)
}

fn mbtiles(
    source: &MbTiles,
    judge: Judge,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, PackError> {
    let mut found = Verified::default();
    let mut seen = HashSet::new();
    let mut empty = 0;
    source.each_row(Selection::ALL.zooms(), |at, tile| {
        found.entries += 1;
        progress(found.entries, 0);
        let Some(at) = at else {
            return Err(PackError::Malformed {
                fault: Fault::TileId,
                part: Part::Tile,
                offset: None,
            });
        };
        if !seen.insert(at.id()) {
            let fault = Fault::Twice;
            return Err(PackError::BadTile { fault, at });
        }
        let Some(tile) = tile else {
            empty += 1;
            return Ok(());
        };
        judge.check(at, &tile)?;
        found.tiles += 1;
        found.contents += 1;
        found.bytes += tile.bytes.len() as u64;
        Ok(())
    })?;
    if empty > 0 {
        found.notes.push(format!("{empty} rows have no bytes"));
    }
    Ok(found)
}

impl Verified {
    fn note_counts(&mut self, pack: &Pack) {
        let about = pack.about();
        let counts = [
            ("addressed tiles", about.addressed_tiles, self.tiles),
            ("entries", about.tile_entries, self.entries),
            ("contents", about.tile_contents, self.contents),
        ];
        for (what, stated, found) in counts {
            if let Some(stated) = stated.filter(|stated| *stated != found) {
                let note = format!("the header says {stated} {what}, there are {found}");
                self.notes.push(note);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Judge {
    format: TileFormat,
    limit: usize,
}

impl Judge {
    fn check(self, at: TileAddress, tile: &Tile) -> Result<(), PackError> {
        let plain = tile.coding.inflate(&tile.bytes, self.limit);
        let bad = |fault| PackError::BadTile { fault, at };
        let plain = plain.map_err(|why| match why {
            NotInflated::TooLarge => bad(Fault::Size),
            NotInflated::Broken => bad(Fault::Compression),
        })?;
        let is_good = match self.format {
            TileFormat::Other | TileFormat::Mlt => true,
            TileFormat::Mvt => is_message(&plain) && Coding::sniff(&plain) == Coding::None,
            picture => TileFormat::of_picture(&plain) == Some(picture),
        };
        match is_good {
            true => Ok(()),
            false => Err(bad(Fault::Content)),
        }
    }
}

/// Whether bytes are fields of a protocol buffer, one after the other to the end.
fn is_message(mut bytes: &[u8]) -> bool {
    let bytes = &mut bytes;
    while !bytes.is_empty() {
        if field(bytes).is_none() {
            return false;
        }
    }
    true
}

fn field(bytes: &mut &[u8]) -> Option<()> {
    let key = varint::take(bytes)?;
    let length = match key & 7 {
        0 => {
            varint::take(bytes)?;
            0
        }
        1 => 8,
        2 => usize::try_from(varint::take(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    *bytes = bytes.get(length..)?;
    (key >= 8).then_some(())
}

#[cfg(test)]
mod tests;
