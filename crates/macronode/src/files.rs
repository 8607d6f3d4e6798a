//! How many files the process may have open: connections are files.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Files whose numbers there is room for from the beginning.
const ROOM: u64 = 32 * 1024;

/// RLIMIT_NOFILE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimits {
    /// What holds now.
    pub(crate) soft: u64,
    /// What it may be raised to.
    pub(crate) hard: u64,
}

impl FileLimits {
    /// What this process has.
    pub(crate) fn read() -> io::Result<Self> {
        let mut limits = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: getrlimit(2) writes one rlimit, to which the pointer is valid for the whole call.
        match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits) } {
            0 => Ok(Self {
                soft: limits.rlim_cur,
                hard: limits.rlim_max,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Has the system make room for the numbers of many files.
    pub(crate) fn make_room(self) -> io::Result<()> {
        make_room(self.soft.min(ROOM))
    }

    /// Raises the soft limit to the hard one: shells set it low for programs that use select(2), which this does not.
    pub(crate) fn raise(self) -> io::Result<()> {
        if self.soft >= self.hard {
            return Ok(());
        }
        let limits = libc::rlimit {
            rlim_cur: self.hard,
            rlim_max: self.hard,
        };
        // SAFETY: setrlimit(2) reads one rlimit, to which the pointer is valid for the whole call.
        match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limits) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Makes the table of open files large enough for so many.
///
/// The system doubles it whenever it is full, and where a process has threads it waits for all of its own to have seen
/// that: tens of milliseconds in which whoever accepts a connection does nothing else, and that as often as a crowd
/// doubles in number.
fn make_room(files: u64) -> io::Result<()> {
    let Some(highest) = files
        .checked_sub(1)
        .and_then(|last| i32::try_from(last).ok())
    else {
        return Ok(());
    };
    // SAFETY: duplicates a descriptor that every process has open; the duplicate is nobody else's.
    let number = unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, highest) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and owned by nobody.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `FDSize` of what the system says about this process.
    fn room() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mut lines = status.lines();
        let size = lines.find_map(|line| line.strip_prefix("FDSize:"));
        size.unwrap().trim().parse().unwrap()
    }

    // req: GW-03
    #[test]
    fn there_is_room_for_a_crowd_before_it_comes() {
        let limits = FileLimits::read().unwrap();
        limits.make_room().unwrap();
        let most = limits.soft.min(ROOM);
        assert!(room() >= most, "{} instead of {most}", room());
    }

    #[test]
    fn nothing_is_room_enough_for_nobody() {
        make_room(0).unwrap();
    }
}
