//! Why a call came to nothing.

use http_rules::decode::BadBody;

use crate::{Unsent, Violation};

/// Why there is no answer, or no more of it. An answer of 400 and above is an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The client was shut down.
    #[error("the client is shut down")]
    Closed,
    /// The call's time was over.
    #[error("the deadline has passed")]
    Deadline,
    /// The call's time was over before there was a connection.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The connection ended first.
    #[error("the connection was lost: {why}")]
    Lost {
        /// The server has not looked at the request: it can be sent again.
        unseen: bool,
        /// What happened.
        why: String,
    },
    /// The server gave up.
    #[error("the server gave up: {status} {reason}")]
    Reset {
        /// As in HTTP.
        status: u16,
        /// Stable, for programs; may be empty.
        reason: String,
    },
    /// The server closed, as something was wrong with the connection as a whole.
    #[error("the server refused the connection: {status} {reason}")]
    Refused {
        /// As in HTTP.
        status: u16,
        /// Stable, for programs; may be empty.
        reason: String,
    },
    /// The server broke a rule.
    #[error("the server broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The answer cannot be decompressed.
    #[error("the answer cannot be decompressed: {0}")]
    Decoded(BadBody),
    /// The answer is larger than the caller would have.
    #[error("the answer is larger than wanted")]
    Large,
    /// There is no such request.
    #[error("the request cannot be sent: {0}")]
    Unsent(#[from] Unsent),
}

impl Failure {
    pub(super) fn lost(why: impl ToString) -> Failure {
        Failure::Lost {
            unseen: false,
            why: why.to_string(),
        }
    }

    /// Whether the request was certainly not acted upon.
    pub fn is_unseen(&self) -> bool {
        matches!(self, Failure::Lost { unseen: true, .. })
    }
}
