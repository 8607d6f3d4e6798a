//! The `[gateway]` section as it is written, and what in it contradicts itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use front_door::text::{CertificateText, ClientCertificates, PostQuantum, TlsText};
use ipnet::IpNet;
use kernel::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::Report;

pub use identity::{ApiKeyText, IdentityText, JwtText, PassportText, SubjectText};
pub use policy::{PolicyText, RuleText, Verdict};
pub use route::{RetryText, RouteText, SplitText};
pub use upstream::{Balance, BreakerText, HealthText, UpstreamProtocol, UpstreamText};

mod check;
mod identity;
mod policy;
mod route;
mod upstream;

/// The gateway.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayText {
    /// Where it listens for plain HTTP/1.1 and HTTP/2 with prior knowledge.
    #[schemars(
        length(max = 4),
        extend("x-reload" = "restart", "x-allowed" = "a list of IP:PORT, such as [\"0.0.0.0:8080\"]")
    )]
    pub listen: Vec<SocketAddr>,
    /// Short for one upstream named `main` and one route that sends everything there.
    #[schemars(
        length(min = 1, max = 2048),
        extend("x-url" = true, "x-allowed" = "a URL without path, such as http://127.0.0.1:9000")
    )]
    pub to: Option<String>,
    /// The TLS doors; absent: plain HTTP only.
    pub tls: Option<TlsText>,
    /// `inline`: a request's own task does the work. `pool`: supervised workers do, and one that dies loses nothing
    /// that may be repeated.
    #[schemars(extend("x-reload" = "restart"))]
    pub dispatch: Dispatch,
    /// Workers of the pool; each runs many requests at once.
    #[schemars(range(min = 1, max = 1024), extend("x-reload" = "restart"))]
    pub workers: usize,
    /// Checks every upstream before the node says it is ready for the first time: by its `health`, and that a
    /// connection to one of its endpoints can be opened. What fails later makes the node degraded.
    pub strict_boot: bool,
    /// Networks whose `X-Forwarded-*`, `Forwarded`, PROXY protocol and tenant header are believed. Where the client is
    /// stands in `X-Forwarded-For`, or in `Forwarded` where there is none.
    #[schemars(
        length(max = 256),
        inner(length(min = 2, max = 64)),
        extend("x-allowed" = "a list of networks, such as [\"10.0.0.0/8\", \"::1/128\"]")
    )]
    pub trusted_hops: Vec<String>,
    /// Whether trusted hops begin each connection with a PROXY protocol header (version 1 or 2).
    #[schemars(extend("x-reload" = "restart"))]
    pub proxy_protocol: bool,
    /// How much of anything there may be at once.
    pub limits: LimitsText,
    /// How long peers may take.
    pub timeouts: TimeoutsText,
    /// How callers show who they are.
    pub identity: IdentityText,
    /// Weights of the classes: callers without identity are `anon`, others `authed` unless their tenant says more.
    pub classes: ClassesText,
    /// What is known of tenants by name; others have weight 1 in their class.
    #[schemars(length(max = 50_000))]
    pub tenants: BTreeMap<String, TenantText>,
    /// Rates.
    pub quota: QuotaText,
    /// Who waits, and how many.
    pub queue: QueueText,
    /// Where requests may go, and who may send them there.
    pub policy: Option<PolicyText>,
    /// Where requests go: the most specific that matches wins.
    #[schemars(length(max = 10_000))]
    pub routes: Vec<RouteText>,
    /// What stands behind the gateway, by name.
    #[schemars(length(max = 1_000))]
    pub upstreams: BTreeMap<String, UpstreamText>,
    /// One line per request.
    pub access_log: AccessLogText,
}

impl Default for GatewayText {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 8080))],
            to: None,
            tls: None,
            dispatch: Dispatch::Inline,
            workers: 16,
            strict_boot: false,
            trusted_hops: Vec::new(),
            proxy_protocol: false,
            limits: LimitsText::default(),
            timeouts: TimeoutsText::default(),
            identity: IdentityText::default(),
            classes: ClassesText::default(),
            tenants: BTreeMap::new(),
            quota: QuotaText::default(),
            queue: QueueText::default(),
            policy: None,
            routes: Vec::new(),
            upstreams: BTreeMap::new(),
            access_log: AccessLogText::default(),
        }
    }
}

/// Where the work of a request is done.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum Dispatch {
    #[default]
    Inline,
    Pool,
}

/// How much of anything there may be at once.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsText {
    /// Connections of a door; more wait in the backlog.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-reload" = "restart"))]
    pub connections: usize,
    /// Connections one address may open per second (IPv6: one /64); 0 means any number.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub accepts_per_ip: u32,
    /// Requests at once on one HTTP/2 connection.
    #[schemars(range(min = 1, max = 10_000))]
    pub streams: u32,
    /// Requests in the node at once, over all upstreams; what goes on as a stream of its tenant is none of them.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub inflight: u32,
    /// Bytes of a request body, unless its route says otherwise.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub body_bytes: u64,
    /// Event streams, upgraded connections and small bodies on their way of one tenant; of such bodies 64 however many
    /// of the others it has. Where others wait, what lasts longer than its route's deadline needs one of them to go on:
    /// 0 ends it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub streams_per_tenant: u32,
    /// The same of all tenants together, but that small bodies are waited for however many there are.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub streams_in_all: u32,
}

impl Default for LimitsText {
    fn default() -> Self {
        Self {
            connections: 16_384,
            accepts_per_ip: 0,
            streams: 100,
            inflight: 4_096,
            body_bytes: 1024 * 1024,
            streams_per_tenant: 256,
            streams_in_all: 16_384,
        }
    }
}

/// How long peers may take, in milliseconds.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutsText {
    /// A whole request head, from the first byte.
    #[schemars(range(min = 10, max = 600_000))]
    pub head_ms: u64,
    /// Between two pieces of a request body, other than of a call of gRPC; while it is waited for, it also has to bring
    /// 240 bytes for each second of this time.
    #[schemars(range(min = 10, max = 600_000))]
    pub body_ms: u64,
    /// Between two pieces of an answer that the client takes; while it is waited for, it also has to take 240 bytes for
    /// each second of this time.
    #[schemars(range(min = 10, max = 600_000))]
    pub write_ms: u64,
    /// A connection without a request.
    #[schemars(range(min = 10, max = 86_400_000))]
    pub idle_ms: u64,
    /// A TLS handshake, with what comes before it.
    #[schemars(range(min = 10, max = 600_000))]
    pub handshake_ms: u64,
    /// Until the answer begins, unless the route or the caller says less.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub request_ms: u64,
    /// Between two pieces of an upstream's answer. One whose length is known has to come at 240 bytes a second, too,
    /// over this time.
    #[schemars(range(min = 10, max = 3_600_000))]
    pub upstream_ms: u64,
}

impl Default for TimeoutsText {
    fn default() -> Self {
        let ms = |time: std::time::Duration| time.as_millis() as u64;
        Self {
            head_ms: ms(limits::HEAD_TIMEOUT),
            body_ms: 5_000,
            write_ms: ms(limits::WRITE_TIMEOUT),
            idle_ms: ms(limits::IDLE_TIMEOUT),
            handshake_ms: 2_000,
            request_ms: 2_000,
            upstream_ms: 5_000,
        }
    }
}

/// Weights of the classes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct ClassesText {
    /// Callers without identity.
    #[schemars(range(min = 1, max = 1_000))]
    pub anon: u32,
    /// Callers with one.
    #[schemars(range(min = 1, max = 1_000))]
    pub authed: u32,
    /// Tenants that are set to it.
    #[schemars(range(min = 1, max = 1_000))]
    pub internal: u32,
}

impl Default for ClassesText {
    fn default() -> Self {
        Self {
            anon: 1,
            authed: 5,
            internal: 10,
        }
    }
}

/// The classes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum ClassName {
    Anon,
    #[default]
    Authed,
    Internal,
}

/// What is known of a tenant.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TenantText {
    /// Its class.
    pub class: ClassName,
    /// Its share within the class, against others' 1.
    #[schemars(range(min = 1, max = 1_000))]
    pub weight: u32,
    /// Its own rate; absent: that of `quota.per_tenant`.
    pub rate: Option<RateText>,
}

impl Default for TenantText {
    fn default() -> Self {
        Self {
            class: ClassName::Authed,
            weight: 1,
            rate: None,
        }
    }
}

/// A rate.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RateText {
    /// Requests a second.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub per_second: u32,
    /// Requests at once after a rest; as many as a second's by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub burst: Option<u32>,
}

/// Rates.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct QuotaText {
    /// Of all requests together.
    pub global: Option<RateText>,
    /// Of each tenant.
    pub per_tenant: Option<RateText>,
    /// Of each client address (IPv6: each /64).
    pub per_ip: Option<RateText>,
    /// Of credentials that have to be verified, per client address.
    pub verifications_per_ip: Option<RateText>,
}

/// Who waits, and how many.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct QueueText {
    /// Requests waiting for one upstream.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-reload" = "restart"))]
    pub items: usize,
    /// Of them, of one tenant.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-reload" = "restart"))]
    pub per_tenant: usize,
    /// How long anybody waits for a place, in milliseconds; who would have to wait longer is told at once.
    #[schemars(range(min = 1, max = 600_000), extend("x-reload" = "restart"))]
    pub wait_ms: u64,
    /// The longest time after which a refused client is told to come again, in milliseconds.
    #[schemars(range(min = 1_000, max = 60_000), extend("x-reload" = "restart"))]
    pub retry_after_max_ms: u64,
    /// Who goes when the queue is full: the newcomer, or the oldest.
    #[schemars(extend("x-reload" = "restart"))]
    pub overflow: OverflowText,
}

impl Default for QueueText {
    fn default() -> Self {
        Self {
            items: 512,
            per_tenant: 64,
            wait_ms: 500,
            retry_after_max_ms: 30_000,
            overflow: OverflowText::RejectNew,
        }
    }
}

/// Who goes when the queue is full.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum OverflowText {
    #[default]
    RejectNew,
    DropOldest,
}

/// One line per request, as JSON, through the bounded telemetry queue.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct AccessLogText {
    /// `off`, `refused` for what was refused or failed, `all`.
    pub level: AccessLevel,
}

impl Default for AccessLogText {
    fn default() -> Self {
        Self {
            level: AccessLevel::Refused,
        }
    }
}

/// Which requests are logged.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[expect(
    missing_docs,
    reason = "a variant with a doc comment is no plain choice in the schema"
)]
pub enum AccessLevel {
    Off,
    #[default]
    Refused,
    All,
}

impl GatewayText {
    /// Says everything that contradicts, also what files it names.
    pub fn contradictions(&self, report: &mut Report) {
        check::check(self, report);
    }

    /// The files whose contents it is followed by, besides certificates, which are looked after by their doors.
    pub fn files(&self) -> Vec<(String, PathBuf)> {
        let policy = self.policy.iter().filter_map(|policy| {
            let file = policy.file.as_ref()?;
            Some(("policy.file".to_owned(), file.into()))
        });
        let trust = self.upstreams.iter().filter_map(|(name, upstream)| {
            let file = upstream.ca.as_ref()?;
            Some((format!("upstreams.{name}.ca"), file.into()))
        });
        policy.chain(trust).collect()
    }

    /// The networks whose word is believed.
    pub fn trusted(&self) -> Vec<IpNet> {
        let parsed = self.trusted_hops.iter().map(|hop| network(hop));
        parsed.filter_map(Result::ok).collect()
    }
}

/// A network, or a single address as the network of itself.
pub(crate) fn network(text: &str) -> Result<IpNet, String> {
    if let Ok(address) = text.parse::<std::net::IpAddr>() {
        return Ok(address.into());
    }
    text.parse().map_err(|_| format!("`{text}` is no network"))
}

#[cfg(test)]
mod tests;
