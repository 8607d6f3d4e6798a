//! What a power cut takes back: bytes that were not synced, and names whose directory was not synced.
//!
//! As bad as POSIX allows: of unsynced bytes any sector may be old or new, and of unsynced names any may be undone
//! on which no surviving one builds. A sync that failed loses its bytes for good, though a later one succeeds.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

const SECTOR: usize = 512;

#[derive(Debug)]
pub(super) struct Volatile {
    aside: PathBuf,
    files: HashMap<u64, Unsynced>,
    names: Vec<Change>,
}

/// A file that was written to.
#[derive(Debug)]
struct Unsynced {
    /// Kept open, so that its number is not given to another file.
    file: File,
    /// What the disk has for sure.
    kept: Vec<u8>,
    dirty: bool,
    /// A sync of it failed.
    lost: bool,
}

/// A change of names, and whether its directory was synced since.
#[derive(Debug)]
struct Change {
    what: What,
    synced: bool,
}

#[derive(Debug)]
enum What {
    Created(PathBuf),
    MadeDir(PathBuf),
    /// From, to, and where the file is kept that was there before.
    Renamed(PathBuf, PathBuf, Option<PathBuf>),
    /// And where it is kept.
    Removed(PathBuf, PathBuf),
}

impl Volatile {
    pub(super) fn new(aside: &Path) -> Self {
        Self {
            aside: aside.to_owned(),
            files: HashMap::new(),
            names: Vec::new(),
        }
    }

    pub(super) fn created(&mut self, path: &Path, file: &File) -> io::Result<()> {
        self.remember(file, Vec::new())?;
        self.changed(What::Created(path.to_owned()));
        Ok(())
    }

    pub(super) fn made_dir(&mut self, path: &Path) {
        self.changed(What::MadeDir(path.to_owned()));
    }

    pub(super) fn renames(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let before = match to.exists() {
            true => Some(self.keep(to)?),
            false => None,
        };
        self.changed(What::Renamed(from.to_owned(), to.to_owned(), before));
        Ok(())
    }

    pub(super) fn removes(&mut self, path: &Path) -> io::Result<()> {
        if path.exists() {
            let kept = self.keep(path)?;
            self.changed(What::Removed(path.to_owned(), kept));
        }
        Ok(())
    }

    /// A second name, so that the file can be brought back.
    fn keep(&self, path: &Path) -> io::Result<PathBuf> {
        let kept =
            tempfile::Builder::new().make_in(&self.aside, |kept| fs::hard_link(path, kept))?;
        let kept = kept.into_temp_path().keep().map_err(io::Error::other)?;
        Ok(kept)
    }

    fn changed(&mut self, what: What) {
        self.names.push(Change {
            what,
            synced: false,
        });
    }

    pub(super) fn synced_dir(&mut self, dir: &Path) {
        for change in &mut self.names {
            change.synced |= change.what.home().parent() == Some(dir);
        }
    }

    /// Before the first write to a file that was there at the start, all of it is on the disk.
    pub(super) fn writes(&mut self, file: &File) -> io::Result<()> {
        let number = file.metadata()?.ino();
        if !self.files.contains_key(&number) {
            let now = content(file)?;
            self.remember(file, now)?;
        }
        if let Some(unsynced) = self.files.get_mut(&number) {
            unsynced.dirty = true;
        }
        Ok(())
    }

    fn remember(&mut self, file: &File, kept: Vec<u8>) -> io::Result<()> {
        let unsynced = Unsynced {
            file: file.try_clone()?,
            kept,
            dirty: false,
            lost: false,
        };
        self.files.insert(file.metadata()?.ino(), unsynced);
        Ok(())
    }

    pub(super) fn synced(&mut self, file: &File) -> io::Result<()> {
        let unsynced = self.files.get_mut(&file.metadata()?.ino());
        if let Some(unsynced) = unsynced.filter(|unsynced| !unsynced.lost) {
            unsynced.kept = content(file)?;
            unsynced.dirty = false;
        }
        Ok(())
    }

    pub(super) fn sync_failed(&mut self, file: &File) -> io::Result<()> {
        if let Some(unsynced) = self.files.get_mut(&file.metadata()?.ino()) {
            unsynced.lost = true;
        }
        Ok(())
    }

    pub(super) fn lose(&mut self, chance: &mut fastrand::Rng) {
        let mut files: Vec<_> = self.files.drain().collect();
        files.sort_unstable_by_key(|(number, _)| *number);
        for (_, unsynced) in files.iter().filter(|(_, unsynced)| unsynced.dirty) {
            unsynced.tear(chance).expect("a test's file can be written");
        }
        // The last change first: one can be undone only if no later one on its paths is left.
        let mut settled = HashSet::new();
        for change in std::mem::take(&mut self.names).into_iter().rev() {
            let paths = change.what.paths();
            let needed = change.synced || paths.iter().any(|path| settled.contains(*path));
            if needed || chance.bool() {
                settled.extend(paths.into_iter().map(Path::to_owned));
            } else {
                change.what.undo().expect("a test's names can be changed");
            }
        }
    }
}

impl Unsynced {
    /// Any sector may have stayed what it was, and the file as short as it was.
    fn tear(&self, chance: &mut fastrand::Rng) -> io::Result<()> {
        let mut now = content(&self.file)?;
        if chance.bool() {
            now.truncate(self.kept.len().max(chance.usize(0..=now.len())));
        }
        for (at, sector) in now.chunks_mut(SECTOR).enumerate() {
            if chance.bool() {
                continue;
            }
            let old = self.kept.get(at * SECTOR..).unwrap_or_default();
            for (to, byte) in sector.iter_mut().enumerate() {
                *byte = old.get(to).copied().unwrap_or(0);
            }
        }
        self.file.set_len(now.len() as u64)?;
        self.file.write_all_at(&now, 0)
    }
}

impl What {
    /// The name whose directory has to be synced for it.
    fn home(&self) -> &Path {
        match self {
            Self::Created(path) | Self::MadeDir(path) | Self::Removed(path, _) => path,
            Self::Renamed(_, to, _) => to,
        }
    }

    fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Created(path) | Self::MadeDir(path) | Self::Removed(path, _) => vec![path],
            Self::Renamed(from, to, _) => vec![from, to],
        }
    }

    fn undo(self) -> io::Result<()> {
        match self {
            Self::Created(path) => fs::remove_file(path),
            // With all that is in it, synced or not: nobody can find it.
            Self::MadeDir(path) => fs::remove_dir_all(path),
            Self::Removed(path, kept) => fs::rename(kept, path),
            Self::Renamed(from, to, before) => {
                fs::rename(&to, from)?;
                before.map_or(Ok(()), |kept| fs::rename(kept, to))
            }
        }
    }
}

fn content(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}
