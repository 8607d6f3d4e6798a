//! A pool: its members, and the choice among them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use arc_swap::ArcSwap;
use fastrand::Rng;
use kernel::blocking::Blocking;
use kernel::clock;
use kernel::lock::Lock;
use kernel::metrics::Registry;
use kernel::tasks::TaskGroup;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::balance::{self, Field, Turns};
use crate::endpoint::{Common, Endpoint};
use crate::lease::Lease;
use crate::members::{Fleet, Members};
use crate::meters::Meters;
use crate::pick::Pick;
use crate::spec::{Balance, EndpointSpec, PoolSpec, Protocol};
use crate::tables;
use crate::tried::Tried;
use crate::view::PoolView;

/// Endpoints that requests are sent to.
pub struct Pool {
    members: Lock<Members>,
    fleet: ArcSwap<Fleet>,
    turns: Lock<Turns>,
    pub(crate) common: Common,
    pub(crate) tasks: TaskGroup,
    pub(crate) blocking: Blocking,
    pub(crate) changed: Changed,
}

/// Wakes the pool's child when there is something to find out.
#[derive(Default)]
pub(crate) struct Changed {
    pub(crate) names: Notify,
    pub(crate) endpoints: Notify,
}

/// Why nobody can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEndpoint {
    /// No name has an address yet, or there are no endpoints.
    #[error("no endpoint has an address")]
    NoneResolved,
    /// Active health has taken all out.
    #[error("no endpoint is healthy")]
    NoneHealthy,
    /// The breakers of all that are up are open.
    #[error("every endpoint has failed too often")]
    AllOpen {
        /// When the first of them may be tried again.
        retry_after: Duration,
    },
    /// All have as many connections as they may have.
    #[error("every endpoint has as many connections as it may have")]
    AllBusy,
}

impl Pool {
    /// A pool whose endpoints are there at once where they are addresses; names wait for [`Pool::run`].
    /// They are looked up on `blocking`.
    pub fn new(spec: PoolSpec, registry: &Registry, blocking: Blocking) -> Arc<Self> {
        let tasks = TaskGroup::new(registry);
        let common = Common {
            origin: clock::now(),
            meters: Meters::new(registry),
            tasks: tasks.kind(&tables::H2_TASK),
            guarded: Arc::default(),
            fleet: Arc::default(),
        };
        let mut members = Members::new(spec);
        let fleet = Arc::new(members.assemble(&Fleet::default(), &common));
        common.fleet.store(Arc::new(Arc::downgrade(&fleet)));
        Arc::new(Self {
            members: Lock::new(&tables::MEMBERS, members),
            fleet: ArcSwap::new(fleet),
            turns: Lock::new(&tables::TURNS, Turns::default()),
            common,
            tasks,
            blocking,
            changed: Changed::default(),
        })
    }

    /// Takes on another spec while requests run. Endpoints that stay keep connections, breaker and latency; what is
    /// under way at those that go comes to its end.
    pub fn update(&self, spec: PoolSpec) {
        self.change(|members| members.set_spec(spec));
        self.changed.names.notify_one();
        self.changed.endpoints.notify_one();
    }

    /// The endpoints of a spec that are names; all, or those never resolved.
    pub(crate) fn unresolved<'a>(
        &self,
        spec: &'a PoolSpec,
        only_new: bool,
    ) -> Vec<&'a EndpointSpec> {
        let members = self.members.lock();
        let wanted =
            |one: &&EndpointSpec| one.is_name() && !(only_new && members.addresses(one).is_some());
        spec.endpoints.iter().filter(wanted).collect()
    }

    /// Takes on what a name was resolved to.
    pub(crate) fn set_addresses(&self, endpoint: &EndpointSpec, addresses: Vec<SocketAddr>) {
        if self.members.lock().addresses(endpoint) == Some(&addresses) {
            return;
        }
        self.change(|members| members.set_addresses(endpoint, addresses));
        self.changed.endpoints.notify_one();
    }

    fn change(&self, edit: impl FnOnce(&mut Members)) {
        let mut members = self.members.lock();
        edit(&mut members);
        let before = self.fleet.load_full();
        let fleet = Arc::new(members.assemble(&before, &self.common));
        self.fleet.store(fleet.clone());
        let others = Arc::new(Arc::downgrade(&fleet));
        self.common.fleet.store(others);
        // Only now: who finds everybody gone looks again, and finds the others.
        fleet.dismiss(&before);
    }

    pub(crate) fn fleet(&self) -> arc_swap::Guard<Arc<Fleet>> {
        self.fleet.load()
    }

    /// The spec in force.
    pub fn spec(&self) -> Arc<PoolSpec> {
        self.fleet.load().spec.clone()
    }

    /// Chooses an endpoint for one try. `key` matters where balancing is by hash. Allocates nothing.
    pub fn pick(&self, now: Instant, key: Option<u64>, tried: &Tried) -> Result<Pick, NoEndpoint> {
        self.pick_for(now, key, tried, false)
    }

    /// As [`Pool::pick`], for who has chosen to wait for less time than an endpoint is to have. That this passes says
    /// nothing about the endpoint. Whether one is well again such a caller finds out only as long as no other comes.
    pub fn pick_in_haste(
        &self,
        now: Instant,
        key: Option<u64>,
        tried: &Tried,
    ) -> Result<Pick, NoEndpoint> {
        self.pick_for(now, key, tried, true)
    }

    #[inline]
    fn pick_for(
        &self,
        now: Instant,
        key: Option<u64>,
        tried: &Tried,
        hasty: bool,
    ) -> Result<Pick, NoEndpoint> {
        loop {
            let fleet = self.fleet.load();
            match self.pick_from(&fleet, now, key, tried, hasty) {
                Err(_) if self.is_replaced(&fleet) => {}
                picked => return picked,
            }
        }
    }

    /// Whether somebody could be chosen who has not been tried.
    pub fn has_another(&self, now: Instant, tried: &Tried) -> bool {
        let fleet = self.fleet.load();
        let view = View {
            fleet: &fleet,
            at: now.saturating_duration_since(self.common.origin),
            tried: Some(tried),
            unheard: false,
        };
        (0..view.len()).any(|index| view.share(index) > 0.0)
    }

    /// Whether there is anybody who may be asked. Who has all the connections it may have is only busy.
    pub fn may_be_asked(&self, now: Instant, hasty: bool) -> bool {
        let at = now.saturating_duration_since(self.common.origin);
        let fleet = self.fleet.load();
        fleet
            .endpoints
            .iter()
            .any(|one| one.may_be_asked(at, hasty))
    }

    /// How many requests can be under way at once at those that are well, where each needs a connection to itself.
    /// Those that are lent for long are nobody else's. Where no endpoint is well it is as if all were.
    pub fn room(&self) -> Option<usize> {
        let fleet = self.fleet.load();
        if fleet.spec.protocol != Protocol::Http1 || fleet.endpoints.is_empty() {
            return None;
        }
        let none_is_well = !fleet.endpoints.iter().any(|one| one.is_well());
        let counted = fleet
            .endpoints
            .iter()
            .filter(|one| none_is_well || one.is_well());
        Some(counted.map(|one| one.room()).fold(0, usize::saturating_add))
    }

    /// Whether another fleet is in force by now.
    #[cold]
    fn is_replaced(&self, fleet: &Arc<Fleet>) -> bool {
        fence(Ordering::Acquire);
        !Arc::ptr_eq(fleet, &self.fleet.load())
    }

    fn pick_from(
        &self,
        fleet: &Fleet,
        now: Instant,
        key: Option<u64>,
        tried: &Tried,
        hasty: bool,
    ) -> Result<Pick, NoEndpoint> {
        let at = now.saturating_duration_since(self.common.origin);
        if let Some(pick) = self.probe(fleet, now, at, tried, hasty) {
            return Ok(pick);
        }
        let mut view = View {
            fleet,
            at,
            tried: (!tried.is_empty()).then_some(tried),
            unheard: false,
        };
        let mut chosen = self.choose(&view, key);
        if chosen.is_none() && view.tried.take().is_some() {
            chosen = self.choose(&view, key);
        }
        if chosen.is_none() && fleet.spec.health.is_some() {
            view.unheard = true;
            chosen = self.choose(&view, key);
        }
        let Some(index) = chosen else {
            return Err(fleet.why_none(at));
        };
        let endpoint = fleet.endpoints[index].clone();
        let admission = endpoint.admit();
        Ok(Pick::new(
            Lease::new(endpoint, admission, now, hasty),
            tried.wants_fresh(),
        ))
    }

    /// Somebody has to find out whether an endpoint that failed is well again.
    fn probe(
        &self,
        fleet: &Fleet,
        now: Instant,
        at: Duration,
        tried: &Tried,
        hasty: bool,
    ) -> Option<Pick> {
        if self.common.guarded.load(Ordering::Relaxed) == 0 {
            return None;
        }
        fleet.endpoints.iter().find_map(|endpoint| {
            if tried.contains(endpoint.id) {
                return None;
            }
            let admission = endpoint.admit_probe(at, hasty)?;
            let lease = Lease::new(endpoint.clone(), admission, now, hasty);
            Some(Pick::new(lease, tried.wants_fresh()))
        })
    }

    fn choose(&self, view: &View<'_>, key: Option<u64>) -> Option<usize> {
        let fleet = view.fleet;
        if fleet.endpoints.len() < 2 {
            return (view.len() == 1 && view.share(0) > 0.0).then_some(0);
        }
        let load = |index: usize| balance::load(fleet.endpoints[index].in_flight());
        let cost = |index: usize| fleet.endpoints[index].cost(view.at);
        match fleet.spec.balance {
            Balance::RoundRobin => self.turns.lock().next(view),
            Balance::LeastRequest => balance::least(view, load, &mut Rng::new()),
            Balance::PeakEwma => {
                let rng = &mut Rng::new();
                let quick = fleet
                    .uniform
                    .then(|| balance::cheaper_of_two(view, cost, rng));
                quick
                    .flatten()
                    .or_else(|| balance::cheaper_by_share(view, cost, rng))
            }
            Balance::Hash => {
                let key = key.unwrap_or_else(|| fastrand::u64(..));
                balance::rendezvous(view, |index| fleet.endpoints[index].identity, key)
            }
        }
    }

    /// Keeps no connection from now on.
    pub(crate) fn close(&self) {
        for endpoint in &self.fleet.load().endpoints {
            endpoint.leave();
        }
    }

    /// What is to be seen of it now.
    pub fn view(&self) -> PoolView {
        let fleet = self.fleet.load();
        let at = clock::now().saturating_duration_since(self.common.origin);
        PoolView::of(&fleet, at)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
        self.tasks.cancel();
    }
}

/// The fleet as a balancer sees it.
struct View<'a> {
    fleet: &'a Fleet,
    at: Duration,
    tried: Option<&'a Tried>,
    /// Nobody is up, and those of whom nothing is known yet may be asked.
    unheard: bool,
}

impl Field for View<'_> {
    fn len(&self) -> usize {
        self.fleet.endpoints.len()
    }

    #[inline]
    fn share(&self, index: usize) -> f32 {
        let endpoint: &Endpoint = &self.fleet.endpoints[index];
        match self.tried {
            Some(tried) if tried.contains(endpoint.id) => 0.0,
            _ if self.unheard => endpoint.unheard_share(),
            _ => endpoint.share(self.at),
        }
    }
}

#[cfg(test)]
mod tests;
