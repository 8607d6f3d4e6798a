//! Which headers that mean something to the gateway a head has: one pass over it instead of a lookup for each.

use http::header::{self, HeaderName};
use http::request::Parts;
use http::{Method, Version};
use http_rules::forward::is_claim;

use crate::plan::Plan;
use crate::respond::grpc::is_call;

/// Headers that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heads(u16);

impl Heads {
    /// May be gone after this hop, or say what is.
    pub(crate) const HOP_BY_HOP: Heads = Heads(1);
    pub(crate) const UPGRADE: Heads = Heads(1 << 1);
    pub(crate) const AUTHORIZATION: Heads = Heads(1 << 2);
    /// A wish how long to wait.
    pub(crate) const DEADLINE: Heads = Heads(1 << 3);
    /// Who has passed the request on.
    pub(crate) const PASSED: Heads = Heads(1 << 4);
    pub(crate) const TRACE: Heads = Heads(1 << 5);
    pub(crate) const REQUEST_ID: Heads = Heads(1 << 6);
    /// Whom it is passed on for.
    pub(crate) const FORWARDED: Heads = Heads(1 << 7);
    /// An API key.
    pub(crate) const KEY: Heads = Heads(1 << 8);
    /// The header in which tenants are named.
    pub(crate) const TENANT: Heads = Heads(1 << 9);
    /// Anything by which others are told who asks, and for what.
    pub(crate) const CLAIM: Heads = Heads(1 << 10);
    /// A body that is a call of gRPC.
    pub(crate) const CALL: Heads = Heads(1 << 11);
    /// What others know of its trace.
    pub(crate) const TRACE_STATE: Heads = Heads(1 << 12);
    /// How often it may be passed on.
    pub(crate) const HOPS: Heads = Heads(1 << 13);
    /// A wish for events as they come, and for nothing else.
    pub(crate) const EVENTS: Heads = Heads(1 << 14);
    /// It came over HTTP/2, where an answer may end with trailers that nobody has asked for.
    pub(crate) const ANY_END: Heads = Heads(1 << 15);
    /// Something by which a caller shows who it is.
    pub(crate) const CREDENTIAL: Heads = Self::AUTHORIZATION.and(Self::KEY).and(Self::TENANT);
    /// What the gateway says itself to every upstream.
    pub(crate) const OURS: Heads = Self::DEADLINE
        .and(Self::PASSED)
        .and(Self::TRACE)
        .and(Self::REQUEST_ID)
        .and(Self::CLAIM);

    /// Looks through a head.
    pub(crate) fn of(request: &Parts, plan: &Plan) -> Self {
        let mut seen = match request.version {
            Version::HTTP_2 => Heads::ANY_END,
            _ => Heads::default(),
        };
        for (name, value) in &request.headers {
            seen = seen.and(identity(name, plan)).and(meaning(name));
            // Whatever a request says it brings: only by POST is it a call, and its sender reads what calls are told.
            if *name == header::CONTENT_TYPE && is_call(value) && request.method == Method::POST {
                seen = seen.and(Heads::CALL);
            }
            if *name == header::ACCEPT && value == "text/event-stream" {
                seen = seen.and(Heads::EVENTS);
            }
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

fn meaning(name: &HeaderName) -> Heads {
    match *name {
        header::HOST
        | header::ACCEPT
        | header::ACCEPT_ENCODING
        | header::ACCEPT_LANGUAGE
        | header::CONTENT_LENGTH
        | header::CONTENT_TYPE
        | header::COOKIE
        | header::USER_AGENT => Heads::default(),
        header::AUTHORIZATION => Heads::AUTHORIZATION,
        header::UPGRADE => Heads::UPGRADE.and(Heads::HOP_BY_HOP),
        header::CONNECTION
        | header::EXPECT
        | header::TE
        | header::TRANSFER_ENCODING
        | header::PROXY_AUTHENTICATE
        | header::PROXY_AUTHORIZATION => Heads::HOP_BY_HOP,
        header::FORWARDED => Heads::FORWARDED.and(Heads::CLAIM),
        header::VIA => Heads::PASSED,
        _ => other(name),
    }
}

fn identity(name: &HeaderName, plan: &Plan) -> Heads {
    let mut seen = Heads::default();
    if plan.key_header.as_ref() == Some(name) {
        seen = seen.and(Heads::KEY);
    }
    if name == plan.tenant_header() {
        seen = seen.and(Heads::TENANT);
    }
    seen
}

fn other(name: &HeaderName) -> Heads {
    match name.as_str() {
        "keep-alive" | "proxy-connection" | "proxy-authentication-info" | "http2-settings" => {
            Heads::HOP_BY_HOP
        }
        "request-timeout" | "grpc-timeout" | "x-request-deadline" => Heads::DEADLINE,
        "cdn-loop" => Heads::PASSED,
        "traceparent" => Heads::TRACE,
        "tracestate" => Heads::TRACE_STATE,
        "max-forwards" => Heads::HOPS,
        "x-request-id" => Heads::REQUEST_ID,
        "x-forwarded-for" => Heads::FORWARDED.and(Heads::CLAIM),
        _ if is_claim(name) => Heads::CLAIM,
        _ => Heads::default(),
    }
}
