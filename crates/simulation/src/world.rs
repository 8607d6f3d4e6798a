//! What everybody in a simulation shares.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use kernel::Kernel;
use tokio::time::Instant;

use crate::ledger::Ledger;
use crate::network::Net;
use crate::origin::Mood;

/// How long after a fault everything has to be well again.
const SETTLED: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) net: Net,
    pub(crate) kernel: Kernel,
    pub(crate) config: Arc<ArcSwap<String>>,
    pub(crate) began: Instant,
    /// Whether origins do what they must not.
    pub(crate) broken: bool,
    books: Mutex<Ledger>,
    state: Mutex<State>,
}

/// What goes on.
pub(crate) struct State {
    pub(crate) moods: HashMap<SocketAddr, Mood>,
    /// Faults at the moment.
    troubles: usize,
    /// When the last one ended.
    calm_since: Instant,
    /// Whether the node was told to end.
    pub(crate) draining: bool,
    /// When workers were killed last.
    pub(crate) last_kill: Option<Instant>,
    /// Requests that may be done once, by their ids, and how often they were.
    pub(crate) once: HashMap<u64, u32>,
    pub(crate) next_id: u64,
}

impl State {
    /// Whether a worker may have died with a request that began then.
    pub(crate) fn was_killing(&self, began: Instant) -> bool {
        self.last_kill.is_some_and(|killed| killed >= began)
    }
}

pub(crate) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(
        net: Net,
        kernel: Kernel,
        config: Arc<ArcSwap<String>>,
        broken: bool,
    ) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            net,
            kernel,
            config,
            began: now,
            broken,
            books: Mutex::default(),
            state: Mutex::new(State {
                moods: HashMap::new(),
                troubles: 0,
                calm_since: now,
                draining: false,
                last_kill: None,
                once: HashMap::new(),
                next_id: 0,
            }),
        })
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Ledger> {
        locked(&self.books)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Milliseconds since the beginning.
    pub(crate) fn at_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    pub(crate) fn violated(&self, what: impl std::fmt::Display) {
        let at = self.began.elapsed().as_secs_f64();
        self.books().violated(format!("at {at:.3} s: {what}"));
    }

    /// Something is wrong until the returned value is dropped.
    pub(crate) fn trouble(self: &Arc<Self>) -> Trouble {
        self.state().troubles += 1;
        Trouble(self.clone())
    }

    /// Whether all has been well from `since`, settled by then, until now.
    pub(crate) fn was_calm(&self, since: Instant) -> bool {
        let state = self.state();
        state.troubles == 0 && since >= state.calm_since + SETTLED
    }
}

pub(crate) struct Trouble(Arc<World>);

impl Drop for Trouble {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.troubles -= 1;
        state.calm_since = Instant::now();
    }
}
