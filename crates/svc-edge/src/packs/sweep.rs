//! Which files are packs now. Reads directories and asks for sizes and times; opens nothing.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::{EdgeText, is_name};

/// What the config asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    packs: Vec<(String, PathBuf)>,
    directories: Vec<PathBuf>,
}

impl Wanted {
    pub(crate) fn of(text: &EdgeText) -> Self {
        let named = text.packs.iter();
        Self {
            packs: named
                .map(|pack| (pack.name.clone(), PathBuf::from(&pack.path)))
                .collect(),
            directories: text.pack_dirs.iter().map(PathBuf::from).collect(),
        }
    }
}

/// Which file it is, and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A file that is to be a pack.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Or why it cannot be one.
    pub(super) stamp: Result<Stamp, String>,
}

/// Packs by name, and what was wrong with directories.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub(super) found: BTreeMap<String, Found>,
    pub(super) troubles: Vec<String>,
}

/// Packs there may be: what would be more is left out, and said.
const PACKS: usize = 100_000;

/// Looks at everything that is wanted. A pack with a name in the config goes before a file of that name.
pub(super) fn sweep(wanted: &Wanted) -> Sweep {
    let mut sweep = Sweep::default();
    for (name, path) in &wanted.packs {
        let stamp = fs::metadata(path).map_err(|error| error.to_string());
        let found = Found {
            path: path.clone(),
            stamp: stamp.and_then(|metadata| regular(&metadata)),
        };
        sweep.found.insert(name.clone(), found);
    }
    for directory in &wanted.directories {
        if let Err(error) = look_into(directory, &mut sweep) {
            let trouble = format!("{}: {error}", directory.display());
            sweep.troubles.push(trouble);
        }
    }
    sweep
}

fn regular(metadata: &Metadata) -> Result<Stamp, String> {
    match metadata.is_file() {
        true => Ok(Stamp::of(metadata)),
        false => Err("not a regular file".to_owned()),
    }
}

fn look_into(directory: &Path, sweep: &mut Sweep) -> io::Result<()> {
    let root = directory.canonicalize()?;
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if let Some(names) = names_of(&path)
            && let Some(stamp) = inside(&entry, &path, &root)
        {
            files.push((names, Found { path, stamp }));
        }
    }
    // Of two that would have one name it goes to PMTiles, and the other keeps the ending in its name.
    files.sort_unstable_by(|(_, one), (_, other)| other.path.cmp(&one.path));
    for (names, found) in files {
        let free = names
            .into_iter()
            .find(|name| !sweep.found.contains_key(name));
        let path = found.path.display();
        match free {
            Some(_) if sweep.found.len() >= PACKS => {
                sweep
                    .troubles
                    .push(format!("{path}: more than {PACKS} packs"));
                break;
            }
            Some(free) => {
                sweep.found.insert(free, found);
            }
            None => sweep.troubles.push(format!("{path}: its name is taken")),
        }
    }
    Ok(())
}

/// A file whose name says that it is a pack, by the names it may have.
fn names_of(path: &Path) -> Option<[String; 2]> {
    let is_pack = matches!(path.extension()?.to_str()?, "pmtiles" | "mbtiles");
    let (stem, whole) = (path.file_stem()?.to_str()?, path.file_name()?.to_str()?);
    (is_pack && is_name(stem) && is_name(whole)).then(|| [stem.to_owned(), whole.to_owned()])
}

/// The state of a file that lies in the directory, wherever a link in it leads; nothing for what lies outside.
fn inside(entry: &fs::DirEntry, path: &Path, root: &Path) -> Option<Result<Stamp, String>> {
    let kind = entry.file_type().ok()?;
    if kind.is_symlink() && !path.canonicalize().ok()?.starts_with(root) {
        return None;
    }
    match fs::metadata(path) {
        // What has gone meanwhile was never there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
        Ok(metadata) => regular(&metadata).ok().map(Ok),
    }
}

#[cfg(test)]
mod tests;
