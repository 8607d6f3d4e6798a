//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; for `run`: drained, even when stragglers had to be aborted at the deadline.
    Ok,
    /// A defect in the node itself, and the log says more; or what a command says cannot be written.
    Internal,
    /// The command line makes no sense.
    Usage,
    /// The config is invalid, or a file of it cannot be read.
    Config,
    /// The node cannot start: a port is taken, a permission is missing.
    Start,
    /// A second signal cut the drain short.
    CutShort,
    /// No running node was found, or it did not answer.
    Unreachable,
    /// The doctor found something that must be mended.
    Unhealthy,
    /// The running node refused what was asked of it, or a passport or a pack is not good.
    Refused,
}

impl Exit {
    /// All of them, for the reference page.
    pub(crate) const ALL: [Exit; 9] = [
        Exit::Ok,
        Exit::Internal,
        Exit::Usage,
        Exit::Config,
        Exit::Start,
        Exit::CutShort,
        Exit::Unreachable,
        Exit::Unhealthy,
        Exit::Refused,
    ];

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::Config => 3,
            Exit::Start => 4,
            Exit::CutShort => 5,
            Exit::Unreachable => 6,
            Exit::Unhealthy => 7,
            Exit::Refused => 8,
        }
    }

    /// One line for people.
    pub(crate) fn doc(self) -> &'static str {
        match self {
            Exit::Ok => {
                "done; for `run`: drained, even when stragglers had to be aborted at the deadline"
            }
            Exit::Internal => {
                "a defect in the node itself, and the log says more; or what a command says cannot be written"
            }
            Exit::Usage => "the command line makes no sense",
            Exit::Config => "the config is invalid, or its file cannot be read",
            Exit::Start => "the node cannot start: a port is taken, a permission is missing",
            Exit::CutShort => "a second signal cut the drain short",
            Exit::Unreachable => "no running node was found, or it did not answer",
            Exit::Unhealthy => "the doctor found something that must be mended",
            Exit::Refused => {
                "the running node refused what was asked of it, or a passport or a pack is not good"
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
