//! Who is ready, and why not: one writer per service, snapshots for everyone else, closed on failure.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;

use crate::bus::{Bus, Event};
use crate::lock::{self, Lock};
use crate::metrics::{Gauge, Kind, MetricSpec, Registry};
use crate::queue::{self, OnFull, QueueSpec};

/// The cell that says "look again".
pub static CHANGES: QueueSpec = QueueSpec {
    name: "readiness",
    capacity: 1,
    on_full: OnFull::LastWriteWins,
    doc: "number of readiness changes so far: services → supervisor",
};

/// Readiness per service.
pub static READYZ_STATE: MetricSpec = MetricSpec {
    name: "readyz_state",
    kind: Kind::Gauge,
    labels: &["service"],
    help: "Readiness of a service: 0 unready, 1 degraded, 2 ready",
};
/// Dependencies that hold somebody up.
pub static DEPENDENCY_UNMET: MetricSpec = MetricSpec {
    name: "ready_dependency_unmet",
    kind: Kind::Gauge,
    labels: &["dep"],
    help: "1 while a service that others depend on is not ready",
};

/// How ready a service or the node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Does not serve.
    Unready = 0,
    /// Serves, but something is wrong.
    Degraded = 1,
    /// Serves.
    Ready = 2,
}

/// One service, for `/readyz` and status pages.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceReadiness {
    /// Its name.
    pub service: &'static str,
    /// Its state.
    pub state: State,
    /// Why it is not ready; empty when it is.
    pub reason: String,
    /// Whether the node serves nothing without it.
    pub essential: bool,
}

/// The node, for `/readyz`.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReadiness {
    /// Ready when all are; degraded when an inessential one is not, or any is degraded; else unready.
    pub state: State,
    /// Whether a shutdown has begun: then the node is unready whatever its services say.
    pub draining: bool,
    /// Each service.
    pub services: Vec<ServiceReadiness>,
}

/// The register of readiness; clones share it.
#[derive(Clone)]
pub struct Readiness {
    shared: Arc<Shared>,
}

struct Shared {
    inner: Lock<Inner>,
    changes: watch::Sender<u64>,
    bus: Bus,
    registry: Registry,
}

#[derive(Default)]
struct Inner {
    draining: bool,
    services: Vec<Service>,
}

struct Service {
    name: &'static str,
    essential: bool,
    /// Which start of the service may speak for it; a signal of an earlier start is ignored.
    incarnation: u64,
    signalled: State,
    reason: String,
    crash_loop: bool,
    gauge: Gauge,
    unmet: Option<Gauge>,
}

impl Service {
    fn state(&self) -> State {
        if self.crash_loop {
            self.signalled.min(State::Degraded)
        } else {
            self.signalled
        }
    }

    fn reason(&self) -> String {
        match (self.crash_loop, self.reason.is_empty()) {
            (true, true) => "restarted too often in the last minute".to_owned(),
            (true, false) => format!("{}; restarted too often in the last minute", self.reason),
            (false, _) => self.reason.clone(),
        }
    }
}

impl Readiness {
    /// Nobody yet.
    pub fn new(registry: &Registry, bus: &Bus) -> Self {
        let (changes, _) = queue::latest(&CHANGES, 0);
        let inner = Lock::new(&lock::READINESS, Inner::default());
        Self {
            shared: Arc::new(Shared {
                inner,
                changes,
                bus: bus.clone(),
                registry: registry.clone(),
            }),
        }
    }

    /// Adds a service, unready until it says otherwise.
    pub fn declare(&self, name: &'static str, essential: bool, depended_on: bool) {
        let gauge = self.shared.registry.gauge(&READYZ_STATE, &[name]);
        let unmet = depended_on.then(|| self.shared.registry.gauge(&DEPENDENCY_UNMET, &[name]));
        if let Some(unmet) = &unmet {
            unmet.set(1);
        }
        self.shared.inner.lock().services.push(Service {
            name,
            essential,
            incarnation: 0,
            signalled: State::Unready,
            reason: "not started".to_owned(),
            crash_loop: false,
            gauge,
            unmet,
        });
    }

    /// A service starts: only the returned signal speaks for it from now on.
    pub fn begin(&self, name: &'static str) -> ReadySignal {
        let mut incarnation = 0;
        self.change(name, |service| {
            service.incarnation += 1;
            incarnation = service.incarnation;
            service.signalled = State::Unready;
            service.reason = "starting".to_owned();
        });
        ReadySignal {
            readiness: self.clone(),
            name,
            incarnation,
        }
    }

    /// Says why a service that has ended is unready.
    pub fn ended(&self, name: &'static str, reason: String) {
        self.change(name, |service| {
            service.signalled = State::Unready;
            service.reason = reason;
        });
    }

    /// A service has done all it had to do: those who depend on it may go on.
    pub fn finished(&self, name: &'static str) {
        self.change(name, |service| {
            service.signalled = State::Ready;
            service.reason = String::new();
        });
    }

    /// Marks or unmarks a service as crashing in a loop: it counts as degraded at best.
    pub fn set_crash_loop(&self, name: &'static str, crash_loop: bool) {
        self.change(name, |service| service.crash_loop = crash_loop);
    }

    /// The node is going away: unready from now on.
    pub fn set_draining(&self) {
        self.shared.inner.lock().draining = true;
        self.shared.changes.send_modify(|count| *count += 1);
    }

    /// One service's state; unknown names are unready.
    pub fn of(&self, name: &str) -> State {
        let inner = self.shared.inner.lock();
        inner
            .services
            .iter()
            .find(|service| service.name == name)
            .map_or(State::Unready, Service::state)
    }

    /// The whole picture.
    pub fn snapshot(&self) -> NodeReadiness {
        let inner = self.shared.inner.lock();
        let services: Vec<_> = inner
            .services
            .iter()
            .map(|service| ServiceReadiness {
                service: service.name,
                state: service.state(),
                reason: service.reason(),
                essential: service.essential,
            })
            .collect();
        NodeReadiness {
            state: node_state(inner.draining, &services),
            draining: inner.draining,
            services,
        }
    }

    /// Counts changes; wait on it to look again.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    fn change(&self, name: &'static str, edit: impl FnOnce(&mut Service)) {
        let mut inner = self.shared.inner.lock();
        let Some(service) = inner
            .services
            .iter_mut()
            .find(|service| service.name == name)
        else {
            return;
        };
        let before = (service.state(), service.reason());
        edit(service);
        let state = service.state();
        if before == (state, service.reason()) {
            return;
        }
        service.gauge.set(state as i64);
        if let Some(unmet) = &service.unmet {
            unmet.set(i64::from(state == State::Unready));
        }
        if before.0 != state {
            // Under the lock, so that events come in the order of the changes.
            self.shared.bus.publish(Event::Health {
                service: name,
                state,
            });
        }
        self.shared.changes.send_modify(|count| *count += 1);
    }
}

fn node_state(draining: bool, services: &[ServiceReadiness]) -> State {
    if draining || services.is_empty() {
        return State::Unready;
    }
    let seen = |service: &ServiceReadiness| match (service.state, service.essential) {
        (State::Unready, false) => State::Degraded,
        (state, _) => state,
    };
    services.iter().map(seen).min().unwrap_or(State::Unready)
}

/// A service's voice. Dropping it means unready: silence never counts as readiness.
pub struct ReadySignal {
    readiness: Readiness,
    name: &'static str,
    incarnation: u64,
}

impl ReadySignal {
    /// Serves.
    pub fn ready(&self) {
        self.say(State::Ready, String::new());
    }

    /// Serves, but something is wrong.
    pub fn degraded(&self, reason: impl Into<String>) {
        self.say(State::Degraded, reason.into());
    }

    /// Does not serve.
    pub fn unready(&self, reason: impl Into<String>) {
        self.say(State::Unready, reason.into());
    }

    fn say(&self, state: State, reason: String) {
        self.readiness.change(self.name, |service| {
            if service.incarnation == self.incarnation {
                service.signalled = state;
                service.reason = reason;
            }
        });
    }
}

impl Drop for ReadySignal {
    fn drop(&mut self) {
        // Keeps a reason that says more than that it is gone.
        self.readiness.change(self.name, |service| {
            if service.incarnation == self.incarnation && service.signalled != State::Unready {
                service.signalled = State::Unready;
                service.reason = "its readiness signal was dropped".to_owned();
            }
        });
    }
}

#[cfg(test)]
mod tests;
