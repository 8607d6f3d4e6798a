//! Why a program did not do what was waited for.

use std::io;
use std::process::ExitStatus;

/// Why the program did not do what was waited for. Each carries its last lines.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started or looked at.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended first.
    #[error("ended with {status} while waiting for {what}\n{tail}")]
    Ended {
        /// What was waited for.
        what: String,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines.
        tail: String,
    },
    /// The time was over first.
    #[error("timed out waiting for {what}\n{tail}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// Its last lines.
        tail: String,
    },
    /// It answered its admin address badly.
    #[error("{what}: {detail}")]
    Admin {
        /// What was asked.
        what: String,
        /// What came.
        detail: String,
    },
}
