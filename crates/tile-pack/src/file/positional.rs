//! `preadv2`: read at a position, if need be without waiting for the disk.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::limits::Wait;

/// Reads at `offset` onto the end of `bytes` until it is at most `length` long. Says how much was read; 0 is the end.
pub(super) fn read(
    file: &File,
    bytes: &mut Vec<u8>,
    length: usize,
    offset: u64,
    wait: Wait,
) -> io::Result<usize> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let offset = libc::off_t::try_from(offset).map_err(invalid)?;
    bytes.reserve_exact(length - bytes.len());
    let filled = bytes.len();
    let room = &mut bytes.spare_capacity_mut()[..length - filled];
    let slice = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    let flags = match wait {
        Wait::Never => libc::RWF_NOWAIT,
        Wait::Allowed => 0,
    };
    // SAFETY: preadv2(2) writes at most `iov_len` bytes to `iov_base`, which is room in `bytes` that nobody else has.
    let read = unsafe { libc::preadv2(file.as_raw_fd(), &slice, 1, offset, flags) };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the call says that it wrote `read` bytes there, and it has room for no more than that.
    unsafe { bytes.set_len(filled + read) };
    Ok(read)
}
