//! A pool's life as a child of the supervisor: names resolved again, endpoints asked how they are, connections swept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use kernel::clock;
use kernel::tree::{Context, Failure};

use crate::channel;
use crate::endpoint::{Endpoint, EndpointId};
use crate::health::{self, Streak};
use crate::pool::Pool;
use crate::resolve::resolve;
use crate::spec::{EndpointSpec, Health};

/// How often idle connections are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// How often endpoints that could not be connected to are tried again.
const REACH_EVERY: Duration = Duration::from_millis(250);
/// How long who does nothing at the moment waits to see whether that has changed.
const AT_REST: Duration = Duration::from_secs(3600);

/// How a pool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has somebody to send requests to.
    Well,
    /// It has nobody, for this reason.
    Lacking(&'static str),
}

impl Pool {
    /// Lives until told to end. Ready when every name has been looked up and every endpoint asked once.
    pub async fn run(self: Arc<Self>, context: Context) -> Result<(), Failure> {
        let ready = &context.ready;
        let say = |standing: Standing| match standing {
            Standing::Well => ready.ready(),
            Standing::Lacking(what) => ready.degraded(what),
        };
        tokio::select! {
            () = context.told_to_end() => {}
            () = self.tend(say) => {}
        }
        self.end().await;
        Ok(())
    }

    /// Looks after the endpoints for as long as it is polled, and says how they stand once that is known.
    pub async fn tend(&self, say: impl Fn(Standing)) {
        let known = Known::default();
        tokio::select! {
            () = self.keep_resolving(&known, &say) => {}
            () = self.keep_asking(&known, &say) => {}
            () = self.keep_sweeping(&known, &say) => {}
        }
    }

    /// Waits until one of the endpoints has taken a connection, TLS included.
    pub async fn reach(&self) {
        loop {
            let fleet = self.fleet().clone();
            let until = clock::now() + fleet.spec.connect_timeout;
            let opened = fleet.endpoints.iter().map(|one| channel::open(one, until));
            if join_all(opened).await.iter().any(Result::is_ok) {
                return;
            }
            tokio::time::sleep(REACH_EVERY).await;
        }
    }

    /// Closes what is unused and ends its tasks.
    pub async fn end(&self) {
        self.close();
        self.tasks.cancel();
        self.tasks.idle().await;
    }

    async fn keep_resolving(&self, known: &Known, say: &impl Fn(Standing)) {
        let mut only_new = false;
        loop {
            self.resolve_names(only_new).await;
            known.names.store(true, Ordering::Relaxed);
            self.say(known, say);
            let every = jittered(self.spec().dns_every);
            tokio::select! {
                () = tokio::time::sleep(every) => only_new = false,
                () = self.changed.names.notified() => only_new = true,
            }
        }
    }

    async fn resolve_names(&self, only_new: bool) {
        let spec = self.spec();
        let names: Vec<&EndpointSpec> = self.unresolved(&spec, only_new);
        let look_up = |endpoint| resolve(endpoint, &spec, &self.blocking, &self.common.meters);
        let found = join_all(names.iter().copied().map(look_up)).await;
        for (endpoint, addresses) in names.into_iter().zip(found) {
            if let Some(addresses) = addresses {
                self.set_addresses(endpoint, addresses);
            }
        }
    }

    async fn keep_asking(&self, known: &Known, say: &impl Fn(Standing)) {
        let mut streaks = HashMap::new();
        let mut only_new = false;
        loop {
            let health = self.spec().health.clone();
            if let Some(health) = &health {
                self.ask_endpoints(health, &mut streaks, only_new).await;
            }
            known.health.store(true, Ordering::Relaxed);
            self.say(known, say);
            let every = health.map_or(AT_REST, |health| jittered(health.every));
            tokio::select! {
                () = tokio::time::sleep(every) => only_new = false,
                () = self.changed.endpoints.notified() => only_new = true,
            }
        }
    }

    async fn ask_endpoints(
        &self,
        health: &Health,
        streaks: &mut HashMap<EndpointId, Streak>,
        only_new: bool,
    ) {
        let fleet = self.fleet().clone();
        streaks.retain(|id, _| fleet.endpoints.iter().any(|one| one.id == *id));
        let unheard = |one: &&Arc<Endpoint>| !only_new || !streaks.contains_key(&one.id);
        let asked: Vec<_> = fleet.endpoints.iter().filter(unheard).collect();
        let answers = join_all(asked.iter().map(|one| health::ask(one, health))).await;
        for (endpoint, answer) in asked.into_iter().zip(answers) {
            // One that was up before health was asked for has something to lose.
            let fresh = if endpoint.is_down() {
                Streak::default()
            } else {
                Streak::standing(true)
            };
            let streak = streaks.entry(endpoint.id).or_insert(fresh);
            if let Some(up) = answer.and_then(|good| streak.hear(good, health)) {
                self.set_up(endpoint, up);
            }
        }
    }

    fn set_up(&self, endpoint: &Endpoint, up: bool) {
        let (pool, address) = (&self.spec().name, endpoint.target.address);
        let meters = &self.common.meters;
        if up {
            meters.up.inc();
            tracing::info!(%pool, %address, "the endpoint is up");
        } else {
            meters.down.inc();
            tracing::warn!(%pool, %address, "the endpoint is down");
        }
        endpoint.set_up(up, endpoint.since_start(clock::now()));
    }

    async fn keep_sweeping(&self, known: &Known, say: &impl Fn(Standing)) {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            // Breakers open and close by what becomes of requests, and tell nobody.
            self.say(known, say);
            let (now, idle_time) = (clock::now(), self.spec().idle_time);
            for endpoint in &self.fleet().endpoints {
                let mut at = Some(0);
                while let Some(from) = at {
                    at = endpoint.idle.sweep(from, now, idle_time);
                    // There may be thousands to close, and others have work to do.
                    tokio::task::yield_now().await;
                }
                endpoint.streams.sweep(now, idle_time);
            }
        }
    }

    fn say(&self, known: &Known, say: &impl Fn(Standing)) {
        if !known.names.load(Ordering::Relaxed) || !known.health.load(Ordering::Relaxed) {
            return;
        }
        let fleet = self.fleet();
        if fleet.endpoints.is_empty() && !fleet.spec.endpoints.is_empty() {
            say(Standing::Lacking("no endpoint has an address"));
        } else if !fleet.endpoints.is_empty() && fleet.endpoints.iter().all(|one| one.is_down()) {
            say(Standing::Lacking("no endpoint is healthy"));
        } else if !fleet.endpoints.is_empty() && fleet.endpoints.iter().all(|one| one.is_shut()) {
            // Only a request finds one well again.
            say(Standing::Lacking(
                "every endpoint is left alone by its breaker",
            ));
        } else {
            say(Standing::Well);
        }
    }
}

/// What has been found out at least once.
#[derive(Default)]
struct Known {
    names: AtomicBool,
    health: AtomicBool,
}

/// A tenth more or less, so that pools and nodes do not ask all at once.
fn jittered(every: Duration) -> Duration {
    every.mul_f64(0.9 + 0.2 * fastrand::f64())
}

#[cfg(test)]
mod tests;
