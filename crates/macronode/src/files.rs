//! How many files the process may have open: connections are files.

use std::io;

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
