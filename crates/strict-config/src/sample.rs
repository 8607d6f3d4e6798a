//! A configuration with one of everything: what the tests and the fuzz target load.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::{ConfigText, Report, Secret};

/// A node.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// Name of the node.
    #[schemars(length(min = 1, max = 16))]
    pub name: String,
    /// Where state is kept.
    #[schemars(extend("x-reload" = "restart"))]
    pub state_dir: Option<PathBuf>,
    /// How a node ends.
    pub drain: Drain,
    /// The admin server.
    #[schemars(extend("x-reload" = "restart"))]
    pub admin: Option<Admin>,
    /// Upstreams by name.
    pub upstreams: BTreeMap<String, Upstream>,
    /// Routes, first match wins.
    pub routes: Vec<Route>,
    /// Networks whose word is taken.
    #[schemars(length(max = 3))]
    pub trusted: Vec<String>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            name: "node".into(),
            state_dir: None,
            drain: Drain::default(),
            admin: None,
            upstreams: BTreeMap::new(),
            routes: Vec::new(),
            trusted: vec!["loopback".into()],
        }
    }
}

impl ConfigText for Node {
    const ENV_PREFIX: &'static str = "MACRONODE__";

    fn contradictions(&self, report: &mut Report) {
        report.within("drain", |report| self.drain.contradictions(report));
        for (index, route) in self.routes.iter().enumerate() {
            if !self.upstreams.contains_key(&route.upstream) {
                report.within_item("routes", index, |report| {
                    report.contradiction(
                        &["upstream"],
                        "names no upstream",
                        "add it to `upstreams`",
                    );
                });
            }
        }
    }
}

/// How a node ends.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Drain {
    /// Time accepted work may take after a drain began, in milliseconds.
    #[schemars(range(min = 0, max = 600_000))]
    pub deadline_ms: u64,
    /// Time new work is still accepted, in milliseconds.
    pub accept_grace_ms: u32,
    /// Largest number there is.
    pub huge: u64,
    /// Smallest there is.
    pub deep: i64,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            deadline_ms: 3_000,
            accept_grace_ms: 0,
            huge: u64::MAX,
            deep: i64::MIN,
        }
    }
}

impl Drain {
    fn contradictions(&self, report: &mut Report) {
        if u64::from(self.accept_grace_ms) > self.deadline_ms {
            report.contradiction(
                &["accept_grace_ms", "deadline_ms"],
                "the grace is longer than the whole drain",
                "raise deadline_ms or lower accept_grace_ms",
            );
        }
    }
}

/// The admin server.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Admin {
    /// Address to listen on.
    #[schemars(extend("x-allowed" = "an address and a port, such as 127.0.0.1:9000"))]
    pub listen: SocketAddr,
    /// Token that opens it.
    #[schemars(length(min = 4, max = 64))]
    pub token: Secret,
    /// A word kept as plain text that is no less secret.
    #[schemars(extend("x-secret" = true))]
    pub pass_phrase: Option<String>,
    /// Log format.
    pub log: Log,
    /// Whether it may be written to.
    pub writable: bool,
}

impl Default for Admin {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9000)),
            token: Secret::from("none".to_owned()),
            pass_phrase: None,
            log: Log::Human,
            writable: false,
        }
    }
}

/// Log format.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Log {
    /// For people.
    Human,
    /// For machines.
    JsonLines,
}

/// An upstream.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// Addresses.
    #[schemars(length(min = 1))]
    pub servers: Vec<SocketAddr>,
    /// Share of the traffic.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// Keys, any of which opens it.
    #[serde(default)]
    pub keys: Vec<Secret>,
}

fn one() -> f64 {
    1.0
}

/// A route.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Path it begins with.
    pub prefix: String,
    /// Where it leads.
    pub upstream: String,
    /// How much it counts.
    #[serde(default = "weight")]
    pub weight: NonZeroU16,
}

fn weight() -> NonZeroU16 {
    NonZeroU16::MIN
}
