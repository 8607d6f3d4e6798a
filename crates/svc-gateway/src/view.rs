//! The gateway at one moment, as the admin server shows it: tenants, routes, upstreams, and what fills them.

use std::collections::BTreeMap;
use std::time::Duration;

use fair_queue::{Snapshot, TenantView as Waiting};
use hashbrown::HashMap;
use kernel::admin::Route as AdminRoute;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use crate::backend::Backend;
use crate::gateway::Gateway;
use crate::ledger::{Account, KEPT, Whose};
use crate::metrics::CLASSES;
use crate::plan::{Plan, Route};
use crate::shared::millis;

/// Where the admin server shows it.
pub static PAGE: AdminRoute = AdminRoute::reads(
    "/gateway",
    "tenants, routes, upstreams and endpoints now: what `macronode top` shows; null where the gateway is off",
    schema,
);

fn schema() -> serde_json::Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Option<GatewayView>>();
    schema.to_value()
}

/// The gateway at one moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GatewayView {
    /// Requests in the node.
    pub inflight: u32,
    /// Requests that may be in it at once.
    pub inflight_limit: u32,
    /// Event streams and upgraded connections open.
    pub streams: i64,
    /// Tenants that had to wait or were refused, the busiest first. Only so many are kept.
    pub tenants: Vec<TenantView>,
    /// The routes.
    pub routes: Vec<RouteView>,
    /// The upstreams.
    pub upstreams: Vec<UpstreamView>,
}

/// A tenant, or an address without identity.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TenantView {
    /// Its name, or its address.
    pub tenant: String,
    /// Whether it has shown who it is.
    pub identified: bool,
    /// Its class.
    pub class: &'static str,
    /// Its weight in the class.
    pub weight: u32,
    /// Requests waiting, at all upstreams.
    pub waiting: usize,
    /// How long the oldest has waited.
    pub oldest_ms: f64,
    /// Requests that waited and then had a place, since it is listed.
    pub served_after_wait: u64,
    /// Refusals by reason, since it is listed.
    pub refused: BTreeMap<&'static str, u64>,
    /// Where it waits now.
    pub queues: Vec<ShareView>,
}

/// A tenant in the queue of an upstream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareView {
    /// The upstream.
    pub upstream: String,
    /// Requests waiting.
    pub waiting: usize,
    /// How long the oldest has waited.
    pub oldest_ms: f64,
    /// Its part of what its class was served since it began to wait, 0 to 1.
    pub share: f64,
    /// The part its weight gives it among those who wait, 0 to 1.
    pub due: f64,
}

/// A route.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RouteView {
    /// Its name.
    pub route: String,
    /// Requests answered.
    pub requests: u64,
    /// Answers by class of status.
    pub statuses: BTreeMap<&'static str, u64>,
    /// Requests at once; absent where the route has no bound of its own.
    pub inflight: Option<u32>,
    /// How many may be.
    pub limit: Option<u32>,
    /// Requests waiting for a place of the route.
    pub waiting: Option<u32>,
}

/// An upstream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UpstreamView {
    /// Its name.
    pub upstream: String,
    /// Requests it may have at once, now.
    pub limit: u32,
    /// Whether the limit is found from how long answers take.
    pub limit_found: bool,
    /// Requests it has.
    pub inflight: u32,
    /// Requests waiting for a place.
    pub waiting: usize,
    /// Places that come free each second while somebody waits, once measured.
    pub drain_per_second: Option<f64>,
    /// How long a request usually holds its place.
    pub usual_ms: f64,
    /// The classes.
    pub classes: Vec<ClassView>,
    /// The endpoints.
    pub endpoints: Vec<EndpointView>,
}

/// A class at an upstream.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClassView {
    /// Its name.
    pub class: String,
    /// Its weight.
    pub weight: u32,
    /// Requests with a place.
    pub inflight: usize,
    /// Requests waiting.
    pub waiting: usize,
    /// How long the oldest has waited.
    pub oldest_ms: f64,
}

/// An endpoint.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EndpointView {
    /// As configured.
    pub endpoint: String,
    /// Where that is.
    pub address: String,
    /// `up`, `down`, `open`, `half-open` or `ramping`.
    #[schemars(with = "String")]
    pub state: upstream::State,
    /// Its breaker.
    pub breaker: &'static str,
    /// Latency as the balancer sees it.
    pub ewma_ms: f32,
    /// Requests it is working on.
    pub inflight: u32,
    /// Its weight.
    pub weight: u32,
    /// The part of its weight it takes now, 0 to 1.
    pub share: f32,
    /// Connections without work.
    pub idle: usize,
    /// Connections with work.
    pub busy: usize,
    /// Failures so far.
    pub failures: u64,
}

impl Gateway {
    /// The gateway now. Walks over all that waits: for people and their tools, not for each request.
    pub fn view(&self) -> GatewayView {
        let plan = self.plan();
        let shared = &self.shared;
        let queues: Vec<_> = plan
            .backends
            .iter()
            .map(|backend| (&**backend, backend.body.slots.snapshot(KEPT)))
            .collect();
        GatewayView {
            inflight: shared.inflight(),
            inflight_limit: plan.inflight,
            streams: shared.metrics.streams.get(),
            tenants: tenants(&queues, shared.ledger.accounts()),
            routes: routes(&plan),
            upstreams: queues
                .iter()
                .map(|(backend, queue)| UpstreamView::of(backend, queue))
                .collect(),
        }
    }
}

fn tenants(queues: &[(&Backend, Snapshot)], accounts: Vec<(u64, Account)>) -> Vec<TenantView> {
    let mut shares: HashMap<u64, Vec<ShareView>> = HashMap::new();
    for (backend, queue) in queues {
        for waiting in &queue.tenants {
            let share = ShareView::of(&backend.name, waiting);
            shares.entry(waiting.tenant).or_default().push(share);
        }
    }
    let view = |(key, account): (u64, Account)| {
        let queues = shares.remove(&key).unwrap_or_default();
        let oldest = queues.iter().map(|queue| queue.oldest_ms);
        TenantView {
            tenant: match &account.whose {
                Whose::Tenant(identity) => identity.tenant.to_string(),
                Whose::Address(address) => address.to_string(),
            },
            identified: matches!(account.whose, Whose::Tenant(_)),
            class: CLASSES[usize::from(account.class.0).min(CLASSES.len() - 1)],
            weight: account.weight,
            waiting: queues.iter().map(|queue| queue.waiting).sum(),
            oldest_ms: oldest.fold(0.0, f64::max),
            served_after_wait: account.waited,
            refused: account.refused.into_iter().collect(),
            queues,
        }
    };
    accounts.into_iter().map(view).collect()
}

impl ShareView {
    fn of(upstream: &str, waiting: &Waiting) -> Self {
        Self {
            upstream: upstream.to_owned(),
            waiting: waiting.waiting,
            oldest_ms: millis(waiting.oldest),
            share: waiting.share,
            due: waiting.due,
        }
    }
}

fn routes(plan: &Plan) -> Vec<RouteView> {
    plan.router
        .targets()
        .map(|route| RouteView::of(route))
        .collect()
}

impl RouteView {
    fn of(route: &Route) -> Self {
        let statuses: BTreeMap<_, _> = route.metrics.statuses().collect();
        let gate = route.gate.as_ref();
        Self {
            route: route.name.clone(),
            requests: statuses.values().sum(),
            statuses,
            inflight: gate.map(|gate| gate.in_flight()),
            limit: gate.map(|gate| gate.limit()),
            waiting: gate.map(|gate| gate.waiting()),
        }
    }
}

impl UpstreamView {
    fn of(backend: &Backend, queue: &Snapshot) -> Self {
        let body = &backend.body;
        let class = |class: &fair_queue::ClassView| ClassView {
            class: class.name.clone(),
            weight: class.weight,
            inflight: class.inflight,
            waiting: class.waiting,
            oldest_ms: millis(class.oldest),
        };
        let endpoints = body.pool.view().endpoints;
        Self {
            upstream: backend.name.clone(),
            limit: body.slots.limit(),
            limit_found: body.slots.finds_limit(),
            inflight: body.slots.in_use(),
            waiting: queue.waiting,
            drain_per_second: queue.drain_per_second,
            usual_ms: millis(body.usual.get().min(Duration::from_secs(3600))),
            classes: queue.classes.iter().map(class).collect(),
            endpoints: endpoints.into_iter().map(EndpointView::of).collect(),
        }
    }
}

impl EndpointView {
    fn of(view: upstream::EndpointView) -> Self {
        Self {
            endpoint: view.endpoint,
            address: view.address,
            state: view.state,
            breaker: view.breaker,
            ewma_ms: view.ewma_ms,
            inflight: view.in_flight,
            weight: view.weight,
            share: view.share,
            idle: view.idle,
            busy: view.busy,
            failures: view.failures,
        }
    }
}
