//! Reading the configuration file without trusting that it is a small, readable, regular one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::mistake::{Mistake, Mistakes, Origin};

/// The largest file read; a configuration beyond this is something else by that name.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The text of a configuration file and where it came from. The text may hold secrets: it is wiped
/// when dropped and has no `Debug`.
pub struct SourceFile {
    path: PathBuf,
    text: Zeroizing<String>,
}

impl SourceFile {
    /// Text already at hand under the name it shall be reported by.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: Zeroizing::new(text.into()),
        }
    }

    /// Where the text came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text, secrets included.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads `path` if it is a regular UTF-8 file of at most [`MAX_FILE_BYTES`].
pub fn read_file(path: &Path) -> Result<SourceFile, Mistakes> {
    let refuse = |what: String, remedy: &str| Mistakes::one(refusal(path, 0, what, remedy));
    let file = open(path).map_err(|error| refuse(unopened(&error), advice(&error)))?;
    let about = file
        .metadata()
        .map_err(|error| refuse(error.to_string(), advice(&error)))?;
    if !about.is_file() {
        return Err(refuse("is not a regular file".into(), "name a TOML file"));
    }
    let bytes = read_capped(file, about.len())
        .map_err(|error| refuse(error.to_string(), advice(&error)))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let what = format!("is larger than the {MAX_FILE_BYTES} bytes a configuration may have");
        return Err(refuse(what, "check that this is the file you mean"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        Mistakes::one(refusal(
            path,
            line,
            "is not UTF-8 text".into(),
            "save it as UTF-8",
        ))
    })?;
    Ok(SourceFile::new(path, text))
}

/// Opens a file that holds something, without waiting: no directory, no device, no pipe.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Without waiting: a pipe nobody writes to would otherwise hold up the start for ever.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

/// One byte past the cap tells that there is more, whatever size the file claims to have. Room is made once for what
/// it claims, and once more for all it may have where it claims less: what a vector leaves behind when it grows by
/// itself is not wiped, and wiping the whole cap takes longer than all else of a small file.
fn read_capped(file: File, claimed: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    let bytes = read_onto(&file, Zeroizing::default(), claimed.min(MAX_FILE_BYTES))?;
    match bytes.len() as u64 > claimed {
        true => read_onto(&file, bytes, MAX_FILE_BYTES),
        false => Ok(bytes),
    }
}

/// Goes on reading to one byte past `most`, in room of its own.
fn read_onto(file: &File, before: Zeroizing<Vec<u8>>, most: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    let room = most as usize + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    bytes.extend_from_slice(&before);
    let left = (room - before.len()) as u64;
    file.take(left).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unopened(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied => "may not be read by this user".into(),
        _ => format!("cannot be opened: {error}"),
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the path; a file that is named has to be there",
        io::ErrorKind::PermissionDenied => "give the user the node runs as permission to read it",
        _ => "check the file and the disk it is on",
    }
}

fn refusal(path: &Path, line: usize, what: String, remedy: &str) -> Mistake {
    Mistake {
        origin: Origin::File {
            path: path.into(),
            line,
            column: usize::from(line > 0),
        },
        key: String::new(),
        given: None,
        what,
        allowed: String::new(),
        remedy: Some(remedy.into()),
        excerpt: None,
    }
}

#[cfg(test)]
mod tests;
