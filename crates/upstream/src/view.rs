//! A pool as people see it.

use std::time::Duration;

use concurrency_gate::BreakerState;
use serde::Serialize;

use crate::endpoint::Endpoint;
use crate::members::Fleet;

/// A pool, for status pages.
#[derive(Clone, Debug, Serialize)]
pub struct PoolView {
    /// Its name.
    pub name: String,
    /// Each endpoint.
    pub endpoints: Vec<EndpointView>,
}

/// One endpoint.
#[derive(Clone, Debug, Serialize)]
pub struct EndpointView {
    /// As configured.
    pub endpoint: String,
    /// Where that is.
    pub address: String,
    /// Whether it takes part.
    pub state: State,
    /// Its weight.
    pub weight: u32,
    /// The share of its weight it takes now.
    pub share: f32,
    /// Latency as the balancer sees it.
    pub ewma_ms: f32,
    /// Requests it is working on.
    pub in_flight: u32,
    /// Connections without work.
    pub idle: usize,
    /// Connections with work, upgraded ones included.
    pub busy: usize,
    /// Its breaker.
    pub breaker: &'static str,
    /// Failures so far.
    pub failures: u64,
}

/// Whether an endpoint takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It does.
    Up,
    /// Active health has taken it out, or does not know it yet.
    Down,
    /// It has failed too often.
    Open,
    /// Probes find out whether it is well again.
    HalfOpen,
    /// It takes a growing share.
    Ramping,
}

impl PoolView {
    pub(crate) fn of(fleet: &Fleet, at: Duration) -> Self {
        let endpoints = fleet.endpoints.iter();
        Self {
            name: fleet.spec.name.to_string(),
            endpoints: endpoints.map(|one| EndpointView::of(one, at)).collect(),
        }
    }
}

impl EndpointView {
    fn of(endpoint: &Endpoint, at: Duration) -> Self {
        let share = endpoint.share(at);
        let (breaker, failures) = endpoint.breaker();
        let (idle_shared, _) = endpoint.streams.counts();
        let idle = endpoint.idle.count() + idle_shared;
        let spec = &endpoint.target.spec;
        Self {
            endpoint: format!("{}://{}", spec.scheme, spec.authority()),
            address: endpoint.target.address.to_string(),
            state: state(endpoint, breaker),
            weight: endpoint.weight() as u32,
            share,
            ewma_ms: endpoint.latency().seconds(at) * 1000.0,
            in_flight: endpoint.in_flight(),
            idle,
            busy: endpoint.connections.open().saturating_sub(idle),
            breaker: breaker.as_str(),
            failures,
        }
    }
}

fn state(endpoint: &Endpoint, breaker: BreakerState) -> State {
    match breaker {
        _ if endpoint.is_down() => State::Down,
        BreakerState::Open => State::Open,
        BreakerState::HalfOpen => State::HalfOpen,
        BreakerState::Ramping => State::Ramping,
        BreakerState::Closed if endpoint.is_ramping() => State::Ramping,
        BreakerState::Closed => State::Up,
    }
}
