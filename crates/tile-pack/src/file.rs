//! The open file of a pack: read by position, and noticed when it is no longer what was opened.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use bytes::Bytes;

use crate::error::PackError;
use crate::limits::Wait;

mod positional;

/// The bytes of a pack as they lie in its file. A file renamed over it changes nothing here; one that is written to is
/// noticed with the next read.
#[derive(Debug)]
pub struct RawFile {
    file: File,
    identity: Identity,
}

/// Which file it is, and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) length: u64,
    pub(crate) modified_ns: i128,
}

impl Identity {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000
                + i128::from(metadata.mtime_nsec()),
        }
    }
}

/// Where a file is looked at to be named: so many places, from its beginning to its end.
const LOOKS: u64 = 8;
const LOOK_BYTES: u64 = 8192;

impl RawFile {
    /// Opens a regular file. Anything else is refused without waiting for it, as a pipe would make us.
    pub(crate) fn open(path: &Path) -> Result<RawFile, PackError> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(PackError::NotAPack);
        }
        let identity = Identity::of(&metadata);
        Ok(RawFile { file, identity })
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.identity.length
    }

    /// Bytes `offset..offset + length`. Where that is not within the file the caller is mistaken, and told so.
    pub fn read_at(&self, offset: u64, length: usize, wait: Wait) -> Result<Bytes, PackError> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length()) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        let mut bytes = Vec::with_capacity(length);
        self.fill(&mut bytes, length, offset, wait)?;
        self.check_unchanged()?;
        Ok(bytes.into())
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Names this very file: by `parts` of it, its length, when it was written, and a look here and there. The time
    /// alone would not do: two files written within one tick of the clock have the same.
    pub(crate) fn stamp(&self, parts: &[&[u8]]) -> Result<u64, PackError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.identity.length.to_le_bytes());
        hasher.update(&self.identity.modified_ns.to_le_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let length = self.length().min(LOOK_BYTES);
        let last = self.length() - length;
        // A small file is looked at once.
        let looks = if last == 0 { 1 } else { LOOKS };
        let mut bytes = Vec::new();
        for look in 0..looks {
            bytes.clear();
            let at = u128::from(last) * u128::from(look) / u128::from(LOOKS - 1);
            self.fill(&mut bytes, length as usize, at as u64, Wait::Allowed)?;
            hasher.update(&bytes);
        }
        self.check_unchanged()?;
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Ok(u64::from_le_bytes(first))
    }

    /// Says whether the file is still as long as it was and was last written to when it was.
    pub(crate) fn check_unchanged(&self) -> Result<(), PackError> {
        match Identity::of(&self.file.metadata()?) == self.identity {
            true => Ok(()),
            false => Err(PackError::Changed),
        }
    }

    fn fill(
        &self,
        bytes: &mut Vec<u8>,
        length: usize,
        offset: u64,
        wait: Wait,
    ) -> Result<(), PackError> {
        while bytes.len() < length {
            let at = offset + bytes.len() as u64;
            match positional::read(&self.file, bytes, length, at, wait) {
                // The length was right when the file was opened.
                Ok(0) => return Err(PackError::Changed),
                Ok(_) => (),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if wait == Wait::Never && is_unready(&error) => {
                    return Err(PackError::WouldBlock);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Not in memory, or a file system that cannot tell.
fn is_unready(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EOPNOTSUPP | libc::ENOSYS)
    )
}

#[cfg(test)]
mod tests;
