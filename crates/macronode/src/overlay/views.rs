//! What the overlay shows, in types of its own: the document is made from them, and the kernel may change behind them.

use std::collections::BTreeMap;

use kernel::clock;
use kernel::readiness::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use svc_edge::view::PackView;
use svc_gateway::view::{RouteView, TenantView, UpstreamView};
use svc_gateway::{GateView, Override};

use super::desk::Desk;

/// The node.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusView {
    pub(crate) version: &'static str,
    /// What kind of build it is.
    pub(crate) build: &'static str,
    pub(crate) pid: u32,
    pub(crate) uptime_s: u64,
    pub(crate) unix_time_s: u64,
    /// `running`, `draining`, `aborting` or `stopped`.
    pub(crate) node: &'static str,
    /// How far a shutdown has come; `running` while there is none.
    #[schemars(with = "String")]
    pub(crate) stage: kernel::drain::Stage,
    pub(crate) readiness: Readiness,
    pub(crate) config_generation: u64,
    /// Whether the gateway is on.
    pub(crate) gateway: bool,
    /// Whether the edge is on.
    pub(crate) edge: bool,
    /// Whether the transport is on.
    pub(crate) transport: bool,
    /// Where each door listens.
    pub(crate) doors: BTreeMap<&'static str, String>,
}

/// How ready something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Readiness {
    Unready,
    Degraded,
    Ready,
}

impl From<State> for Readiness {
    fn from(state: State) -> Self {
        match state {
            State::Unready => Readiness::Unready,
            State::Degraded => Readiness::Degraded,
            State::Ready => Readiness::Ready,
        }
    }
}

/// The services.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServicesView {
    pub(crate) services: Vec<ServiceView>,
}

/// A supervised service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServiceView {
    pub(crate) service: &'static str,
    /// `waiting`, `up`, `backoff` or `ended`.
    pub(crate) life: &'static str,
    /// Seconds since the node's start at which it came into this life.
    pub(crate) since_s: f64,
    /// Times it was started again.
    pub(crate) restarts: u64,
    /// Whether it restarts too often.
    pub(crate) crash_loop: bool,
    /// When it is told to end.
    #[schemars(with = "String")]
    pub(crate) phase: kernel::drain::Phase,
    pub(crate) readiness: Readiness,
    /// Why it is not ready; empty when it is.
    pub(crate) reason: String,
    /// Whether the node serves nothing without it.
    pub(crate) essential: bool,
}

/// Who is ready.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReadinessView {
    pub(crate) readiness: Readiness,
    /// Whether a shutdown has begun: then the node is unready whatever its services say.
    pub(crate) draining: bool,
    pub(crate) services: Vec<ServiceReadinessView>,
}

/// Whether a service is ready.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServiceReadinessView {
    pub(crate) service: &'static str,
    pub(crate) readiness: Readiness,
    /// Why it is not ready; empty when it is.
    pub(crate) reason: String,
    /// Whether the node serves nothing without it.
    pub(crate) essential: bool,
}

/// The queues.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueuesView {
    pub(crate) queues: Vec<QueueView>,
}

/// A queue.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueueView {
    pub(crate) queue: &'static str,
    pub(crate) depth: usize,
    pub(crate) capacity: usize,
    /// Items dropped so far.
    pub(crate) dropped: u64,
    /// Newcomers refused so far.
    pub(crate) refused: u64,
}

/// The gates.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GatesView {
    /// Of the gateway's routes; these can be set.
    pub(crate) gates: Vec<GateView>,
    /// Of the transport's opcodes, as `transport:APP_PROTO:OPCODE`; these can be set, too.
    pub(crate) transport: Vec<GateView>,
    /// Of the overlay itself.
    pub(crate) overlay: Vec<GateView>,
}

/// The tenants.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TenantsView {
    /// Those that had to wait or were refused, the busiest first. Only so many are kept.
    pub(crate) tenants: Vec<TenantView>,
}

/// The routes of the gateway.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RoutesView {
    pub(crate) routes: Vec<RouteView>,
}

/// The upstreams of the gateway.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EndpointsView {
    pub(crate) upstreams: Vec<UpstreamView>,
}

/// The packs of the edge.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PacksView {
    pub(crate) packs: Vec<PackView>,
}

/// The config in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigView {
    /// Its number; the one at start is 1.
    pub(crate) generation: u64,
    /// Where it comes from; absent: it is built in.
    pub(crate) file: Option<String>,
    /// Reloads tried so far.
    pub(crate) reloads: u64,
    /// `applied`, `unchanged`, `invalid` or `refused`; empty before the first reload.
    pub(crate) last_result: &'static str,
    /// What was wrong at the last reload, whole, when something was.
    pub(crate) last_error: String,
    /// What was set by hand and holds until the next config is in force.
    pub(crate) overrides: Vec<Override>,
    /// Everything, defaults included, secrets masked.
    pub(crate) config: Value,
}

impl Desk {
    pub(crate) fn status(&self) -> StatusView {
        let doors = self.doors.iter();
        StatusView {
            version: crate::VERSION,
            build: crate::BUILD,
            pid: std::process::id(),
            uptime_s: self.kernel.timeline.now().as_secs(),
            unix_time_s: clock::unix_time().as_secs(),
            node: self.kernel.board.load().node,
            stage: self.kernel.shutdown.stage(),
            readiness: self.kernel.readiness.snapshot().state.into(),
            config_generation: self.reloader.status().generation,
            gateway: self.gateway.is_some(),
            edge: self.edge.is_some(),
            transport: self.transport.is_some(),
            doors: doors
                .map(|(name, address)| (*name, address.to_string()))
                .collect(),
        }
    }

    pub(crate) fn readiness(&self) -> ReadinessView {
        let node = self.kernel.readiness.snapshot();
        let services = node.services.into_iter();
        ReadinessView {
            readiness: node.state.into(),
            draining: node.draining,
            services: services
                .map(|service| ServiceReadinessView {
                    service: service.service,
                    readiness: service.state.into(),
                    reason: service.reason,
                    essential: service.essential,
                })
                .collect(),
        }
    }

    pub(crate) fn services(&self) -> ServicesView {
        let said = self.readiness().services;
        let board = self.kernel.board.load();
        let service = |child: &kernel::supervisor::ChildStatus| {
            let said = said.iter().find(|said| said.service == child.name);
            ServiceView {
                service: child.name,
                life: child.life,
                since_s: child.since_s,
                restarts: child.restarts,
                crash_loop: child.crash_loop,
                phase: child.phase,
                readiness: said.map_or(Readiness::Unready, |said| said.readiness),
                reason: said.map(|said| said.reason.clone()).unwrap_or_default(),
                essential: said.is_some_and(|said| said.essential),
            }
        };
        ServicesView {
            services: board.children.iter().map(service).collect(),
        }
    }

    pub(crate) fn queues(&self) -> QueuesView {
        let queues = self.kernel.queues.status().into_iter();
        QueuesView {
            queues: queues
                .map(|queue| QueueView {
                    queue: queue.name,
                    depth: queue.depth,
                    capacity: queue.capacity,
                    dropped: queue.dropped,
                    refused: queue.refused,
                })
                .collect(),
        }
    }

    pub(crate) fn tenants(&self) -> TenantsView {
        let gateway = self.gateway.as_ref();
        TenantsView {
            tenants: gateway.map_or_else(Vec::new, |gateway| gateway.view().tenants),
        }
    }

    pub(crate) fn routes(&self) -> RoutesView {
        let gateway = self.gateway.as_ref();
        RoutesView {
            routes: gateway.map_or_else(Vec::new, |gateway| gateway.view().routes),
        }
    }

    pub(crate) fn endpoints(&self) -> EndpointsView {
        let gateway = self.gateway.as_ref();
        EndpointsView {
            upstreams: gateway.map_or_else(Vec::new, |gateway| gateway.view().upstreams),
        }
    }

    pub(crate) fn packs(&self) -> PacksView {
        let edge = self.edge.as_ref();
        PacksView {
            packs: edge.map_or_else(Vec::new, |edge| edge.view().packs),
        }
    }

    pub(crate) fn config(&self) -> ConfigView {
        let (status, gateway) = (self.reloader.status(), self.gateway.as_ref());
        let by_hand = gateway.map_or_else(Vec::new, |gateway| gateway.overrides());
        ConfigView {
            generation: status.generation,
            file: status.file.map(|file| file.display().to_string()),
            reloads: status.reloads,
            last_result: status.last_result,
            last_error: status.last_error,
            overrides: by_hand.into_iter().chain(self.limits_set()).collect(),
            config: self.reloader.document(),
        }
    }
}
