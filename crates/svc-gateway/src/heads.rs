//! Which headers that mean something to the gateway a head has: one pass over it instead of a lookup for each.

use http::header::{self, HeaderMap, HeaderName};

use crate::plan::Plan;

/// Headers that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads(u16);

impl Heads {
    /// May be gone after this hop, or say what is.
    pub(crate) const HOP_BY_HOP: Heads = Heads(1);
    pub(crate) const UPGRADE: Heads = Heads(1 << 1);
    /// Something by which a caller shows who it is.
    pub(crate) const CREDENTIAL: Heads = Heads(1 << 2);
    /// A wish how long to wait.
    pub(crate) const DEADLINE: Heads = Heads(1 << 3);
    /// Who has passed the request on.
    pub(crate) const PASSED: Heads = Heads(1 << 4);
    pub(crate) const TRACE: Heads = Heads(1 << 5);
    pub(crate) const REQUEST_ID: Heads = Heads(1 << 6);
    pub(crate) const FORWARDED: Heads = Heads(1 << 7);

    /// Looks through a head.
    pub(crate) fn of(headers: &HeaderMap, plan: &Plan) -> Self {
        let mut seen = Heads::default();
        for name in headers.keys() {
            seen.0 |= meaning(name, plan).0;
        }
        seen
    }

    pub(crate) const fn and(self, other: Heads) -> Heads {
        Heads(self.0 | other.0)
    }

    pub(crate) fn has(self, what: Heads) -> bool {
        self.0 & what.0 != 0
    }
}

fn meaning(name: &HeaderName, plan: &Plan) -> Heads {
    match *name {
        header::HOST
        | header::ACCEPT
        | header::ACCEPT_ENCODING
        | header::ACCEPT_LANGUAGE
        | header::CONTENT_LENGTH
        | header::CONTENT_TYPE
        | header::COOKIE
        | header::USER_AGENT => Heads::default(),
        header::AUTHORIZATION => Heads::CREDENTIAL,
        header::UPGRADE => Heads::UPGRADE.and(Heads::HOP_BY_HOP),
        header::CONNECTION
        | header::EXPECT
        | header::TE
        | header::TRANSFER_ENCODING
        | header::PROXY_AUTHENTICATE
        | header::PROXY_AUTHORIZATION => Heads::HOP_BY_HOP,
        header::FORWARDED => Heads::FORWARDED,
        header::VIA => Heads::PASSED,
        _ => other(name, plan),
    }
}

fn other(name: &HeaderName, plan: &Plan) -> Heads {
    if *name == plan.key_header || plan.tenant_header.as_ref() == Some(name) {
        return Heads::CREDENTIAL;
    }
    match name.as_str() {
        "keep-alive" | "proxy-connection" | "proxy-authentication-info" | "http2-settings" => {
            Heads::HOP_BY_HOP
        }
        "request-timeout" | "grpc-timeout" | "x-request-deadline" => Heads::DEADLINE,
        "cdn-loop" => Heads::PASSED,
        "traceparent" => Heads::TRACE,
        "x-request-id" => Heads::REQUEST_ID,
        "x-forwarded-for" => Heads::FORWARDED,
        _ => Heads::default(),
    }
}
