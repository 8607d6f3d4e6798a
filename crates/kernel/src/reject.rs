//! One vocabulary for "no": each kind maps here, and only here, to status, label, retry advice and reason.

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// A bounded queue or a share is full.
    #[error("the queue is full")]
    Busy,
    /// The deadline passed first.
    #[error("the deadline passed")]
    Timeout,
    /// Shutdown or the caller's departure ended it.
    #[error("canceled: the node is shutting down or the caller has gone")]
    Canceled,
    /// A subscriber fell behind and has to reconcile.
    #[error("fell behind the event stream")]
    Lagging,
    /// The service is in a crash loop or lost the worker that had this unit.
    #[error("the service is degraded")]
    Degraded,
    /// A circuit breaker is open.
    #[error("the circuit breaker is open")]
    OpenCircuit,
    /// The peer closed while being written to.
    #[error("the peer closed the connection")]
    BrokenPipe,
    /// Refused for a stable, named reason.
    #[error("refused: {reason}")]
    Rejected {
        /// Stable reason code, for example `not-found`.
        reason: &'static str,
        /// Status an HTTP door answers with.
        status: u16,
    },
}

impl Reject {
    /// One of each, for the reference page and exhaustive tests.
    pub const ALL: &'static [Reject] = &[
        Reject::Busy,
        Reject::Timeout,
        Reject::Canceled,
        Reject::Lagging,
        Reject::Degraded,
        Reject::OpenCircuit,
        Reject::BrokenPipe,
        Reject::NOT_FOUND,
        Reject::METHOD_NOT_ALLOWED,
        Reject::UNAUTHORIZED,
        Reject::MISDIRECTED,
        Reject::BAD_REQUEST,
        Reject::INTERNAL,
    ];
    /// Nothing lives at this path.
    pub const NOT_FOUND: Reject = Reject::Rejected {
        reason: "not-found",
        status: 404,
    };
    /// Something lives there, but does not take this method.
    pub const METHOD_NOT_ALLOWED: Reject = Reject::Rejected {
        reason: "method-not-allowed",
        status: 405,
    };
    /// The caller has not shown that it may.
    pub const UNAUTHORIZED: Reject = Reject::Rejected {
        reason: "unauthorized",
        status: 401,
    };
    /// The host that was asked for is not this one.
    pub const MISDIRECTED: Reject = Reject::Rejected {
        reason: "misdirected",
        status: 421,
    };
    /// The request makes no sense.
    pub const BAD_REQUEST: Reject = Reject::Rejected {
        reason: "bad-request",
        status: 400,
    };
    /// A defect in the node; the log says more.
    pub const INTERNAL: Reject = Reject::Rejected {
        reason: "internal",
        status: 500,
    };

    /// Stable code in the body, the header, the log and the metric.
    pub fn reason(self) -> &'static str {
        match self {
            Reject::Busy => "busy",
            Reject::Timeout => "timeout",
            Reject::Canceled => "canceled",
            Reject::Lagging => "lagging",
            Reject::Degraded => "degraded",
            Reject::OpenCircuit => "open-circuit",
            Reject::BrokenPipe => "broken-pipe",
            Reject::Rejected { reason, .. } => reason,
        }
    }

    /// HTTP status: 429 where the caller's share is the limit, 503 where the node is.
    pub fn status(self) -> u16 {
        match self {
            Reject::Busy => 429,
            Reject::Timeout => 504,
            Reject::Canceled | Reject::Lagging | Reject::Degraded | Reject::OpenCircuit => 503,
            Reject::BrokenPipe => 499,
            Reject::Rejected { status, .. } => status,
        }
    }

    /// Whether the same request may succeed a little later.
    pub fn retryable(self) -> bool {
        match self {
            Reject::Busy
            | Reject::Canceled
            | Reject::Degraded
            | Reject::OpenCircuit
            | Reject::Timeout => true,
            Reject::Lagging | Reject::BrokenPipe | Reject::Rejected { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    // req: KN-18
    #[test]
    fn every_kind_has_its_own_reason_and_an_error_status() {
        let reasons: HashSet<_> = Reject::ALL.iter().map(|reject| reject.reason()).collect();
        assert_eq!(reasons.len(), Reject::ALL.len());
        for reject in Reject::ALL {
            assert!((400..600).contains(&reject.status()), "{reject:?}");
            let plain = reject
                .reason()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            assert!(plain, "{reject:?}");
        }
    }

    // req: KN-18
    #[test]
    fn a_full_share_is_429_and_a_failing_node_is_503() {
        assert_eq!(Reject::Busy.status(), 429);
        for node in [Reject::Canceled, Reject::Degraded, Reject::OpenCircuit] {
            assert_eq!(node.status(), 503);
            assert!(node.retryable());
        }
    }
}
