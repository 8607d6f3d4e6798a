//! Files that appear whole: written under another name, synced, then renamed.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Where a file will stand.
pub(crate) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file beside `path` that is gone unless it is kept.
pub(crate) fn begin(path: &Path) -> io::Result<NamedTempFile> {
    Builder::new()
        .prefix(".pack-")
        .suffix(".part")
        // A pack is for the server to read, which may be another user.
        .permissions(std::fs::Permissions::from_mode(0o644))
        .tempfile_in(directory(path))
}

/// Makes a file last and gives it its name.
pub(crate) fn keep(staged: NamedTempFile, path: &Path) -> io::Result<()> {
    staged.as_file().sync_all()?;
    staged.persist(path).map_err(|error| error.error)?;
    File::open(directory(path))?.sync_all()
}

/// Writes a file with `fill`; when that fails nothing is left.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let staged = begin(path)?;
    fill(staged.as_file())?;
    keep(staged, path)
}
