//! One command of the node that ends by itself: what it printed, how it ended, how long it took.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A command that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// `macronode` with these arguments and none of the caller's `MACRONODE_` variables.
///
/// # Panics
/// If there is no binary.
#[must_use]
pub fn macronode<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(crate::binary());
    command.args(args).stdin(Stdio::null());
    for (key, _) in std::env::vars_os() {
        if key.to_string_lossy().starts_with("MACRONODE_") {
            command.env_remove(key);
        }
    }
    command
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it printed on standard output.
    pub stdout: String,
    /// What it printed on standard error.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
}

impl Ran {
    /// Everything it printed.
    #[must_use]
    pub fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started or hangs.
#[must_use]
pub fn ran(command: &mut Command) -> Ran {
    let began = Instant::now();
    let spawned = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.expect("the command starts");
    let stdout = collected(child.stdout.take().expect("a piped stdout"));
    let stderr = collected(child.stderr.take().expect("a piped stderr"));
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("a child of ours");
            child.wait().expect("a child of ours");
            let said = stderr.join().expect("a reader");
            panic!("{command:?} hangs after {PATIENCE:?}: {said}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let took = began.elapsed();
    Ran {
        code: status.code(),
        stdout: stdout.join().expect("a reader"),
        stderr: stderr.join().expect("a reader"),
        took,
    }
}

/// Runs a command to its end beside what the test does meanwhile.
///
/// # Panics
/// As [`ran`].
pub async fn ran_beside(mut command: Command) -> Ran {
    let running = tokio::task::spawn_blocking(move || ran(&mut command));
    running.await.expect("a command that ends")
}

fn collected(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a readable pipe");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
