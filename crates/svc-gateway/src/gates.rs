//! The gates of routes: how many requests of a route at once. They outlive configs that name them.

use std::ops::Deref;
use std::time::Duration;

use concurrency_gate::{Gate, GateConfig, GateError, KeyHandle, KeyReport, Lease, Limit, Whose};

use crate::config::RouteText;

/// Routes with a bound of their own. The config allows no more.
const GATES: usize = 10_000;

/// What a gate is known by: how many may wait is fixed for its life, how many may be inside is not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GateKey {
    pub(crate) route: String,
    pub(crate) waiting: u32,
}

/// A request's place in a gate.
pub(crate) type GateLease = Lease<'static, GateKey>;

/// All gates of the gateway.
pub(crate) struct Gates(Gate<GateKey>);

/// The gate of a route.
pub(crate) struct RouteGate {
    pub(crate) key: GateKey,
    /// How many may be inside, as configured.
    pub(crate) configured: u32,
    handle: KeyHandle<GateKey>,
}

impl Deref for RouteGate {
    type Target = KeyHandle<GateKey>;

    fn deref(&self) -> &KeyHandle<GateKey> {
        &self.handle
    }
}

impl Gates {
    pub(crate) fn new() -> Self {
        let config = GateConfig {
            keys_max: GATES,
            ..GateConfig::new(Limit::fixed(1))
        };
        Self(Gate::new(config).expect("the default limit is allowed"))
    }

    /// The gate of a route that has one. One that is known keeps its count, and its limit until it is renewed.
    pub(crate) fn of(
        &self,
        route: &str,
        text: &RouteText,
        now: Duration,
    ) -> Result<Option<RouteGate>, String> {
        let Some(configured) = text.inflight else {
            return Ok(None);
        };
        let key = GateKey {
            route: route.to_owned(),
            waiting: text.waiting.unwrap_or(0),
        };
        let limit = match key.waiting {
            0 => Limit::fixed(configured),
            waiting => Limit::fixed(configured).with_queue(waiting),
        };
        let handle = match self.0.register(key.clone(), limit) {
            Ok(handle) => handle,
            Err(GateError::Registered) => self.0.handle(&key, now),
            Err(error) => return Err(error.to_string()),
        };
        Ok(Some(RouteGate {
            key,
            configured,
            handle,
        }))
    }

    /// The hardest pressed gates, also those of configs gone by.
    pub(crate) fn report(&self) -> impl Iterator<Item = (GateKey, KeyReport<GateKey>)> {
        let keys = self.0.report().keys.into_iter();
        keys.filter_map(|report| match &report.whose {
            Whose::Key(key) => Some((key.clone(), report)),
            Whose::Shared(_) => None,
        })
    }
}

impl RouteGate {
    /// Takes the limit of the config, whatever it was before.
    pub(crate) fn renew(&self) {
        if let Err(error) = self.resize(self.configured) {
            tracing::error!(%error, route = self.key.route, "a gate keeps its limit");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(inflight: u32, waiting: Option<u32>) -> RouteText {
        RouteText {
            inflight: Some(inflight),
            waiting,
            ..RouteText::default()
        }
    }

    fn gate(gates: &Gates, text: &RouteText) -> RouteGate {
        let gate = gates.of("api", text, Duration::ZERO);
        gate.expect("a good limit").expect("a gate")
    }

    // req: GW-09
    #[test]
    fn a_gate_that_a_new_config_names_keeps_its_count_and_takes_the_new_limit() {
        let gates = Gates::new();
        let before = gate(&gates, &route(1, Some(4)));
        let lease = before.try_enter(Duration::ZERO).expect("room");
        let after = gate(&gates, &route(2, Some(4)));
        assert_eq!((after.in_flight(), after.limit()), (1, 1));
        after.renew();
        assert_eq!((before.in_flight(), before.limit()), (1, 2));
        drop(lease);
        assert_eq!(after.in_flight(), 0);
    }

    // req: GW-09
    #[test]
    fn who_may_wait_may_change_and_change_back() {
        let gates = Gates::new();
        for waiting in [None, Some(0), Some(3), None, Some(3)] {
            assert_eq!(gate(&gates, &route(2, waiting)).limit(), 2, "{waiting:?}");
        }
        assert_eq!(gates.report().count(), 2);
    }
}
