//! How many may ask the same of the overlay at once: one gate for each route.

use std::time::Duration;

use concurrency_gate::{Gate, GateConfig, KeyHandle, Limit, Whose};
use svc_gateway::GateView;

use super::reject::Refusal;
use super::request::Lease;
use super::routes::ROUTES;

/// How long one may wait for its turn.
const PATIENCE: Duration = Duration::from_millis(250);

/// The gates of the overlay's routes.
pub(crate) struct Gates {
    gate: Gate<&'static str>,
    /// In the order of the table.
    handles: Vec<KeyHandle<&'static str>>,
}

impl Gates {
    pub(crate) fn new() -> Self {
        let gate =
            Gate::new(GateConfig::new(Limit::fixed(1))).expect("the default limit is allowed");
        let handle = |route: &super::routes::Route| {
            let limit = Limit::fixed(route.at_once).with_queue(route.at_once);
            let limit = limit.with_wait_timeout(PATIENCE);
            gate.register(route.name, limit).expect("names differ")
        };
        let handles = ROUTES.iter().map(handle).collect();
        Self { gate, handles }
    }

    /// A place at the route, after a short wait if need be.
    pub(crate) async fn enter(&self, route: usize, now: Duration) -> Result<Lease, Refusal> {
        let entered = self.handles[route].enter_owned(now, None).await;
        entered.map_err(|_| Refusal::Busy)
    }

    /// All of them, the hardest pressed first.
    pub(crate) fn view(&self) -> Vec<GateView> {
        let keys = self.gate.report().keys.into_iter();
        let own = keys.filter_map(|report| match report.whose {
            Whose::Key(name) => Some(GateView::of(name.to_owned(), &report)),
            Whose::Shared(_) => None,
        });
        own.collect()
    }
}
