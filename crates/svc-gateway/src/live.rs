//! What an operator sees of gates, and changes while the gateway runs; the next config sets it back.

use std::sync::atomic::Ordering;

use concurrency_gate::{KeyReport, Quantiles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::gates::GateKey;
use crate::gateway::Gateway;
use crate::shared::millis;

/// A value that is not what the config says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Override {
    /// `tenant-weight` or `gate-limit`.
    pub what: &'static str,
    /// Whose.
    pub name: String,
    /// What the config says.
    pub configured: u32,
    /// What holds until the next config is in force.
    pub now: u32,
}

/// Nothing of this name is in the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// A gate: how many may be inside at once, and wait.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GateView {
    /// What it is called: the route, where it is one's.
    pub gate: String,
    /// Requests that may be inside at once.
    pub limit: u32,
    /// Requests inside.
    pub inflight: u32,
    /// Requests waiting.
    pub waiting: u32,
    /// How many may wait.
    pub waiting_limit: u32,
    /// Those inside and waiting, in limits.
    pub pressure: f64,
    /// How long those who waited had to.
    pub waited: TimesView,
    /// How long they were inside.
    pub held: TimesView,
}

/// How long something took.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct TimesView {
    /// How many were measured.
    pub samples: u64,
    /// Half took no longer.
    pub p50_ms: f64,
    /// 99 of 100 took no longer.
    pub p99_ms: f64,
}

impl From<Quantiles> for TimesView {
    fn from(times: Quantiles) -> Self {
        Self {
            samples: times.samples,
            p50_ms: millis(times.p50),
            p99_ms: millis(times.p99),
        }
    }
}

impl Gateway {
    /// The gates of its routes, the hardest pressed first; of many, those only.
    pub fn gates(&self) -> Vec<GateView> {
        let plan = self.plan();
        let in_force = |key: &GateKey| plan.gates().any(|gate| gate.key == *key);
        let report = self.shared.gates.report();
        report
            .filter(|(key, _)| in_force(key))
            .map(|(key, report)| GateView::of(key.route, &report))
            .collect()
    }

    /// Gives a tenant of the config another weight, until the next config.
    pub fn set_weight(&self, tenant: &str, weight: u32) -> Result<Override, Unknown> {
        let plan = self.plan();
        let terms = plan.tenants.get(tenant).ok_or(Unknown)?;
        let configured = plan.text.tenants.get(tenant).ok_or(Unknown)?.weight;
        terms.weight.store(weight, Ordering::Relaxed);
        Ok(Override {
            what: "tenant-weight",
            name: tenant.to_owned(),
            configured,
            now: weight,
        })
    }

    /// Gives a route's gate another limit, until the next config. The limit must be one that a config may have.
    pub fn set_gate_limit(&self, route: &str, limit: u32) -> Result<Override, Unknown> {
        let plan = self.plan();
        let mut gates = plan.gates();
        let gate = gates.find(|gate| gate.key.route == route).ok_or(Unknown)?;
        gate.resize(limit).map_err(|_| Unknown)?;
        Ok(Override {
            what: "gate-limit",
            name: route.to_owned(),
            configured: gate.configured,
            now: limit,
        })
    }

    /// What is not as the config says.
    pub fn overrides(&self) -> Vec<Override> {
        let plan = self.plan();
        let weights = plan.text.tenants.iter().filter_map(|(name, text)| {
            let terms = plan.tenants.get(name)?;
            Some(Override {
                what: "tenant-weight",
                name: name.clone(),
                configured: text.weight,
                now: terms.weight.load(Ordering::Relaxed),
            })
        });
        let limits = plan.gates().map(|gate| Override {
            what: "gate-limit",
            name: gate.key.route.clone(),
            configured: gate.configured,
            now: gate.limit(),
        });
        let all = weights.chain(limits);
        all.filter(|one| one.now != one.configured).collect()
    }
}

impl GateView {
    /// A gate by its report.
    pub fn of<K>(gate: String, report: &KeyReport<K>) -> Self {
        Self {
            gate,
            limit: report.capacity,
            inflight: report.in_use,
            waiting: report.queued,
            waiting_limit: report.queue_max,
            pressure: report.pressure(),
            waited: report.wait.into(),
            held: report.hold.into(),
        }
    }
}

#[cfg(test)]
mod tests;
