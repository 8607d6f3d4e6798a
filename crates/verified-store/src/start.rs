//! The start of a store on disk: whose directory it is, what a crash left in it, what is there.

use crate::files::Files;
use crate::index::Index;
use crate::shelf::Tree;
use crate::stats::Counters;
use crate::{Hash, StoreError, proof};
use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const LOCK: &str = "lock";
const MARKER: &str = "verified-store";
const MARKER_DRAFT: &str = "verified-store.new";
/// Threads that look at what is there.
const LOOKERS: u8 = 4;
/// What the marker says. Another layout is another version.
const VERSION: &str = "verified-store 1\n";

/// Takes the directory for this process, and makes it a store if it is empty.
pub(crate) fn claim(files: &dyn Files, dir: &Path) -> Result<File, StoreError> {
    if !dir.is_dir() {
        fs::create_dir_all(dir)?;
        let parent = dir.parent().filter(|parent| parent.is_dir());
        parent.map_or(Ok(()), |parent| files.sync_dir(parent))?;
    }
    refuse_strangers(dir)?;
    let lock = take_lock(&dir.join(LOCK))?;
    match fs::read_to_string(dir.join(MARKER)) {
        Ok(text) if text == VERSION => Ok(lock),
        Ok(_) => Err(foreign(dir, "is a store of another version")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            mark(files, dir)?;
            Ok(lock)
        }
        Err(error) => Err(error.into()),
    }
}

/// A directory that holds anything but is not marked is somebody else's: what is in `tmp` would be deleted.
fn refuse_strangers(dir: &Path) -> Result<(), StoreError> {
    if dir.join(MARKER).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        if name != LOCK && name != MARKER_DRAFT {
            return Err(foreign(dir, "is neither empty nor a store"));
        }
    }
    Ok(())
}

fn take_lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = match options.open(path) {
        // A lock needs no writing; what is there can be served.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            File::open(path).map_err(|_| error)?
        }
        opened => opened?,
    };
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(foreign(path, "is locked by another process")),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn mark(files: &dyn Files, dir: &Path) -> io::Result<()> {
    let draft = dir.join(MARKER_DRAFT);
    let _ = files.remove(&draft);
    let file = files.create(&draft)?;
    files.write(&file, VERSION.as_bytes(), 0)?;
    files.sync(&file)?;
    files.rename(&draft, &dir.join(MARKER))?;
    files.sync_dir(dir)
}

fn foreign(path: &Path, why: &str) -> StoreError {
    StoreError::Foreign(format!("{} {why}", path.display()))
}

/// Makes the directories that are not there, and has the disk keep those that are: who made them may not have come
/// to it.
pub(crate) fn furnish(tree: &Tree) -> io::Result<()> {
    make(tree, &tree.temps())?;
    make(tree, &tree.objects())?;
    (0..=u8::MAX).try_for_each(|shard| make(tree, &tree.shard(shard)))?;
    let synced = tree.files.sync_dir(tree.dir());
    match synced.and_then(|()| tree.files.sync_dir(&tree.objects())) {
        // Nothing was made then, and nothing will be written.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(()),
        synced => synced,
    }
}

fn make(tree: &Tree, dir: &Path) -> io::Result<()> {
    match dir.is_dir() {
        true => Ok(()),
        false => tree.files.make_dir(dir),
    }
}

/// Removes what was being written when the last process ended.
pub(crate) fn collect_temps(tree: &Tree, counters: &Counters) -> io::Result<()> {
    for entry in fs::read_dir(tree.temps())? {
        tree.files.remove(&entry?.path())?;
        counters.stale_temps.add(1);
    }
    Ok(())
}

/// An object as the directory shows it.
struct Found {
    hash: Hash,
    len: u64,
    /// Nanoseconds since 1970; objects are in the order of their writing.
    written: i128,
    /// Since it was written.
    read: bool,
}

/// Puts all objects into the index, in the order of their writing, those marked that were read since. Nothing is
/// opened or hashed: what is damaged is found when it is read.
pub(crate) fn take_stock(
    tree: &Tree,
    index: &mut Index,
    counters: &Counters,
    charge: impl Fn(u64) -> u64,
) -> io::Result<()> {
    let mut found = look_around(tree, counters)?;
    found.sort_unstable_by_key(|object| object.written);
    for object in found {
        index.insert(object.hash, object.len, charge(object.len));
        if object.read {
            index.visit(&object.hash);
        }
    }
    Ok(())
}

/// Everything in all directories, by a few threads that end before this does: most of a start is waiting for what the
/// file system says of each file.
fn look_around(tree: &Tree, counters: &Counters) -> io::Result<Vec<Found>> {
    let look = |part: u8| {
        let mut found = Vec::new();
        for shard in (part..=u8::MAX).step_by(usize::from(LOOKERS)) {
            for entry in fs::read_dir(tree.shard(shard))? {
                look_at(tree, &entry?, shard, counters, &mut found)?;
            }
        }
        Ok(found)
    };
    std::thread::scope(|scope| {
        let lookers: Vec<_> = (0..LOOKERS)
            .map(|part| scope.spawn(move || look(part)))
            .collect();
        let mut all = Vec::new();
        for looker in lookers {
            let found: io::Result<Vec<Found>> = looker
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a look failed")));
            all.append(&mut found?);
        }
        Ok(all)
    })
}

fn look_at(
    tree: &Tree,
    entry: &DirEntry,
    shard: u8,
    counters: &Counters,
    found: &mut Vec<Found>,
) -> io::Result<()> {
    let name = entry.file_name();
    let hash = name.to_str().and_then(|name| name.parse::<Hash>().ok());
    let Some(hash) = hash.filter(|hash| hash.as_bytes()[0] == shard) else {
        return Ok(());
    };
    let about = entry.metadata()?;
    let len = proof::content_len(about.len()).filter(|_| about.is_file());
    let Some(len) = len else {
        counters.corrupt.add(1);
        counters.quarantined.add(1);
        return tree.files.remove(&entry.path());
    };
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let written = nanoseconds(about.mtime(), about.mtime_nsec());
    let read = nanoseconds(about.atime(), about.atime_nsec()) > written;
    found.push(Found {
        hash,
        len,
        written,
        read,
    });
    Ok(())
}
