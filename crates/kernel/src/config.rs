//! The config in force, and how a new one takes its place: whole, checked, or not at all.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::Serialize;
use strict_config::{
    ConfigText, Loaded, Mistakes, SourceFile, Sources, load, read_file, restart_needed,
};
use tokio::time::MissedTickBehavior;

use crate::Kernel;
use crate::blocking::Blocking;
use crate::bus::Event;
use crate::limits;
use crate::lock::{self, Lock};
use crate::metrics::{Counter, Gauge, Kind, MetricSpec, Registry};
use crate::queue::{self, OnFull, QueueSpec, Receiver, Sender};
use crate::tree::{Context, Failure};
use watch::Lookout;

mod watch;

/// The queue of reload requests.
pub static UPDATES: QueueSpec = QueueSpec {
    name: "cfg_updates",
    capacity: limits::CONFIG_QUEUE,
    on_full: OnFull::Coalesce,
    doc: "requests to reload the config: file watch, SIGHUP, operators → config child",
};

/// Reloads by result.
pub static RELOADS: MetricSpec = MetricSpec {
    name: "config_reloads_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Config reloads: applied, unchanged, invalid (the old one stays), refused (needs a restart)",
};
/// Requests that were folded into another.
pub static COALESCED: MetricSpec = MetricSpec {
    name: "config_coalesced_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Reload requests that were answered by the reload of a later one",
};
/// The config's number.
pub static GENERATION: MetricSpec = MetricSpec {
    name: "config_generation",
    kind: Kind::Gauge,
    labels: &[],
    help: "Number of the config in force; the one at start is 1",
};

/// One whole config: nobody ever sees half of one and half of another.
#[derive(Debug)]
pub struct Snapshot<S> {
    /// Its number; the one at start is 1.
    pub generation: u64,
    /// The settings.
    pub settings: S,
}

impl<S> Deref for Snapshot<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.settings
    }
}

/// Reads the config in force; clones read the same.
#[derive(Debug)]
pub struct Live<S> {
    current: Arc<ArcSwap<Snapshot<S>>>,
}

impl<S> Clone for Live<S> {
    fn clone(&self) -> Self {
        Self {
            current: self.current.clone(),
        }
    }
}

impl<S> Live<S> {
    /// With the settings of the start.
    pub fn new(settings: S) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(Snapshot {
                generation: 1,
                settings,
            })),
        }
    }

    /// The config in force now. Take it once per request and keep to it.
    pub fn load(&self) -> impl Deref<Target = Arc<Snapshot<S>>> {
        self.current.load()
    }
}

/// Asks for a reload; many requests in short time are one.
#[derive(Clone)]
pub struct ReloadRequests {
    sender: Sender<()>,
}

impl ReloadRequests {
    /// Asks.
    pub fn request(&self) {
        // Closed means the node is ending: there is nothing to reload for.
        let _ending = self.sender.try_send(()).is_err();
    }
}

/// Makes the way to ask, and the end the config child listens at.
pub fn reload_requests(kernel: &Kernel) -> (ReloadRequests, Receiver<()>) {
    let (sender, receiver) = queue::bounded(&UPDATES, &kernel.queues);
    (ReloadRequests { sender }, receiver)
}

/// What came of the last reload, for status pages.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReloadStatus {
    /// Where the config comes from.
    pub file: Option<PathBuf>,
    /// Number of the config in force.
    pub generation: u64,
    /// Reloads tried so far.
    pub reloads: u64,
    /// applied, unchanged, invalid or refused; empty before the first.
    pub last_result: &'static str,
    /// What was wrong, whole, when something was.
    pub last_error: String,
}

struct Results {
    applied: Counter,
    unchanged: Counter,
    invalid: Counter,
    refused: Counter,
    coalesced: Counter,
    generation: Gauge,
}

impl Results {
    fn new(registry: &Registry) -> Self {
        let result = |result| registry.counter(&RELOADS, &[result]);
        let results = Self {
            applied: result("applied"),
            unchanged: result("unchanged"),
            invalid: result("invalid"),
            refused: result("refused"),
            coalesced: registry.counter(&COALESCED, &[]),
            generation: registry.gauge(&GENERATION, &[]),
        };
        results.generation.set(1);
        results
    }
}

/// Where the config comes from, now and at each reload.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file that is watched.
    File(PathBuf),
    /// A text that is part of the program, under this name.
    BuiltIn {
        /// What mistakes in it are reported under.
        name: &'static str,
        /// The text.
        text: &'static str,
    },
}

impl Source {
    /// Reads it.
    pub fn read(&self) -> Result<SourceFile, Mistakes> {
        match self {
            Source::File(path) => read_file(path),
            Source::BuiltIn { name, text } => Ok(SourceFile::new(*name, *text)),
        }
    }

    fn read_settled(&self) -> Result<SourceFile, Mistakes> {
        match self {
            Source::File(path) => read_settled(path),
            Source::BuiltIn { .. } => self.read(),
        }
    }

    fn file(&self) -> Option<&PathBuf> {
        match self {
            Source::File(path) => Some(path),
            Source::BuiltIn { .. } => None,
        }
    }
}

/// Replaces the config in force when its sources change.
pub struct Reloader<C: ConfigText, S> {
    source: Source,
    sets: Vec<String>,
    loaded: Lock<Loaded<C>>,
    live: Live<S>,
    settings: fn(&C) -> S,
    applied: Arc<dyn Fn(&S) + Send + Sync>,
    status: Lock<ReloadStatus>,
    results: Results,
}

enum Verdict<C> {
    Applied(Loaded<C>, Vec<String>),
    Unchanged,
    Invalid(String),
    Refused(String),
}

impl<C, S> Reloader<C, S>
where
    C: ConfigText + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Takes over from the load at start; `applied` is called with each new config after it is in force.
    pub fn new(
        kernel: &Kernel,
        (source, sets): (Source, Vec<String>),
        loaded: Loaded<C>,
        settings: fn(&C) -> S,
        applied: Arc<dyn Fn(&S) + Send + Sync>,
    ) -> (Arc<Self>, Live<S>) {
        let live = Live::new(settings(&loaded.text));
        let status = ReloadStatus {
            file: source.file().cloned(),
            generation: 1,
            ..ReloadStatus::default()
        };
        let reloader = Self {
            source,
            sets,
            loaded: Lock::new(&lock::CONFIG, loaded),
            live: live.clone(),
            settings,
            applied,
            status: Lock::new(&lock::RELOAD_STATUS, status),
            results: Results::new(&kernel.registry),
        };
        (Arc::new(reloader), live)
    }

    /// What came of the last reload.
    pub fn status(&self) -> ReloadStatus {
        self.status.lock().clone()
    }

    /// Everything in force, defaults included, secrets masked.
    pub fn document(&self) -> serde_json::Value {
        self.loaded.lock().document().clone()
    }

    /// The config child's life: waits for requests, lets them settle, reloads.
    pub async fn run(
        self: Arc<Self>,
        context: Context,
        requests: ReloadRequests,
        updates: Receiver<()>,
        blocking: Blocking,
    ) -> Result<(), Failure> {
        let file = self.source.file().cloned();
        let mut lookout = file.map(|file| Lookout::new(file, requests, blocking.clone()));
        if lookout.is_none() {
            context.ready.ready();
        }
        let mut looks = tokio::time::interval(limits::WATCH_LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = context.told_to_end() => return Ok(()),
                asked = updates.recv() => match asked {
                    Some(()) => self.settle_and_reload(&context, &updates, &blocking).await,
                    None => return Ok(()),
                },
                _ = looks.tick() => if let Some(lookout) = &mut lookout {
                    lookout.look(&context.ready).await;
                },
            }
        }
    }

    /// A file that is being written changes several times; only its last state counts.
    async fn settle_and_reload(
        self: &Arc<Self>,
        context: &Context,
        updates: &Receiver<()>,
        blocking: &Blocking,
    ) {
        let give_up = crate::clock::now() + limits::CONFIG_SETTLE * 10;
        while crate::clock::now() < give_up {
            tokio::time::sleep(limits::CONFIG_SETTLE).await;
            if updates.try_recv().is_none() {
                break;
            }
            self.results.coalesced.inc();
        }
        let this = self.clone();
        let bus = context.kernel.bus.clone();
        let done = blocking.run(move || this.reload()).await;
        match done {
            Ok(Some(generation)) => bus.publish(Event::ConfigUpdated { generation }),
            Ok(None) => {}
            Err(reject) => {
                tracing::warn!(%reject, "the config could not be reloaded; it stays as it is")
            }
        }
    }

    /// Reads, checks and applies. Returns the new number if there is one.
    fn reload(&self) -> Option<u64> {
        let verdict = self.judge();
        let mut status = self.status.lock();
        status.reloads += 1;
        status.last_error = String::new();
        match verdict {
            Verdict::Applied(loaded, keys) => {
                status.last_result = "applied";
                status.generation += 1;
                let generation = status.generation;
                drop(status);
                self.apply(loaded, generation);
                tracing::info!(generation, changed = keys.join(", "), "new config in force");
                Some(generation)
            }
            Verdict::Unchanged => {
                status.last_result = "unchanged";
                self.results.unchanged.inc();
                None
            }
            Verdict::Invalid(mistakes) => {
                tracing::error!(
                    mistakes,
                    "the new config is invalid; the old one stays in force"
                );
                status.last_result = "invalid";
                status.last_error = mistakes;
                self.results.invalid.inc();
                None
            }
            Verdict::Refused(why) => {
                tracing::error!(why, "the new config is refused; the old one stays in force");
                status.last_result = "refused";
                status.last_error = why;
                self.results.refused.inc();
                None
            }
        }
    }

    fn judge(&self) -> Verdict<C> {
        let file = match self.source.read_settled() {
            Ok(file) => file,
            Err(mistakes) => return Verdict::Invalid(mistakes.to_string()),
        };
        let loaded = match load::<C>(&Sources::process(Some(file), self.sets.clone())) {
            Ok(loaded) => loaded,
            Err(mistakes) => return Verdict::Invalid(mistakes.to_string()),
        };
        let changes = self.loaded.lock().diff(&loaded);
        let fixed = restart_needed(&changes);
        if !fixed.is_empty() {
            let keys = fixed.join(", ");
            return Verdict::Refused(format!(
                "{keys}: cannot change while the node runs; restart it to apply"
            ));
        }
        match changes.is_empty() {
            true => Verdict::Unchanged,
            false => Verdict::Applied(
                loaded,
                changes.into_iter().map(|change| change.key).collect(),
            ),
        }
    }

    fn apply(&self, loaded: Loaded<C>, generation: u64) {
        let settings = (self.settings)(&loaded.text);
        (self.applied)(&settings);
        self.live.current.store(Arc::new(Snapshot {
            generation,
            settings,
        }));
        *self.loaded.lock() = loaded;
        self.results.applied.inc();
        self.results.generation.set(generation as i64);
    }
}

/// Reads a file twice until both agree, so that a writer caught in the act is waited for, a little.
fn read_settled(path: &Path) -> Result<SourceFile, Mistakes> {
    let mut before = read_file(path)?;
    for _ in 0..5 {
        #[expect(
            clippy::disallowed_methods,
            reason = "runs on a blocking thread, where sleeping is allowed"
        )]
        std::thread::sleep(Duration::from_millis(5));
        let now = read_file(path)?;
        if now.text() == before.text() {
            return Ok(now);
        }
        before = now;
    }
    Ok(before)
}

#[cfg(test)]
mod tests;
