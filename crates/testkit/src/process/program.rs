//! A program to be started: arguments, variables, files, pipes.

use super::filter::{Filter, Rule, Verdict};
use super::lines::{Lines, Pipe};
use super::{CONFIG_FILE, Owned, Process, ProcessError, system};
use parking_lot::Mutex;
use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;

/// Variables with this prefix are the program's own; those of the caller are not handed down.
const VARIABLE_PREFIX: &str = "MACRONODE_";

/// Where the sockets that are handed over begin.
const FIRST_SOCKET: RawFd = 3;

/// A program to be started.
#[derive(Debug)]
pub struct Program {
    command: Command,
    dir: TempDir,
    stderr_unread: bool,
}

impl Program {
    /// A program with an empty temporary directory to run in.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let mut command = Command::new(path.as_ref());
        // A group of its own, so that what it started ends with it.
        command
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .process_group(0);
        for (key, _) in std::env::vars_os() {
            if key.to_string_lossy().starts_with(VARIABLE_PREFIX) {
                command.env_remove(key);
            }
        }
        Ok(Self {
            command,
            dir,
            stderr_unread: false,
        })
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }

    /// Writes a file into the program's directory.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Writes the config and adds `--config PATH`.
    pub fn config(self, text: &str) -> io::Result<Self> {
        let path = self.file(CONFIG_FILE, text)?;
        Ok(self.arg("--config").arg(path))
    }

    /// Does this in the new process, before the program is there. Only system calls are safe in that place.
    #[must_use]
    pub(super) fn before_exec(
        mut self,
        act: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        // SAFETY: those who call this make only system calls, on memory made before.
        unsafe { self.command.pre_exec(act) };
        self
    }

    /// On a kernel that knows nothing of Landlock, as far as the program can tell.
    #[must_use]
    pub fn without_landlock(self) -> Self {
        let filter = Filter::new(&[Rule {
            call: libc::SYS_landlock_create_ruleset,
            flags: None,
            verdict: Verdict::Fail(libc::ENOSYS as u16),
        }]);
        self.before_exec(move || filter.apply())
    }

    /// Hands a listening socket over under the name of a door, as systemd does.
    #[must_use]
    pub fn socket(self, door: &str, listener: TcpListener) -> Self {
        let program = self.env("LISTEN_FDS", "1").env("LISTEN_FDNAMES", door);
        program.before_exec(move || {
            // Aside first: a copy made in its own place would still be closed by the exec.
            // SAFETY: plain system calls on a descriptor that is held here.
            let aside = unsafe { libc::fcntl(listener.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 100) };
            // SAFETY: as above.
            match unsafe { libc::dup2(aside, FIRST_SOCKET) } {
                FIRST_SOCKET => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }

    /// Keeps stderr open and never reads it, as a stuck log collector would.
    #[must_use]
    pub fn leave_stderr_unread(mut self) -> Self {
        self.stderr_unread = true;
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Result<Process, ProcessError> {
        let name = self.command.get_program().to_string_lossy().into_owned();
        let started = Instant::now();
        let spawned = self
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.map_err(|source| system(&format!("starting {name}"), source))?;
        let lines = Arc::new(Lines::default());
        if let Some(stdout) = child.stdout.take() {
            Lines::pump(&lines, Pipe::Stdout, stdout);
        }
        if let Some(stderr) = child.stderr.take_if(|_| !self.stderr_unread) {
            Lines::pump(&lines, Pipe::Stderr, stderr);
        }
        let pid = child.id().cast_signed();
        let child = Mutex::new(Owned {
            child,
            status: None,
        });
        Ok(Process {
            pid,
            child,
            lines,
            dir: self.dir,
            started,
        })
    }
}
