//! What stands behind the gateway, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pool of endpoints that do the same.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct UpstreamText {
    /// Where they are: `http://host:port` or `https://host:port`. Names are resolved again and again.
    #[schemars(length(min = 1, max = 1_000), inner(length(min = 1, max = 2048)), extend("x-url" = true))]
    pub endpoints: Vec<String>,
    /// Weights of the endpoints, in their order; absent: all 1.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(range(min = 1, max = 1_000)))]
    pub weights: Vec<u32>,
    /// Who gets the next request.
    #[serde(default)]
    pub balance: Balance,
    /// The header whose value decides, for `hash`; absent: the tenant, or the address of who has not said who it is.
    /// The same value goes to the same endpoint after a restart and on every node.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub hash_header: Option<String>,
    /// HTTP/1.1, or HTTP/2 (by ALPN on https, with prior knowledge on http). A server on https that does not choose
    /// `h2`, or chooses no protocol at all, is asked nothing: it counts as unreachable, and the log says so at `debug`.
    #[serde(default)]
    pub protocol: UpstreamProtocol,
    /// Requests at once, at most; absent: found by itself, from how long answers take.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: Option<u32>,
    /// Whether fewer are sent while the upstream cannot do with so many.
    #[serde(default = "adaptive")]
    pub adaptive: bool,
    /// The highest limit that may be found.
    #[serde(default = "max_limit")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_limit: u32,
    /// Connections to one endpoint. Over HTTP/1 no more requests than that are under way there, whatever the limit: the
    /// others wait for their turn. Event streams and upgraded connections take one each for as long as they last.
    #[serde(default = "connections")]
    #[schemars(range(min = 1, max = 65_536))]
    pub connections: usize,
    /// Time to connect, in milliseconds.
    #[serde(default = "connect")]
    #[schemars(range(min = 1, max = 60_000))]
    pub connect_ms: u64,
    /// Time an unused connection is kept, in milliseconds.
    #[serde(default = "idle")]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub idle_ms: u64,
    /// Time over which an endpoint that came back gets its full share again, in milliseconds.
    #[serde(default = "slow_start")]
    #[schemars(range(min = 0, max = 600_000))]
    pub slow_start_ms: u64,
    /// Time between two resolutions of names, in milliseconds.
    #[serde(default = "dns")]
    #[schemars(range(min = 100, max = 3_600_000))]
    pub dns_ms: u64,
    /// Questions asked of each endpoint, again and again; absent: none.
    #[serde(default)]
    pub health: Option<HealthText>,
    /// When an endpoint that fails is left alone.
    #[serde(default)]
    pub breaker: BreakerText,
    /// PEM file of the certificates that https endpoints must be signed by; absent: the system's. A file that changes
    /// is taken over by itself.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    pub ca: Option<String>,
}

impl UpstreamText {
    /// One endpoint, everything else by default.
    pub fn to(endpoint: &str) -> Self {
        Self {
            endpoints: vec![endpoint.to_owned()],
            weights: Vec::new(),
            balance: Balance::PeakEwma,
            hash_header: None,
            protocol: UpstreamProtocol::Http1,
            limit: None,
            adaptive: adaptive(),
            max_limit: max_limit(),
            connections: connections(),
            connect_ms: connect(),
            idle_ms: idle(),
            slow_start_ms: slow_start(),
            dns_ms: dns(),
            health: None,
            breaker: BreakerText::default(),
            ca: None,
        }
    }
}

fn adaptive() -> bool {
    true
}

fn max_limit() -> u32 {
    1_000
}

fn connections() -> usize {
    1_024
}

fn connect() -> u64 {
    1_000
}

fn idle() -> u64 {
    30_000
}

fn slow_start() -> u64 {
    5_000
}

fn dns() -> u64 {
    5_000
}

/// Who gets the next request.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum Balance {
    #[default]
    PeakEwma,
    RoundRobin,
    LeastRequest,
    Hash,
}

/// What is spoken with the upstream.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum UpstreamProtocol {
    #[default]
    Http1,
    Http2,
}

/// Questions asked of each endpoint.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct HealthText {
    /// What is asked for; any status below 400 is healthy.
    #[schemars(length(min = 1, max = 2048), extend("x-url" = true))]
    pub path: String,
    /// Time between two questions, in milliseconds.
    #[serde(default = "every")]
    #[schemars(range(min = 50, max = 600_000))]
    pub every_ms: u64,
    /// Time an answer may take, in milliseconds.
    #[serde(default = "answer")]
    #[schemars(range(min = 10, max = 60_000))]
    pub timeout_ms: u64,
    /// Good answers in a row until it is up.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 100))]
    pub up_after: u32,
    /// Bad ones in a row until it is down.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub down_after: u32,
}

fn every() -> u64 {
    2_000
}

fn answer() -> u64 {
    1_000
}

fn two() -> u32 {
    2
}

fn three() -> u32 {
    3
}

/// When an endpoint that fails is left alone.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerText {
    /// The part of failed requests, from 0 to 1, at which it opens. It opens as well when five or more fail in a row
    /// for a tenth of `window_ms`.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub failures: f64,
    /// Requests without which nothing is concluded.
    #[schemars(range(min = 1, max = 100_000))]
    pub samples: u32,
    /// Time looked back, in milliseconds.
    #[schemars(range(min = 100, max = 600_000))]
    pub window_ms: u64,
    /// Time it stays open before it is tried again, in milliseconds.
    #[schemars(range(min = 10, max = 600_000))]
    pub open_ms: u64,
}

impl Default for BreakerText {
    fn default() -> Self {
        Self {
            failures: 0.5,
            samples: 10,
            window_ms: 10_000,
            open_ms: 2_000,
        }
    }
}
