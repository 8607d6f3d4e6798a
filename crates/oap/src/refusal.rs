//! What can be wrong with one request without harm to the others.

use crate::{Directive, Frame, Header, Problem};

/// Why a request is not served; its connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Too many at a time.
    #[error("too many requests are in flight")]
    Busy,
    /// The server is about to leave.
    #[error("the server takes no more requests")]
    Draining,
    /// The capability section cannot be read.
    #[error("the capability section cannot be read")]
    CapBroken,
    /// An item in the capability section that must be understood, and is not.
    #[error("an unknown item in the capability section")]
    CapUnknown,
    /// No service of this `app_proto`.
    #[error("no such service")]
    NoService,
    /// The service has no such opcode.
    #[error("no such opcode")]
    NoOpcode,
    /// Its time is over.
    #[error("the deadline has passed")]
    Deadline,
    /// It grows too much when decompressed.
    #[error("the payload grows too much when decompressed")]
    DecodedRatio,
    /// It is too large when decompressed.
    #[error("the decompressed payload is too large")]
    DecodedCap,
    /// The head of a bridged request cannot be read.
    #[error("the head cannot be read")]
    HeadBroken,
    /// The head of a bridged request is too large.
    #[error("the head is too large")]
    HeadOver,
}

impl Refusal {
    /// One of each, in the order of the specification.
    pub const ALL: &'static [Refusal] = &[
        Refusal::Busy,
        Refusal::Draining,
        Refusal::CapBroken,
        Refusal::CapUnknown,
        Refusal::NoService,
        Refusal::NoOpcode,
        Refusal::Deadline,
        Refusal::DecodedRatio,
        Refusal::DecodedCap,
        Refusal::HeadBroken,
        Refusal::HeadOver,
    ];

    /// Stable name for the answer, the log and the metric.
    pub const fn reason(self) -> &'static str {
        match self {
            Refusal::Busy => "busy",
            Refusal::Draining => "draining",
            Refusal::CapBroken => "cap-broken",
            Refusal::CapUnknown => "cap-unknown",
            Refusal::NoService => "no-service",
            Refusal::NoOpcode => "no-opcode",
            Refusal::Deadline => "deadline",
            Refusal::DecodedRatio => "decoded-ratio",
            Refusal::DecodedCap => "decoded-cap",
            Refusal::HeadBroken => "head-broken",
            Refusal::HeadOver => "head-over",
        }
    }

    /// The code of the answer.
    pub const fn status(self) -> u16 {
        match self {
            Refusal::Busy => 429,
            Refusal::Draining => 503,
            Refusal::CapBroken | Refusal::CapUnknown | Refusal::HeadBroken => 400,
            Refusal::NoService => 404,
            Refusal::NoOpcode => 501,
            Refusal::Deadline => 504,
            Refusal::DecodedRatio | Refusal::DecodedCap => 413,
            Refusal::HeadOver => 431,
        }
    }

    /// As said in an answer.
    pub fn problem(self) -> Problem {
        Problem::new(self.reason()).detailed(self.to_string())
    }

    /// The answer to a request that [`Session`](crate::Session) did not admit. A notice is not for every refusal: one
    /// peer gets one in 200 ms, and the bare status otherwise.
    pub fn answer(self, request: &Header, notice: Option<Directive>) -> Frame {
        match notice {
            None if self == Refusal::Busy => {
                Frame::answer(request, self.status(), Default::default())
            }
            notice => {
                let mut problem = self.problem();
                problem.retry_after_ms = notice.as_ref().map(|notice| notice.retry_after_ms);
                problem.directive = notice;
                Frame::answer(request, self.status(), problem.to_payload())
            }
        }
    }
}
