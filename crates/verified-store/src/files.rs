//! Every step the store takes on a disk that can fail or be the last one before a crash: the seam for tests of both.

use std::fmt;
use std::fs::{DirBuilder, File, FileTimes, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;

pub(crate) trait Files: fmt::Debug + Send + Sync {
    /// A new file, to be read and written by its owner only.
    fn create(&self, path: &Path) -> io::Result<File>;
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()>;
    fn sync(&self, file: &File) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn make_dir(&self, path: &Path) -> io::Result<()>;
    fn open(&self, path: &Path) -> io::Result<File>;
    /// All of `bytes` or an error.
    fn read(&self, file: &File, bytes: &mut [u8], at: u64) -> io::Result<()>;
    /// Leaves a trace that the file was wanted, for the next start.
    fn touch(&self, file: &File) -> io::Result<()>;
}

/// The disk itself.
#[derive(Debug)]
pub(crate) struct Disk;

impl Files for Disk {
    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        options.open(path)
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn read(&self, file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
        file.read_exact_at(bytes, at)
    }

    fn touch(&self, file: &File) -> io::Result<()> {
        #[expect(
            clippy::disallowed_methods,
            reason = "compared with the file's own times, which the kernel took from this clock"
        )]
        let now = std::time::SystemTime::now();
        file.set_times(FileTimes::new().set_accessed(now))
    }
}

#[cfg(test)]
pub(crate) mod faulty;
