//! The node's config: text form, what contradicts, and the settings in which bad states cannot be written.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kernel::config::Source;
use kernel::drain::Plan;
use kernel::limits;
use kernel::serve::{DoorLimits, Patience};
use kernel::telemetry::{Format, LogSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::{ConfigText, Loaded, Mistakes, Report, Secret, Sources, load};
use svc_edge::config::EdgeText;
use svc_gateway::config::GatewayText;
use svc_transport::config::TransportText;

use crate::bridge;
use crate::cli::{BuiltIn, ConfigArgs};
use crate::demo::config::DemoText;
use crate::overlay::config::OverlayText;

mod places;

/// The config file of a node.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeText {
    /// The threads the node runs on.
    #[schemars(extend("x-reload" = "restart"))]
    pub(crate) runtime: RuntimeText,
    /// What the node says, on standard error.
    pub(crate) log: LogText,
    /// The admin server: metrics, health, readiness, status.
    pub(crate) admin: AdminText,
    /// How the node ends.
    pub(crate) drain: DrainText,
    /// Where spans are sent; absent: nowhere.
    #[schemars(extend("x-reload" = "restart"))]
    pub(crate) traces: Option<TracesText>,
    /// The gateway; absent: off.
    pub(crate) gateway: Option<GatewayText>,
    /// The edge; absent: off.
    pub(crate) edge: Option<EdgeText>,
    /// The transport, a door for requests in frames; absent: off.
    pub(crate) transport: Option<TransportText>,
    /// The overlay, the node's own API; absent: off.
    pub(crate) overlay: Option<OverlayText>,
    /// Nothing is written to a disk, which the kernel enforces, and memory is wiped when it is freed. A config that
    /// asks for a disk to write to is refused.
    #[schemars(extend("x-reload" = "restart"))]
    pub(crate) amnesia: bool,
    /// What a kernel that cannot enforce amnesia means: `strict` refuses to start, `best-effort` does what it can and
    /// says in the log what is missing.
    #[schemars(extend("x-reload" = "restart"))]
    pub(crate) amnesia_enforcement: Enforcement,
    /// The embedded demonstration; absent: off. Without any config it is on.
    pub(crate) demo: Option<DemoText>,
}

/// The threads the node runs on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RuntimeText {
    /// `multi` uses all cores, `single` one thread for everything.
    pub(crate) kind: RuntimeKind,
    /// Threads of the multi-thread runtime; 0 means one per core.
    #[schemars(range(min = 0, max = 1024))]
    pub(crate) threads: usize,
}

/// How much of amnesia may be missing.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Enforcement {
    #[default]
    Strict,
    BestEffort,
}

/// The runtimes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuntimeKind {
    #[default]
    Multi,
    Single,
}

/// What the node says, on standard error.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogText {
    /// `json` for machines, `human` for eyes, `auto` for eyes on a terminal and machines elsewhere.
    #[schemars(extend("x-reload" = "restart"))]
    pub(crate) format: LogFormat,
    /// A level (error, warn, info, debug, trace), and levels of single targets: `info,kernel=debug`. Access logs
    /// have keys of their own, and are there at every level unless this says `access=off`.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) level: String,
}

impl Default for LogText {
    fn default() -> Self {
        Self {
            format: LogFormat::Auto,
            level: "info".to_owned(),
        }
    }
}

/// The forms of the log.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Auto,
    Json,
    Human,
}

/// The admin server.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AdminText {
    /// Where it listens. Beyond loopback a token is needed, for reading too; probes stay open.
    #[schemars(extend("x-reload" = "restart", "x-allowed" = "IP:PORT, such as 127.0.0.1:8080 or [::1]:8080"))]
    pub(crate) listen: SocketAddr,
    /// What `/drain` and `/reload` ask for; empty: they are refused, and signals are the way.
    pub(crate) token: Secret,
    /// Connections at once; more wait.
    #[schemars(range(min = 1, max = 10_000), extend("x-reload" = "restart"))]
    pub(crate) max_connections: usize,
}

impl Default for AdminText {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9600)),
            token: Secret::default(),
            max_connections: limits::ADMIN_CONNECTIONS,
        }
    }
}

/// How the node ends.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DrainText {
    /// Time accepted work may take after the doors closed, in milliseconds; stragglers are aborted.
    #[schemars(range(min = 0, max = 600_000))]
    pub(crate) deadline_ms: u64,
    /// The same after a hand-over to a new process, in milliseconds: nobody waits for the old one, and long streams may
    /// end by themselves.
    #[schemars(range(min = 0, max = 600_000))]
    pub(crate) handover_deadline_ms: u64,
    /// Time the doors stay open after the node became unready, in milliseconds, for load balancers that lag.
    #[schemars(range(min = 0, max = 600_000))]
    pub(crate) accept_grace_ms: u64,
}

const _: () = assert!(limits::DRAIN_DEADLINE_MAX.as_millis() == 600_000);

impl Default for DrainText {
    fn default() -> Self {
        Self {
            deadline_ms: limits::DRAIN_DEADLINE.as_millis() as u64,
            handover_deadline_ms: limits::HANDOVER_DEADLINE.as_millis() as u64,
            accept_grace_ms: 0,
        }
    }
}

/// Where spans are sent.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TracesText {
    /// The collector's URL, for OTLP over HTTP.
    #[schemars(length(min = 1, max = 2048), extend("x-url" = true))]
    pub(crate) endpoint: String,
    /// The part of traces that begin here to keep, from 0 to 1. One that a caller began is kept if the caller keeps it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) ratio: f64,
}

impl Default for TracesText {
    fn default() -> Self {
        Self {
            endpoint: "http://127.0.0.1:4318/v1/traces".to_owned(),
            ratio: 1.0,
        }
    }
}

impl ConfigText for NodeText {
    const ENV_PREFIX: &'static str = "MACRONODE__";

    fn contradictions(&self, report: &mut Report) {
        report.within("log", |report| {
            if let Err(error) = kernel::telemetry::check_level(&self.log.level) {
                report.contradiction(
                    &["level"],
                    error.to_string(),
                    "write a level, or `level,target=level`",
                );
            }
        });
        report.within("admin", |report| {
            if !self.admin.listen.ip().is_loopback() && self.admin.token.is_empty() {
                let what = "the admin server would be open to the network without a token";
                report.contradiction(
                    &["listen", "token"],
                    what,
                    "set admin.token, or listen on 127.0.0.1",
                );
            }
        });
        if let Some(traces) = &self.traces {
            report.within("traces", |report| traces.contradictions(report));
        }
        if let Some(gateway) = &self.gateway {
            report.within("gateway", |report| gateway.contradictions(report));
        }
        if let Some(edge) = &self.edge {
            let amnesia = self.amnesia;
            report.within("edge", |report| edge.contradictions(amnesia, report));
        }
        if let Some(transport) = &self.transport {
            let (has_gateway, opcodes) = (self.gateway.is_some(), bridge::opcodes());
            report.within("transport", |report| {
                transport.contradictions(has_gateway, &opcodes, report);
            });
        }
        if let Some(overlay) = &self.overlay {
            report.within("overlay", |report| overlay.contradictions(report));
        }
        if let Some(demo) = &self.demo {
            report.within("demo", |report| demo.contradictions(report));
        }
        places::twice(self, report);
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let below = |section: &'static str| {
            move |(key, path): (String, PathBuf)| (format!("{section}.{key}"), path)
        };
        let gateway = self.gateway.iter().flat_map(GatewayText::files);
        let edge = self.edge.iter().flat_map(EdgeText::files);
        let gateway = gateway.map(below("gateway"));
        gateway.chain(edge.map(below("edge"))).collect()
    }
}

impl TracesText {
    fn contradictions(&self, report: &mut Report) {
        if let Err(error) = kernel::telemetry::otlp::Endpoint::parse(&self.endpoint) {
            report.contradiction(
                &["endpoint"],
                error.to_string(),
                "write http://host:port/v1/traces",
            );
        }
    }
}

/// What a running node looks at; replaced as a whole by a reload.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How the node ends.
    pub(crate) drain: Plan,
    /// How it ends when a successor has taken over.
    pub(crate) handed_over: Plan,
    /// The admin token, if one is set.
    pub(crate) token: Option<Secret>,
    /// What the log holds.
    pub(crate) log_level: String,
    /// The gateway, if it is on.
    pub(crate) gateway: Option<Arc<GatewayText>>,
    /// The edge, if it is on.
    pub(crate) edge: Option<Arc<EdgeText>>,
    /// The transport, if it is on.
    pub(crate) transport: Option<Arc<TransportText>>,
    /// The overlay, if it is on.
    pub(crate) overlay: Option<Arc<OverlayText>>,
    /// The demonstration, if it is on.
    pub(crate) demo: Option<crate::demo::config::DemoSettings>,
}

impl From<&NodeText> for Settings {
    fn from(text: &NodeText) -> Self {
        let plan = |deadline_ms| Plan {
            accept_grace: Duration::from_millis(text.drain.accept_grace_ms),
            deadline: Duration::from_millis(deadline_ms),
        };
        Self {
            drain: plan(text.drain.deadline_ms),
            handed_over: plan(text.drain.handover_deadline_ms),
            token: (!text.admin.token.is_empty()).then(|| text.admin.token.clone()),
            log_level: text.log.level.clone(),
            gateway: text.gateway.clone().map(Arc::new),
            edge: text.edge.clone().map(Arc::new),
            transport: text.transport.clone().map(Arc::new),
            overlay: text.overlay.clone().map(Arc::new),
            demo: text.demo.as_ref().map(Into::into),
        }
    }
}

impl LogText {
    /// What the log is made with.
    pub(crate) fn settings(&self, terminal: bool) -> LogSettings {
        let format = match (self.format, terminal) {
            (LogFormat::Json, _) | (LogFormat::Auto, false) => Format::Json,
            (LogFormat::Human, _) | (LogFormat::Auto, true) => Format::Human,
        };
        LogSettings {
            format,
            level: self.level.clone(),
        }
    }
}

/// The patience of every door of this node.
pub(crate) fn door_limits(connections: usize) -> DoorLimits {
    let patience = Patience {
        head: limits::HEAD_TIMEOUT,
        idle: limits::IDLE_TIMEOUT,
        write: limits::WRITE_TIMEOUT,
    };
    DoorLimits {
        connections,
        patience,
    }
}

/// The config of a node that was given none.
const DEMONSTRATION: Source = Source::BuiltIn {
    name: "(built-in demonstration)",
    text: include_str!("demo/demonstration.toml"),
};

/// The config of a node that was given none and is to show the kernel alone.
const KERNEL: Source = Source::BuiltIn {
    name: "(built-in demonstration of the kernel)",
    text: "[demo]\n",
};

/// The config of `macronode proxy`, which sets the rest.
const PROXY: Source = Source::BuiltIn {
    name: "(built-in proxy)",
    text: "[gateway]\n",
};

/// The config of `macronode tiles`, which sets the rest. Who serves packs by hand asks for them at any rate.
const TILES: Source = Source::BuiltIn {
    name: "(built-in tiles)",
    text: "[edge.limits]\nrps = 0\n",
};

/// Where the config comes from.
pub(crate) fn source(args: &ConfigArgs) -> Source {
    match (&args.config, args.built_in) {
        (Some(path), _) => Source::File(path.clone()),
        (None, BuiltIn::Gateway) => DEMONSTRATION,
        (None, BuiltIn::Kernel) => KERNEL,
        (None, BuiltIn::Proxy) => PROXY,
        (None, BuiltIn::Tiles) => TILES,
    }
}

/// Loads the config, or says everything that is wrong with it.
pub(crate) fn load_config(args: &ConfigArgs) -> Result<Loaded<NodeText>, Mistakes> {
    let file = source(args).read()?;
    load(&Sources::process(Some(file), args.sets.clone()))
}

#[cfg(test)]
mod tests;
