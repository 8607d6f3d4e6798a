//! What the system knows of a running program.

use super::{Process, ProcessError, system};
use std::io;
use std::time::Duration;

impl Process {
    /// Resident memory.
    pub fn resident_bytes(&self) -> Result<u64, ProcessError> {
        let status = self.proc_text("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line
            .and_then(|line| line.trim().strip_suffix(" kB"))
            .and_then(|kib| kib.trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| odd("VmRSS"))
    }

    /// Open file descriptors.
    pub fn open_fds(&self) -> Result<usize, ProcessError> {
        let dir = std::fs::read_dir(format!("/proc/{}/fd", self.pid()));
        Ok(dir
            .map_err(|source| system("reading its descriptors", source))?
            .count())
    }

    /// Threads.
    pub fn threads(&self) -> Result<usize, ProcessError> {
        let dir = std::fs::read_dir(format!("/proc/{}/task", self.pid()));
        Ok(dir
            .map_err(|source| system("reading its threads", source))?
            .count())
    }

    /// Processor time used so far, in user and system mode together.
    pub fn cpu_time(&self) -> Result<Duration, ProcessError> {
        let stat = self.proc_text("stat")?;
        // The second field is the name in parentheses and may hold anything.
        let (_, fields) = stat.rsplit_once(") ").ok_or_else(|| odd("stat"))?;
        let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>);
        let ticks = ticks.sum::<Result<u64, _>>().map_err(|_| odd("stat"))?;
        // SAFETY: plain system call without pointers.
        let per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Ok(Duration::from_secs_f64(ticks as f64 / per_s as f64))
    }

    pub(super) fn proc_text(&self, file: &str) -> Result<String, ProcessError> {
        let path = format!("/proc/{}/{file}", self.pid());
        std::fs::read_to_string(&path).map_err(|source| system(&format!("reading {path}"), source))
    }
}

fn odd(what: &str) -> ProcessError {
    system(what, io::Error::other("not in the expected form"))
}
