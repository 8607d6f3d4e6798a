//! The demonstration's config.

use std::net::SocketAddr;
use std::time::Duration;

use kernel::limits;
use kernel::pool::PoolSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::Report;

/// The embedded demonstration.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DemoText {
    /// Where it listens.
    #[schemars(extend("x-reload" = "restart", "x-allowed" = "IP:PORT, such as 127.0.0.1:8080 or [::1]:8080"))]
    pub(crate) listen: SocketAddr,
    /// Connections at once; more wait.
    #[schemars(range(min = 1, max = 100_000), extend("x-reload" = "restart"))]
    pub(crate) max_connections: usize,
    /// Workers of the pool.
    #[schemars(range(min = 1, max = 512), extend("x-reload" = "restart"))]
    pub(crate) workers: usize,
    /// Units each worker runs at once.
    #[schemars(range(min = 1, max = 512), extend("x-reload" = "restart"))]
    pub(crate) units_per_worker: usize,
    /// Time a request may take in all, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    pub(crate) deadline_ms: u64,
    /// Units a second that the demonstration hands in by itself; 0: none.
    #[schemars(range(min = 0, max = 100_000))]
    pub(crate) rate: u64,
    /// Time between crashes of a child that panics on purpose, in milliseconds, drawn at random; 0: never.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub(crate) crash_every_ms: u64,
    /// The gateway's demonstration; absent: off.
    pub(crate) crowd: Option<CrowdText>,
}

/// A small origin, and three tenants that ask too much of it through the gateway.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CrowdText {
    /// Where the origin listens; the gateway's endpoint `http://demo.origin` means it.
    #[schemars(extend("x-reload" = "restart", "x-allowed" = "IP:PORT, such as 127.0.0.1:8080 or [::1]:8080"))]
    pub(crate) origin: SocketAddr,
    /// Requests the origin works on at once; more wait, first come first served.
    #[schemars(range(min = 1, max = 64), extend("x-reload" = "restart"))]
    pub(crate) places: u32,
    /// Time it works on each, in milliseconds.
    #[schemars(range(min = 10, max = 10_000), extend("x-reload" = "restart"))]
    pub(crate) service_ms: u64,
    /// How many times what the origin can do the tenant `noisy` asks for; 0: nobody asks for anything.
    #[schemars(range(min = 0, max = 10))]
    pub(crate) noise: u32,
}

impl Default for CrowdText {
    fn default() -> Self {
        Self {
            origin: SocketAddr::from(([127, 0, 0, 1], 8620)),
            places: 8,
            service_ms: 100,
            noise: 3,
        }
    }
}

impl CrowdText {
    /// Requests a second the origin can answer.
    pub(crate) fn capacity(&self) -> f64 {
        f64::from(self.places) * 1_000.0 / self.service_ms as f64
    }
}

impl Default for DemoText {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8600)),
            max_connections: 4096,
            workers: 4,
            units_per_worker: 16,
            deadline_ms: 2_000,
            rate: 200,
            crash_every_ms: 15_000,
            crowd: None,
        }
    }
}

impl DemoText {
    pub(crate) fn contradictions(&self, report: &mut Report) {
        let units = self.workers.saturating_mul(self.units_per_worker);
        if units > limits::WORK_QUEUE {
            let what = format!(
                "{units} units at once are more than {} that can be put back",
                limits::WORK_QUEUE
            );
            report.contradiction(&["workers", "units_per_worker"], what, "lower one of them");
        }
    }

    /// The size of the pool.
    pub(crate) fn pool_size(&self) -> PoolSize {
        PoolSize {
            workers: self.workers,
            units_per_worker: self.units_per_worker,
        }
    }
}

/// What the running demonstration looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DemoSettings {
    /// Time a request may take.
    pub(crate) deadline: Duration,
    /// Units a second it hands in by itself.
    pub(crate) rate: u64,
    /// Mean time between crashes on purpose.
    pub(crate) crash_every: Option<Duration>,
    /// How many times the origin's capacity the noisy tenant asks for.
    pub(crate) noise: u32,
}

impl From<&DemoText> for DemoSettings {
    fn from(text: &DemoText) -> Self {
        Self {
            deadline: Duration::from_millis(text.deadline_ms),
            rate: text.rate,
            crash_every: (text.crash_every_ms > 0)
                .then(|| Duration::from_millis(text.crash_every_ms)),
            noise: text.crowd.as_ref().map_or(0, |crowd| crowd.noise),
        }
    }
}
