//! A program under test: started in a directory of its own, watched, signalled, always reaped.

use crate::http::{self, Failure};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

mod error;
mod filter;
mod lines;
mod memory;
mod metrics;
mod port;
mod program;
mod spy;
#[cfg(test)]
mod tests;
mod vitals;

pub use error::ProcessError;
pub use lines::{Line, Pipe};
pub use metrics::Metrics;
pub use port::Port;
pub use program::Program;
pub use spy::{Attempt, Spy};

use lines::Lines;

const POLL: Duration = Duration::from_millis(2);
const CONFIG_FILE: &str = "macronode.toml";

/// A running program; dropping it kills and reaps it.
#[derive(Debug)]
pub struct Process {
    pid: libc::pid_t,
    child: Mutex<Owned>,
    lines: Arc<Lines>,
    dir: TempDir,
    started: Instant,
}

/// Once the status is known the pid may belong to someone else: nothing is sent to it any more.
#[derive(Debug)]
struct Owned {
    child: Child,
    status: Option<ExitStatus>,
}

impl Owned {
    fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }
}

impl Process {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// When it was started.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The directory it runs in.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Replaces the config file at once, as an operator's tool does: a new file, renamed over the old.
    pub fn replace_config(&self, text: &str) -> io::Result<()> {
        let fresh = self.dir.path().join("macronode.toml.new");
        std::fs::write(&fresh, text)?;
        std::fs::rename(fresh, self.dir.path().join(CONFIG_FILE))
    }

    /// How it ended, if it has.
    pub fn status(&self) -> Result<Option<ExitStatus>, ProcessError> {
        self.child
            .lock()
            .poll()
            .map_err(|source| system("looking whether it ended", source))
    }

    /// Sends a signal (`libc::SIGTERM`, …); false when it has ended.
    pub fn signal(&self, signal: i32) -> Result<bool, ProcessError> {
        let mut owned = self.child.lock();
        let ended = owned
            .poll()
            .map_err(|source| system("looking whether it ended", source))?;
        if ended.is_some() {
            return Ok(false);
        }
        // SAFETY: plain system call; the child is not reaped while the lock is held, so the pid is its own.
        let code = unsafe { libc::kill(self.pid, signal) };
        if code == 0 {
            Ok(true)
        } else {
            Err(system("sending a signal", io::Error::last_os_error()))
        }
    }

    /// Waits for its end.
    pub async fn wait_exit(&self, timeout: Duration) -> Result<ExitStatus, ProcessError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(self.timed_out("its end"));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The lines still kept, oldest first: the latest few thousand of both pipes.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.lines.kept()
    }

    /// Waits for a line, among those kept and those to come.
    pub async fn wait_for_line(
        &self,
        wanted: impl Fn(&Line) -> bool,
        timeout: Duration,
    ) -> Result<Line, ProcessError> {
        match self.lines.wait_for(wanted, timeout).await {
            Some(line) => Ok(line),
            None => Err(self.gave_up("a line").await),
        }
    }

    /// The addresses of its `ready name=addr …` line.
    pub async fn announced(
        &self,
        timeout: Duration,
    ) -> Result<BTreeMap<String, SocketAddr>, ProcessError> {
        match self.lines.wait_for_ready(timeout).await {
            Some(line) => Ok(addresses(&line)),
            None => Err(self.gave_up("its ready line").await),
        }
    }

    /// One announced address.
    pub async fn addr(&self, name: &str, timeout: Duration) -> Result<SocketAddr, ProcessError> {
        let announced = self.announced(timeout).await?;
        announced
            .get(name)
            .copied()
            .ok_or_else(|| ProcessError::Admin {
                what: format!("looking for address {name}"),
                detail: format!("announced are {announced:?}"),
            })
    }

    /// Waits until the announced admin address says it is ready.
    pub async fn wait_ready(&self, timeout: Duration) -> Result<(), ProcessError> {
        let deadline = Instant::now() + timeout;
        let admin = self.addr("admin", timeout).await?;
        self.wait_ready_at(admin, deadline.saturating_duration_since(Instant::now()))
            .await
    }

    /// Waits until `GET /readyz` at this address is answered 200.
    pub async fn wait_ready_at(
        &self,
        admin: SocketAddr,
        timeout: Duration,
    ) -> Result<(), ProcessError> {
        let deadline = Instant::now() + timeout;
        let request = http::request_bytes("GET", admin, "/readyz", &[("connection", "close")], b"");
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = http::exchange(admin, &request, left.min(Duration::from_secs(1))).await;
            if answer.is_ok_and(|response| response.status == 200) {
                return Ok(());
            }
            if left.is_zero() || self.status()?.is_some() {
                return Err(self.gave_up("readiness").await);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Its metrics, from the announced admin address.
    pub async fn metrics(&self) -> Result<Metrics, ProcessError> {
        let admin = self.addr("admin", http::DEFAULT_TIMEOUT).await?;
        let what = "reading metrics";
        let admin_error = |detail: String| ProcessError::Admin {
            what: what.to_owned(),
            detail,
        };
        let response = http::get(admin, "/metrics")
            .await
            .map_err(|e: Failure| admin_error(e.to_string()))?;
        if response.status != 200 {
            return Err(admin_error(format!("status {}", response.status)));
        }
        Metrics::parse(&response.text()).map_err(admin_error)
    }

    /// One metric, summed over all samples that carry these labels; 0 when there is none.
    pub async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64, ProcessError> {
        Ok(self.metrics().await?.sum(name, labels))
    }

    async fn gave_up(&self, what: &str) -> ProcessError {
        // The pipes close a moment before the exit status can be read.
        let status = self.wait_exit_briefly().await;
        match status {
            Some(status) => ProcessError::Ended {
                what: what.to_owned(),
                status,
                tail: self.lines.tail(),
            },
            None => self.timed_out(what),
        }
    }

    async fn wait_exit_briefly(&self) -> Option<ExitStatus> {
        for _ in 0..25 {
            if let Ok(Some(status)) = self.status() {
                return Some(status);
            }
            tokio::time::sleep(POLL).await;
        }
        None
    }

    fn timed_out(&self, what: &str) -> ProcessError {
        ProcessError::TimedOut {
            what: what.to_owned(),
            tail: self.lines.tail(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let owned = self.child.get_mut();
        if matches!(owned.poll(), Ok(None)) {
            // SAFETY: plain system call; the child is not reaped yet, so the group is still its own.
            unsafe { libc::kill(-self.pid, libc::SIGKILL) };
            // A killed process ends at once, so this does not block; an error leaves nothing to do.
            let _ = owned.child.wait();
        }
    }
}

fn system(what: &str, source: io::Error) -> ProcessError {
    ProcessError::System {
        what: what.to_owned(),
        source,
    }
}

/// The `name=addr` words of a line; words of another kind are left out.
fn addresses(line: &str) -> BTreeMap<String, SocketAddr> {
    let pairs = line
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    pairs
        .filter_map(|(name, addr)| Some((name.to_owned(), addr.parse().ok()?)))
        .collect()
}
