//! What the files hold that a configuration names: a part of it that stands elsewhere.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::diff::Change;
use crate::read::open_regular;
use crate::shape::Reload;

/// In bytes: beyond this only the length of a file counts. Nobody names so much on purpose.
const MOST: u64 = 64 * 1024 * 1024;

/// The state of a file as its directory tells it: while it is the same, nobody has written the file. Absent when there
/// is no such file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(Option<(u64, u64, u64, i64, i64)>);

impl Stamp {
    /// As it is now.
    pub fn of(path: &Path) -> Self {
        Self(std::fs::metadata(path).ok().as_ref().map(state))
    }
}

/// When it was changed in any way, and which file it is: one put in the place of another may be of the same time.
fn state(about: &Metadata) -> (u64, u64, u64, i64, i64) {
    let file = (about.dev(), about.ino(), about.size());
    (file.0, file.1, file.2, about.ctime(), about.ctime_nsec())
}

/// What all of them held when the configuration was loaded.
#[derive(Debug, Default)]
pub(crate) struct Contents(Vec<Named>);

#[derive(Debug)]
struct Named {
    key: String,
    path: PathBuf,
    stamp: Stamp,
    /// Absent when it could not be read.
    digest: Option<u64>,
}

impl Contents {
    /// Reads them. To be done before anybody makes anything of them: what is written in between is then seen later.
    pub(crate) fn of(files: Vec<(String, PathBuf)>) -> Self {
        let read = |(key, path): (String, PathBuf)| {
            let stamp = Stamp::of(&path);
            let digest = open_regular(&path).and_then(digest).ok();
            Named {
                key,
                path,
                stamp,
                digest,
            }
        };
        Self(files.into_iter().map(read).collect())
    }

    pub(crate) fn stamps(&self) -> Vec<(PathBuf, Stamp)> {
        let named = self.0.iter();
        named
            .map(|named| (named.path.clone(), named.stamp))
            .collect()
    }

    /// The files that hold something else in `new`. One that was not named before is seen by its key.
    pub(crate) fn changes<'a>(&'a self, new: &'a Self) -> impl Iterator<Item = Change> + 'a {
        let before = |now: &Named| {
            let same = |old: &&Named| (&old.key, &old.path) == (&now.key, &now.path);
            self.0.iter().find(same)
        };
        let changed = new
            .0
            .iter()
            .filter(move |now| before(now).is_some_and(|old| old.digest != now.digest));
        changed.map(|now| {
            let path = serde_json::Value::from(now.path.to_string_lossy());
            Change {
                key: now.key.clone(),
                old: Some(path.clone()),
                new: Some(path),
                reload: Reload::Hot,
            }
        })
    }
}

fn digest(file: File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut hashed = Hashed(DefaultHasher::new());
    hashed.0.write_u64(length);
    io::copy(&mut file.take(MOST), &mut hashed)?;
    Ok(hashed.0.finish())
}

struct Hashed(DefaultHasher);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
