//! Kernel events for whoever listens; a listener that falls behind reconciles from a snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::drain::Stage;
use crate::limits;
use crate::lock::{self, Lock};
use crate::metrics::{Counter, Kind, MetricSpec, Registry};
use crate::queue::{OnFull, QueueSpec};
use crate::readiness::State;

/// The event queue.
pub static BUS: QueueSpec = QueueSpec {
    name: "bus",
    capacity: limits::BUS_CAPACITY,
    on_full: OnFull::DropOldest,
    doc: "kernel events: supervisor, config, readiness → every subscriber; who lags reconciles",
};

/// Events a subscriber missed.
pub static LAGGED: MetricSpec = MetricSpec {
    name: "bus_lagged_total",
    kind: Kind::Counter,
    labels: &["service"],
    help: "Events a subscriber missed because it was slow; it reconciled from the snapshot",
};

/// Something the kernel tells everyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A service's readiness changed.
    Health {
        /// Which.
        service: &'static str,
        /// To what.
        state: State,
    },
    /// A new config is in force.
    ConfigUpdated {
        /// Its number; the one at start is 1.
        generation: u64,
    },
    /// A child ended that should not have.
    Crashed {
        /// Which.
        service: &'static str,
        /// Its last words.
        reason: Arc<str>,
    },
    /// The shutdown has come this far.
    Shutdown {
        /// How far.
        stage: Stage,
    },
}

/// What all events so far add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Readiness by service.
    pub health: BTreeMap<&'static str, State>,
    /// Crashes by service.
    pub crashes: BTreeMap<&'static str, u64>,
    /// Number of the config in force.
    pub config_generation: u64,
    /// How far the shutdown has come.
    pub stage: Stage,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            health: BTreeMap::new(),
            crashes: BTreeMap::new(),
            config_generation: 1,
            stage: Stage::Running,
        }
    }
}

impl Snapshot {
    /// Takes one event into account.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Health { service, state } => {
                self.health.insert(service, *state);
            }
            Event::ConfigUpdated { generation } => self.config_generation = *generation,
            Event::Crashed { service, .. } => *self.crashes.entry(service).or_default() += 1,
            Event::Shutdown { stage } => self.stage = *stage,
        }
    }
}

/// The bus; clones share it.
#[derive(Clone)]
pub struct Bus {
    sender: broadcast::Sender<Event>,
    /// Also orders publishing against subscribing: both happen under this lock.
    snapshot: Arc<Lock<Snapshot>>,
    registry: Registry,
}

impl Bus {
    /// A bus that keeps [`limits::BUS_CAPACITY`] events.
    pub fn new(registry: &Registry) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one broadcast channel, made from its QueueSpec"
        )]
        let (sender, _) = broadcast::channel(BUS.capacity);
        Self {
            sender,
            snapshot: Arc::new(Lock::new(&lock::BUS, Snapshot::default())),
            registry: registry.clone(),
        }
    }

    /// Tells everyone. Never waits.
    pub fn publish(&self, event: Event) {
        let mut snapshot = self.snapshot.lock();
        snapshot.apply(&event);
        // No subscriber is no fault.
        let _nobody = self.sender.send(event).is_err();
    }

    /// What all events so far add up to.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.lock().clone()
    }

    /// Listens from now on. The first notice is the snapshot.
    pub fn subscribe(&self, service: &'static str) -> Subscriber {
        let lagged = self.registry.counter(&LAGGED, &[service]);
        let receiver = self.sender.subscribe();
        Subscriber {
            bus: self.clone(),
            service,
            receiver,
            lagged,
            warned: false,
            reconcile: true,
        }
    }
}

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// One event.
    Event(Event),
    /// Forget what you think you know: this is the state.
    Reconcile(Snapshot),
}

/// One listener.
pub struct Subscriber {
    bus: Bus,
    service: &'static str,
    receiver: broadcast::Receiver<Event>,
    lagged: Counter,
    warned: bool,
    reconcile: bool,
}

impl Subscriber {
    /// Waits for the next notice. Cancel-safe.
    pub async fn next(&mut self) -> Notice {
        loop {
            if self.reconcile {
                return Notice::Reconcile(self.restart());
            }
            match self.receiver.recv().await {
                Ok(event) => return Notice::Event(event),
                Err(RecvError::Lagged(missed)) => self.fell_behind(missed),
                Err(RecvError::Closed) => unreachable!("this subscriber holds the bus"),
            }
        }
    }

    fn fell_behind(&mut self, missed: u64) {
        self.lagged.inc_by(missed);
        self.reconcile = true;
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                service = self.service,
                missed,
                "event subscriber lags; reconciling from the snapshot"
            );
        }
    }

    /// Listens anew and takes the snapshot in one step, so that no event is seen twice or not at all.
    fn restart(&mut self) -> Snapshot {
        let snapshot = self.bus.snapshot.lock();
        self.receiver = self.bus.sender.subscribe();
        self.reconcile = false;
        snapshot.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn drain(subscriber: &mut Subscriber, view: &mut Snapshot) {
        let soon = std::time::Duration::from_millis(1);
        while let Ok(notice) = tokio::time::timeout(soon, subscriber.next()).await {
            match notice {
                Notice::Event(event) => view.apply(&event),
                Notice::Reconcile(snapshot) => *view = snapshot,
            }
        }
    }

    // req: KN-12
    #[tokio::test(start_paused = true)]
    async fn a_subscriber_that_lags_counts_it_and_ends_with_the_true_state() {
        let registry = Registry::default();
        let bus = Bus::new(&registry);
        let (mut subscriber, mut view) = (bus.subscribe("slow"), Snapshot::default());
        drain(&mut subscriber, &mut view).await;
        for generation in 0..(limits::BUS_CAPACITY as u64 * 3) {
            bus.publish(Event::Crashed {
                service: "a",
                reason: "x".into(),
            });
            bus.publish(Event::ConfigUpdated { generation });
        }
        drain(&mut subscriber, &mut view).await;
        assert_eq!(view, bus.snapshot());
        assert!(registry.counter(&LAGGED, &["slow"]).get() >= limits::BUS_CAPACITY as u64);
    }

    // req: KN-12
    #[test]
    fn subscribers_that_read_at_random_always_end_with_the_true_state() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        testkit::sim::run("bus reconcile", 40, |rng| {
            runtime.block_on(async {
                let bus = Bus::new(&Registry::default());
                let (mut subscriber, mut view) = (bus.subscribe("random"), Snapshot::default());
                for generation in 0..rng.u64(0..4000) {
                    bus.publish(Event::ConfigUpdated { generation });
                    bus.publish(Event::Crashed {
                        service: "a",
                        reason: "x".into(),
                    });
                    if rng.u64(0..900) == 0 {
                        drain(&mut subscriber, &mut view).await;
                    }
                }
                drain(&mut subscriber, &mut view).await;
                assert_eq!(view, bus.snapshot());
            });
        });
    }
}
