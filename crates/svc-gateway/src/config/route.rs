//! Where requests go, as it is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::Secret;

use super::RateText;

/// One route. Among those that match the more specific wins: host before none; exact path before the longest prefix
/// before a regex before the prefix `/`, which is what a route without a path has; then more conditions, then the
/// earlier one.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub struct RouteText {
    /// Its name in metrics, log and policy; made from its place when absent.
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    /// Hosts; `*.example.com` means all below; none means any.
    #[schemars(length(max = 1_000), inner(length(min = 1, max = 255)))]
    pub hosts: Vec<String>,
    /// A path and all below it, in any spelling. The longest that matches wins over a regex; `/`, or none, is what
    /// remains when nothing else matches.
    #[schemars(length(min = 1, max = 4096))]
    pub path: Option<String>,
    /// One path, in any spelling; it wins over all others.
    #[schemars(length(min = 1, max = 4096))]
    pub exact: Option<String>,
    /// Paths that match as a whole, in the form in which they are sent on: `é` is `%C3%A9`, `{` is `%7B`, and letters,
    /// digits and `-._~` stand for themselves. Tried in their order after exact paths and longer prefixes, and before
    /// `/` and `gateway.to`.
    #[schemars(length(min = 1, max = 4096))]
    pub regex: Option<String>,
    /// Methods; none means any.
    #[schemars(length(max = 64), inner(length(min = 1, max = 32)))]
    pub methods: Vec<String>,
    /// Headers that must be there with these values; `*` means any value. Masked wherever they would be printed.
    #[schemars(length(max = 32))]
    pub headers: BTreeMap<String, Secret>,
    /// The upstream requests go to.
    #[schemars(length(min = 1, max = 64))]
    pub upstream: Option<String>,
    /// Several upstreams by weight, instead of one: a canary.
    #[schemars(length(max = 16))]
    pub split: Vec<SplitText>,
    /// Answered with this location instead; `{path}`, `{query}` and `{host}` are filled in. Policy, identity and rates
    /// hold as for other routes.
    #[schemars(length(min = 1, max = 4096), extend("x-url" = true))]
    pub redirect: Option<String>,
    /// Status of the redirect.
    #[schemars(extend("x-allowed" = "301, 302, 303, 307 or 308"))]
    pub redirect_status: Option<u16>,
    /// Replaces the matched prefix or exact path; for a regex `$1` names its groups.
    #[schemars(length(max = 4096), extend("x-url" = true))]
    pub rewrite: Option<String>,
    /// Sends this host upstream instead of the client's.
    #[schemars(length(min = 1, max = 255))]
    pub upstream_host: Option<String>,
    /// Request headers set before it is sent on, trailers of these names removed; often credentials, so that values are
    /// masked wherever they would be printed.
    #[schemars(length(max = 64))]
    pub set_request: BTreeMap<String, Secret>,
    /// Request headers and trailers removed.
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub remove_request: Vec<String>,
    /// Response headers set, trailers of these names removed. Masked wherever they would be printed.
    #[schemars(length(max = 64))]
    pub set_response: BTreeMap<String, Secret>,
    /// Response headers and trailers removed.
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub remove_response: Vec<String>,
    /// Time until the answer begins, in milliseconds; absent: `timeouts.request_ms`. No more of a client's deadline is
    /// passed on, and an upstream takes a `grpc-timeout` for the whole call: as long as the longest that gRPC streams
    /// need.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub deadline_ms: Option<u64>,
    /// Bytes of a request body; absent: `limits.body_bytes`.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub body_bytes: Option<u64>,
    /// Decodes gzip, br and zstd request bodies, within bounds, before they are sent on.
    pub decode: bool,
    /// What a request costs its tenant, beside others' 1. It is paid by leaving out turns, 64 of them at the most.
    #[schemars(range(min = 1, max = 1_000))]
    pub cost: Option<u64>,
    /// Requests of this route at once; absent: as many as the upstream takes.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub inflight: Option<u32>,
    /// Of them, how many may wait for their turn.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub waiting: Option<u32>,
    /// Rate of this route.
    pub rate: Option<RateText>,
    /// Whether a caller must show who it is; absent: `identity.required`.
    pub identity: Option<bool>,
    /// When a request is tried again.
    pub retry: RetryText,
}

/// One of several upstreams.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct SplitText {
    /// Its name.
    #[schemars(length(min = 1, max = 64))]
    pub upstream: String,
    /// Its part of the requests, against the others' weights.
    #[schemars(range(min = 0, max = 1_000))]
    pub weight: u32,
}

/// When a request is tried again: inside the deadline and the upstream's retry budget, never once an answer began.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct RetryText {
    /// Tries in all.
    #[schemars(range(min = 1, max = 3))]
    pub tries: u32,
    /// Answers that count as failures of the upstream.
    #[schemars(length(max = 16), inner(range(min = 500, max = 599)))]
    pub on_status: Vec<u16>,
    /// Whether a request of another method may be repeated when it has an `Idempotency-Key`.
    pub idempotency_key: bool,
}

impl Default for RetryText {
    fn default() -> Self {
        Self {
            tries: 3,
            on_status: vec![502, 503, 504],
            idempotency_key: false,
        }
    }
}
