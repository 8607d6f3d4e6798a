//! Why an origin's answer cannot be given.

use std::time::Duration;

/// Each maps to one status and one reason. Nothing of the origin is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The host is not among those that may be asked.
    NotAllowed,
    /// No query is answered here.
    Query,
    /// The request has come through this node before.
    Loop,
    /// Only what is kept was wanted, and nothing is.
    NotKept,
    /// Nothing is written here.
    ReadOnly,
    /// Too many wait for the same.
    Waiters,
    /// Too much is being fetched.
    Queue,
    /// The fetch was given up: the node ends, or lost a worker.
    GivenUp,
    /// The origin is left alone for a while.
    Open(Duration),
    /// Nobody answers there, or the address may not be dialled.
    Unreachable,
    /// Whoever answers there cannot show that it is the origin.
    Untrusted,
    /// The answer did not come in time.
    Late,
    /// The answer broke off, or is no HTTP.
    Broken,
    /// The answer is not what was asked for, or contradicts itself.
    Wrong,
    /// The answer is longer than allowed.
    TooLarge,
    /// The answer points to where nobody may be asked.
    Redirect,
    /// The client's own body failed.
    Body,
}

impl Failure {
    /// One of each.
    pub(crate) const ALL: [Failure; 17] = [
        Failure::NotAllowed,
        Failure::Query,
        Failure::Loop,
        Failure::NotKept,
        Failure::ReadOnly,
        Failure::Waiters,
        Failure::Queue,
        Failure::GivenUp,
        Failure::Open(Duration::from_secs(1)),
        Failure::Unreachable,
        Failure::Untrusted,
        Failure::Late,
        Failure::Broken,
        Failure::Wrong,
        Failure::TooLarge,
        Failure::Redirect,
        Failure::Body,
    ];

    pub(crate) fn status(self) -> u16 {
        match self {
            Failure::Query | Failure::Body => 400,
            Failure::NotAllowed => 403,
            Failure::ReadOnly => 405,
            Failure::Waiters | Failure::Queue => 429,
            Failure::Unreachable
            | Failure::Untrusted
            | Failure::Broken
            | Failure::Wrong
            | Failure::TooLarge
            | Failure::Redirect => 502,
            Failure::GivenUp | Failure::Open(_) => 503,
            Failure::NotKept | Failure::Late => 504,
            Failure::Loop => 508,
        }
    }

    pub(crate) fn reason(self) -> &'static str {
        match self {
            Failure::NotAllowed => "not-allowed",
            Failure::Query => "query-refused",
            Failure::Loop => "loop",
            Failure::NotKept => "not-kept",
            Failure::ReadOnly => "origin-read-only",
            Failure::Waiters => "fill-waiters",
            Failure::Queue => "fill-queue",
            Failure::GivenUp => "fill-given-up",
            Failure::Open(_) => "origin-breaker",
            Failure::Unreachable => "origin-unreachable",
            Failure::Untrusted => "origin-untrusted",
            Failure::Late => "origin-timeout",
            Failure::Broken => "origin-broken",
            Failure::Wrong => "origin-wrong",
            Failure::TooLarge => "origin-too-large",
            Failure::Redirect => "origin-redirect",
            Failure::Body => "request-body",
        }
    }

    /// The shorter word that is promised for metrics, where there is one.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Failure::NotAllowed => "not_allowed",
            Failure::Waiters | Failure::Queue => "busy",
            Failure::Late => "timeout",
            other => other.reason(),
        }
    }

    pub(crate) fn detail(self) -> &'static str {
        match self {
            Failure::NotAllowed => "this host is not among those that may be asked",
            Failure::Query => "no query is answered at this path",
            Failure::Loop => "the request has come through this node before",
            Failure::NotKept => "only what is kept was wanted, and nothing is",
            Failure::ReadOnly => "this path is only read",
            Failure::Waiters => "too many requests wait for the same; come again later",
            Failure::Queue => "too much is being fetched; come again later",
            Failure::GivenUp => "the fetch was given up; come again",
            Failure::Open(_) => "the origin failed too often and is left alone for a while",
            Failure::Unreachable => "the origin cannot be reached",
            Failure::Untrusted => {
                "the origin's certificate is not for its name, or of nobody who is trusted"
            }
            Failure::Late => "the origin did not answer in time",
            Failure::Broken => "the origin's answer broke off, or could not be read",
            Failure::Wrong => "the origin's answer contradicts itself or what was asked",
            Failure::TooLarge => "the origin's answer is longer than allowed",
            Failure::Redirect => "the origin points to where nobody may be asked",
            Failure::Body => "the body of the request could not be read to its end",
        }
    }

    /// When the same request may succeed; absent where waiting does not help.
    pub(crate) fn retry_after(self) -> Option<Duration> {
        match self {
            Failure::Open(wait) => Some(wait),
            Failure::Waiters | Failure::Queue | Failure::GivenUp => Some(Duration::from_secs(1)),
            _ => None,
        }
    }

    /// Whether an older answer may stand in, where one is kept and the origin allows it: the origin failed, or so much
    /// is wanted of it that this has no turn.
    pub(crate) fn may_be_stood_in_for(self) -> bool {
        matches!(
            self,
            Failure::Open(_)
                | Failure::Waiters
                | Failure::Queue
                | Failure::Unreachable
                | Failure::Untrusted
                | Failure::Late
                | Failure::Broken
                | Failure::Wrong
                | Failure::TooLarge
                | Failure::Redirect
        )
    }
}
