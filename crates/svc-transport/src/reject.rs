//! Every "no" of the transport: each maps here, and only here, to status, reason, advice and words for people.

use std::time::Duration;

use http_rules::decode::BadBody;
use kernel::reject::Reject;
use oap::Violation;

pub use table::{Reason, reasons};

mod table;

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// For a reason that the protocol has.
    Protocol(oap::Refusal),
    /// A rule of the protocol is broken, as was seen when the request was read: its connection ends.
    Broken(Violation),
    /// The opcode has all it may have at once.
    Gate(Duration),
    /// Too many requests wait for a worker.
    Work,
    /// It claims a tenant that no credential says.
    Tenant,
    /// Its stream did not go on in time.
    BodySlow,
    /// Its stream will never end: the client has gone, or has given it up.
    BodyGone,
    /// The worker that had it ended, and it may not be repeated.
    WorkerLost,
    /// Answering it takes more than a frame, and the service knows no other way.
    AnswerOver,
}

/// When to come again where nobody knows better; spread, so that those who were turned away together do not come
/// together.
const SOON_MS: std::ops::Range<u64> = 50..150;

impl Refusal {
    /// The code of the answer.
    pub fn status(self) -> u16 {
        match self {
            Refusal::Protocol(refusal) => refusal.status(),
            Refusal::Broken(violation) => violation.status(),
            Refusal::Gate(_) | Refusal::Work => 429,
            Refusal::Tenant => 403,
            Refusal::BodySlow => 408,
            Refusal::BodyGone => 499,
            Refusal::WorkerLost => 503,
            Refusal::AnswerOver => 500,
        }
    }

    /// Stable, for the answer, the log and the metric.
    pub fn reason(self) -> &'static str {
        match self {
            Refusal::Protocol(refusal) => refusal.reason(),
            Refusal::Broken(violation) => violation.reason(),
            Refusal::Gate(_) | Refusal::Work => oap::Refusal::Busy.reason(),
            Refusal::Tenant => "tenant-unproven",
            Refusal::BodySlow => "body-timeout",
            Refusal::BodyGone => "client-gone",
            Refusal::WorkerLost => "worker-lost",
            Refusal::AnswerOver => "answer-over",
        }
    }

    /// What happened and what to do, for people.
    pub fn detail(self) -> String {
        let words = match self {
            Refusal::Protocol(refusal) => return refusal.to_string(),
            Refusal::Broken(violation) => return violation.to_string(),
            Refusal::Gate(_) => "this opcode has all it may have at once; come again later",
            Refusal::Work => "too many requests wait for a worker; come again later",
            Refusal::Tenant => {
                "the credential says another tenant, or none; send 0, or a credential of this one"
            }
            Refusal::BodySlow => "the request did not go on in time",
            Refusal::BodyGone => "the client left",
            Refusal::WorkerLost => "the worker that had the request ended; it was not repeated",
            Refusal::AnswerOver => "the answer does not fit into a frame",
        };
        words.to_owned()
    }

    /// When the same request may succeed; absent where waiting does not help.
    pub fn retry_after(self) -> Option<Duration> {
        match self {
            Refusal::Gate(wait) => Some(wait),
            Refusal::Work | Refusal::WorkerLost | Refusal::Protocol(oap::Refusal::Busy) => {
                Some(Duration::from_millis(fastrand::u64(SOON_MS)))
            }
            _ => None,
        }
    }

    /// Whether it is for want of room, which a peer is told in a directive.
    pub(crate) fn is_busy(self) -> bool {
        matches!(
            self,
            Refusal::Gate(_) | Refusal::Work | Refusal::Protocol(oap::Refusal::Busy)
        )
    }
}

impl From<oap::Refusal> for Refusal {
    fn from(refusal: oap::Refusal) -> Self {
        Refusal::Protocol(refusal)
    }
}

impl From<BadBody> for Refusal {
    fn from(bad: BadBody) -> Self {
        match bad {
            BadBody::Ratio => oap::Refusal::DecodedRatio.into(),
            BadBody::Cap | BadBody::Window => oap::Refusal::DecodedCap.into(),
            _ => Refusal::Broken(Violation::PayloadBroken),
        }
    }
}

impl From<Reject> for Refusal {
    fn from(reject: Reject) -> Self {
        match reject {
            Reject::Busy => Refusal::Work,
            Reject::Canceled => oap::Refusal::Draining.into(),
            _ => Refusal::WorkerLost,
        }
    }
}

#[cfg(test)]
mod tests;
