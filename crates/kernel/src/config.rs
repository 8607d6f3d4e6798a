//! The config in force, and how a new one takes its place: whole, checked, or not at all.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::Serialize;
use strict_config::{ConfigText, Loaded, Loader, Sources, restart_needed};
use tokio::time::MissedTickBehavior;

use crate::Kernel;
use crate::blocking::Blocking;
use crate::bus::Event;
use crate::limits;
use crate::lock::{self, Lock};
use crate::metrics::{Counter, Gauge, Kind, MetricSpec, Registry};
use crate::queue::{self, OnFull, QueueSpec, Receiver, Sender};
use crate::tree::{Context, Failure};
use named::NamedFiles;
pub use source::Source;
use watch::Lookout;

mod named;
mod source;
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
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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

/// Puts in force what was made ready. Nothing can go wrong any more.
pub type Commit = Box<dyn FnOnce() + Send>;

/// Makes everything ready for a config, or says why it cannot be followed. Nothing has changed before the commit.
pub type Prepare<S> = Arc<dyn Fn(&S) -> Result<Commit, String> + Send + Sync>;

/// All of them or none.
pub fn together<S: 'static>(parts: Vec<Prepare<S>>) -> Prepare<S> {
    Arc::new(move |settings| {
        let ready: Result<Vec<Commit>, String> = parts.iter().map(|part| part(settings)).collect();
        let ready = ready?;
        Ok(Box::new(move || {
            ready.into_iter().for_each(|commit| commit())
        }))
    })
}

/// Replaces the config in force when its sources change.
pub struct Reloader<C: ConfigText, S> {
    source: Source,
    sets: Vec<String>,
    loader: Loader<C>,
    loaded: Lock<Loaded<C>>,
    live: Live<S>,
    settings: fn(&C) -> S,
    prepare: Prepare<S>,
    status: Lock<ReloadStatus>,
    results: Results,
}

enum Verdict<C, S> {
    Applicable(Ready<C, S>),
    Unchanged,
    Invalid(String),
    Refused(String),
}

/// A config that only has to be put in force.
struct Ready<C, S> {
    loaded: Loaded<C>,
    settings: S,
    commit: Commit,
    /// What it changes.
    keys: Vec<String>,
}

impl<C, S> Reloader<C, S>
where
    C: ConfigText + Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    /// Takes over from the load at start. A new config that `prepare` cannot make ready leaves the old one in force.
    pub fn new(
        kernel: &Kernel,
        (source, sets): (Source, Vec<String>),
        loaded: Loaded<C>,
        settings: fn(&C) -> S,
        prepare: Prepare<S>,
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
            loader: loaded.loader(),
            loaded: Lock::new(&lock::CONFIG, loaded),
            live: live.clone(),
            settings,
            prepare,
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
        let mut named = NamedFiles::new(requests.clone(), blocking.clone());
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
                _ = looks.tick() => {
                    if let Some(lookout) = &mut lookout {
                        lookout.look(&context.ready).await;
                    }
                    let files = self.loaded.lock().files();
                    named.look(files).await;
                }
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
        match self.judge() {
            Verdict::Applicable(ready) => Some(self.apply(ready)),
            other => {
                self.keep(other);
                None
            }
        }
    }

    /// The old config stays in force, for this reason.
    fn keep(&self, verdict: Verdict<C, S>) {
        let mut status = self.status.lock();
        status.reloads += 1;
        status.last_error = String::new();
        match verdict {
            Verdict::Applicable(_) => {}
            Verdict::Unchanged => {
                status.last_result = "unchanged";
                self.results.unchanged.inc();
            }
            Verdict::Invalid(mistakes) => {
                tracing::error!(
                    mistakes,
                    "the new config is invalid; the old one stays in force"
                );
                status.last_result = "invalid";
                status.last_error = mistakes;
                self.results.invalid.inc();
            }
            Verdict::Refused(why) => {
                tracing::error!(why, "the new config is refused; the old one stays in force");
                status.last_result = "refused";
                status.last_error = why;
                self.results.refused.inc();
            }
        }
    }

    fn judge(&self) -> Verdict<C, S> {
        let file = match self.source.read_settled() {
            Ok(file) => file,
            Err(mistakes) => return Verdict::Invalid(mistakes.to_string()),
        };
        let sources = Sources::process(Some(file), self.sets.clone());
        let loaded = match self.loader.load(&sources) {
            Ok(loaded) => loaded,
            Err(mistakes) => return Verdict::Invalid(mistakes.to_string()),
        };
        let changes = self.loaded.lock().diff(&loaded);
        let fixed = restart_needed(&changes);
        if !fixed.is_empty() {
            let keys = listed(&fixed);
            return Verdict::Refused(format!(
                "{keys}: cannot change while the node runs; restart it to apply"
            ));
        }
        if changes.is_empty() {
            return Verdict::Unchanged;
        }
        let settings = (self.settings)(&loaded.text);
        // A file it names may be missing, or not be what it should: only who reads it can tell.
        match (self.prepare)(&settings) {
            Ok(commit) => Verdict::Applicable(Ready {
                loaded,
                settings,
                commit,
                keys: changes.into_iter().map(|change| change.key).collect(),
            }),
            Err(error) => Verdict::Invalid(error),
        }
    }

    /// Puts it in force, and then says so. Returns its number.
    fn apply(&self, ready: Ready<C, S>) -> u64 {
        let generation = self.live.load().generation + 1;
        (ready.commit)();
        self.live.current.store(Arc::new(Snapshot {
            generation,
            settings: ready.settings,
        }));
        *self.loaded.lock() = ready.loaded;
        self.results.applied.inc();
        self.results.generation.set(generation as i64);
        let mut status = self.status.lock();
        status.reloads += 1;
        status.generation = generation;
        (status.last_result, status.last_error) = ("applied", String::new());
        drop(status);
        let changed = listed(&ready.keys);
        tracing::info!(generation, changed, "new config in force");
        generation
    }
}

/// Keys that are named; a line has to stay one that can be read.
const MOST_NAMED: usize = 32;

fn listed(keys: &[impl AsRef<str>]) -> String {
    let (named, more) = keys.split_at(keys.len().min(MOST_NAMED));
    let named: Vec<_> = named.iter().map(AsRef::as_ref).collect();
    match more.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests;
