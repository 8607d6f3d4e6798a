//! Bytes that the system can send by itself, without a copy: memory with a file's name for it, which nobody can change.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

use bytes::Bytes;
pub(crate) use well::Draught;
use well::Well;

mod well;

/// Sealed bytes. An answer that has parts of them in its body, and whose body says so (`Service::sealed`), is sent from
/// where they lie where that is possible; elsewhere its body is sent like any other.
///
/// Nobody can change, shorten or lengthen them: not this process either. What the system still has to send when the
/// last of these is dropped stays until it is sent.
#[derive(Clone, Debug)]
pub struct Sealed(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bytes: Bytes,
    held: Held,
}

/// What the system sends them from: one file in either case.
#[derive(Debug)]
enum Held {
    File(File),
    /// As few as fit: a file would be looked through page by page each time.
    Well(Well),
}

/// Where the system finds a part.
pub(crate) enum Spring<'a> {
    /// There, in a file.
    File(&'a File, Range<usize>),
    /// Here, all of it.
    Well(&'a Well),
}

impl Sealed {
    /// Copies them. Refused where there are no files any more, and where no file may be written, of memory neither.
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        let file = memory(bytes)?;
        let bytes = Bytes::from_owner(Mapping::of(&file, bytes.len())?);
        let held = match Well::of(&file, bytes.len()) {
            Ok(well) => Held::Well(well),
            Err(_) => Held::File(file),
        };
        Ok(Self(Arc::new(Inner { bytes, held })))
    }

    /// The bytes, to be read like any others. Parts of them are found again by where they lie.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// From where the system can send `part`; nothing if it is not a part of it, or cannot be sent alone.
    pub(crate) fn spring_of(&self, part: &[u8]) -> Option<Spring<'_>> {
        let place = self.place_of(part)?;
        match &self.0.held {
            Held::File(file) => Some(Spring::File(file, place)),
            Held::Well(well) => (place == (0..self.0.bytes.len())).then_some(Spring::Well(well)),
        }
    }

    fn place_of(&self, part: &[u8]) -> Option<Range<usize>> {
        let own = &self.0.bytes;
        let begins = part.as_ptr().addr().checked_sub(own.as_ptr().addr())?;
        let ends = begins.checked_add(part.len())?;
        (ends <= own.len()).then_some(begins..ends)
    }
}

/// Memory with these bytes, behind a file that nobody can change any more.
fn memory(bytes: &[u8]) -> io::Result<File> {
    if !may_write() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with a zero.
    let file = unsafe { libc::memfd_create(c"sealed".as_ptr(), flags) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    let file = unsafe { File::from_raw_fd(file) };
    file.write_all_at(bytes, 0)?;
    let seals = libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: takes numbers only.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Under a limit of nothing a write would not fail but end the process.
fn may_write() -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is valid for the length of the call.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    asked == 0 && limit.rlim_cur == libc::RLIM_INFINITY
}

/// The memory of a sealed file.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: nobody changes what is there; where it lies has nothing to do with a thread.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn of(sealed: &File, length: usize) -> io::Result<Self> {
        let (access, private) = (libc::PROT_READ, libc::MAP_PRIVATE);
        let file = sealed.as_raw_fd();
        // SAFETY: a new mapping, wherever there is room for it; the file is valid for the length of the call.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, private, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: mapped and readable for as long as this lives; sealed, so that nobody writes to it or cuts it off.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; whoever had a slice of it had a borrow of this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests;
