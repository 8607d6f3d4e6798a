//! Looks after what the gateway stands on: its upstreams, its certificates. Follows the plan as it changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use hashbrown::HashMap;
use kernel::lock::{Lock, LockSpec};
use kernel::metrics::{Counter, Gauge};
use kernel::tasks::{Spawner, Task, TaskKind};
use kernel::tree::{Context, Failure};
use tokio::sync::Notify;
use upstream::{Pool, Standing};

use crate::gateway::Gateway;
use crate::keys::{FETCHER, Keys};
use crate::metrics::{CERTIFICATE_FAILURES, DEGRADED};

/// The task that looks after one upstream.
pub(crate) static UPSTREAM: TaskKind = TaskKind {
    name: "gateway_upstream",
    doc: "resolves the names of one upstream, asks its endpoints how they are, closes unused connections",
};
/// Guards how the upstreams stand.
pub(crate) static STANDINGS: LockSpec = LockSpec {
    name: "gateway_standings",
    level: 31,
    doc: "how each upstream stands, as its keeper saw it last",
};

/// How often is looked for requests that have waited too long.
const GLANCE: Duration = Duration::from_millis(20);
/// How often the plan is looked at for upstreams that came or went, in glances.
const PLAN_EVERY: u32 = 5;
/// How often files of certificates are looked at, in glances.
const FILES_EVERY: u32 = 50;

/// How each upstream stands; absent until it is known.
type Standings = Arc<Lock<HashMap<String, Standing>>>;

struct Keeper<'a> {
    gateway: &'a Arc<Gateway>,
    context: &'a Context,
    spawner: Spawner,
    standings: Standings,
    kept: HashMap<String, Kept>,
    degraded: Gauge,
    files: Option<Vec<SystemTime>>,
    /// Why the certificates on disk are not those in force, while they are not.
    refused: Option<String>,
    refusals: Counter,
    fetching: Option<Fetching>,
}

/// An upstream that is looked after, until this is dropped.
struct Kept {
    pool: Arc<Pool>,
    enough: Arc<Notify>,
    task: Task<()>,
    /// One of its endpoints has taken a connection, where a strict boot waits for that.
    reached: Arc<AtomicBool>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.enough.notify_one();
    }
}

/// Keys that are fetched, until this is dropped.
struct Fetching {
    keys: Arc<Keys>,
    enough: Arc<Notify>,
    task: Task<()>,
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.enough.notify_one();
    }
}

/// Looks after everything until told to end.
pub(crate) async fn keep(context: Context, gateway: Arc<Gateway>) -> Result<(), Failure> {
    let mut keeper = Keeper {
        gateway: &gateway,
        context: &context,
        spawner: context.tasks.kind(&UPSTREAM),
        standings: Arc::new(Lock::new(&STANDINGS, HashMap::new())),
        kept: HashMap::new(),
        degraded: context.kernel.registry.gauge(&DEGRADED, &[]),
        files: None,
        refused: None,
        refusals: context.kernel.registry.counter(&CERTIFICATE_FAILURES, &[]),
        fetching: None,
    };
    let mut glances = tokio::time::interval(GLANCE);
    for glance in 0_u32.. {
        keeper.turn_away_late();
        if glance.is_multiple_of(PLAN_EVERY) {
            keeper.follow();
            keeper.follow_keys();
            keeper.speak();
        }
        if glance.is_multiple_of(FILES_EVERY) {
            keeper.look_at_files().await;
        }
        tokio::select! {
            () = context.told_to_end() => break,
            _ = glances.tick() => {}
        }
    }
    for kept in keeper.kept.into_values() {
        kept.pool.end().await;
    }
    Ok(())
}

impl Keeper<'_> {
    /// Those who wait are called when it is their turn; this is for those whose turn does not come in time.
    fn turn_away_late(&self) {
        for backend in &self.gateway.plan().backends {
            backend.body.slots.expire();
        }
    }

    /// Begins to look after upstreams that came, or that a task which died has left alone, and lets go of those that
    /// went.
    fn follow(&mut self) {
        let plan = self.gateway.plan();
        let there = |name: &str, pool: &Arc<Pool>| {
            let backend = plan.backend(name);
            backend.is_some_and(|backend| Arc::ptr_eq(&backend.body.pool, pool))
        };
        self.kept
            .retain(|name, kept| there(name, &kept.pool) && !kept.task.is_over());
        self.standings
            .lock()
            .retain(|name, _| plan.backend(name).is_some());
        for backend in &plan.backends {
            backend.body.follow_room();
            if !self.kept.contains_key(&backend.name) {
                let kept = self.tend(backend.name.clone(), backend.body.pool.clone());
                self.kept.insert(backend.name.clone(), kept);
            }
        }
    }

    /// Fetches the keys that the plan has now.
    fn follow_keys(&mut self) {
        let plan = self.gateway.plan();
        let same = |fetching: &Fetching, keys: &Arc<Keys>| {
            Arc::ptr_eq(&fetching.keys, keys) && !fetching.task.is_over()
        };
        let (Some(keys), Some(verifier)) = (&plan.keys, &plan.verifier) else {
            self.fetching = None;
            return;
        };
        if self
            .fetching
            .as_ref()
            .is_some_and(|fetching| same(fetching, keys))
        {
            return;
        }
        let enough = Arc::new(Notify::new());
        let (fetched, told) = (keys.clone(), enough.clone());
        let (shared, verifier) = (self.gateway.shared.clone(), verifier.clone());
        let task = self.context.tasks.kind(&FETCHER).spawn(async move {
            tokio::select! {
                () = fetched.refresh(&shared, &verifier) => {}
                () = told.notified() => {}
            }
        });
        let keys = keys.clone();
        self.fetching = Some(Fetching { keys, enough, task });
    }

    fn tend(&self, name: String, pool: Arc<Pool>) -> Kept {
        let enough = Arc::new(Notify::new());
        let (standings, kept, told) = (self.standings.clone(), pool.clone(), enough.clone());
        let reached = Arc::new(AtomicBool::new(!self.boots_strictly()));
        let found = reached.clone();
        let task = self.spawner.spawn(async move {
            let say = |standing| {
                standings.lock().insert(name.clone(), standing);
            };
            let reach = async {
                if !found.load(Ordering::Relaxed) {
                    kept.reach().await;
                    found.store(true, Ordering::Relaxed);
                }
                std::future::pending().await
            };
            tokio::select! {
                () = kept.tend(say) => {}
                () = reach => {}
                () = told.notified() => {}
            }
        });
        Kept {
            pool,
            enough,
            task,
            reached,
        }
    }

    /// Whether it has yet to find everything well before it is ready. Nobody is served better by a node that goes
    /// away later, for one upstream of many.
    fn boots_strictly(&self) -> bool {
        self.gateway.plan().text.strict_boot && !self.gateway.booted.load(Ordering::Relaxed)
    }

    fn is_reached(&self, upstream: &str) -> bool {
        let kept = self.kept.get(upstream);
        kept.is_some_and(|kept| kept.reached.load(Ordering::Relaxed))
    }

    /// Says whether all is well: with a strict boot not before every upstream has been.
    fn speak(&self) {
        let (plan, strict) = (self.gateway.plan(), self.boots_strictly());
        let standings = self.standings.lock().clone();
        let lacking = plan.backends.iter().find_map(|backend| {
            let what = match standings.get(&backend.name) {
                Some(Standing::Well) if strict && !self.is_reached(&backend.name) => {
                    "no endpoint can be connected to"
                }
                Some(Standing::Well) => return None,
                Some(Standing::Lacking(what)) => what,
                None => "not known yet",
            };
            Some(format!("upstream {}: {what}", backend.name))
        });
        let now = self.gateway.shared.timeline.now();
        let keys = plan.keys.as_ref().and_then(|keys| keys.lacking(now));
        let lacking = lacking.or_else(|| keys.map(str::to_owned));
        // Those in force still are: nobody is turned away for it.
        let stale = self.refused.as_ref();
        self.degraded
            .set(i64::from(lacking.is_some() || stale.is_some()));
        let ready = &self.context.ready;
        match lacking {
            None => match stale {
                None => ready.ready(),
                Some(error) => ready.degraded(format!("certificates: {error}")),
            },
            Some(what) if strict => return ready.unready(what),
            Some(_) if standings.len() < plan.backends.len() => ready.ready(),
            Some(what) => ready.degraded(what),
        }
        self.gateway.booted.store(true, Ordering::Relaxed);
    }

    /// Takes over certificates whose files have changed, and tries again while they cannot be: what is missing may be
    /// a right to read them, or room to do so.
    async fn look_at_files(&mut self) {
        let gateway = self.gateway.clone();
        let looked = move || {
            let stamps = gateway.certificate_stamps();
            (stamps, gateway)
        };
        let blocking = &self.gateway.shared.blocking;
        let Ok((stamps, gateway)) = blocking.run(looked).await else {
            return;
        };
        let before = self.files.replace(stamps);
        let changed = before.is_some() && before != self.files;
        if !changed && self.refused.is_none() {
            return;
        }
        let renewed = blocking.run(move || gateway.renew_certificates()).await;
        let refused = match renewed {
            Ok(renewed) => renewed.err(),
            Err(reject) => Some(format!("not read: {reject}")),
        };
        match &refused {
            None => tracing::info!("new certificates in force"),
            Some(error) if changed || refused != self.refused => {
                self.refusals.inc();
                tracing::error!(error, "the certificates stay as they are");
            }
            // It was said.
            Some(_) => {}
        }
        self.refused = refused;
    }
}
