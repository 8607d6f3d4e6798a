//! Follows the packs: mounts what comes, replaces what changed, lets go of what went, and says what cannot be served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use kernel::tree::{Context, Failure};
use tile_pack::{Limits, PackError};

use super::sweep::{Found, Sweep, sweep};
use super::{Entry, Shelf, Unready, Wanted};
use crate::cas;
use crate::certificates::Certificates;
use crate::edge::Edge;
use crate::shared::Shared;

/// How often files are looked at, where looking is cheap.
const GLANCE: Duration = Duration::from_secs(1);
/// Looking takes no more than one part in so many of the time, unless that would make it rare.
const REST: u32 = 20;
/// How often files are looked at in any case.
const RARELY: Duration = Duration::from_secs(4);
/// Packs opened beside each other.
const AT_ONCE: usize = 4;
/// Names that fit into a line for people.
const NAMED: usize = 5;

/// Follows the packs until told to end.
pub(crate) async fn keep(context: Context, edge: Arc<Edge>) -> Result<(), Failure> {
    let shared = &edge.shared;
    let mut certificates = Certificates::default();
    loop {
        certificates.look(&edge).await;
        shared.pressure.look(edge.plan().text.limits.memory_bytes);
        let began = kernel::clock::now();
        match follow(&edge).await {
            Some(mut troubles) => {
                troubles.extend(cas::trouble(&shared.store));
                speak(&context, shared, &troubles);
            }
            None => tracing::warn!("the disk is too busy to look for packs"),
        }
        let rest = (kernel::clock::now() - began) * REST;
        tokio::select! {
            () = context.told_to_end() => return Ok(()),
            () = tokio::time::sleep(rest.clamp(GLANCE, RARELY)) => {}
            () = shared.look.notified() => {}
        }
    }
}

/// Brings the shelf up to date; says what was wrong with directories, or nothing if the disk had no time.
pub(crate) async fn follow(edge: &Arc<Edge>) -> Option<Vec<String>> {
    let shared = &edge.shared;
    let plan = edge.plan();
    let (wanted, limits) = (Wanted::of(&plan.text), plan.pack_limits());
    let Sweep { found, troubles } = shared.disk.run(move || sweep(&wanted)).await.ok()?;
    let before = shared.catalogue.shelf.load_full();
    let (kept, mut changed) = compare(&before, found);
    spare_files(shared.most_packs, kept.len(), &mut changed);
    if changed.is_empty() && kept.len() == before.packs.len() {
        return Some(troubles);
    }
    let opened = open(shared, changed, limits).await?;
    let mut packs = kept;
    for (name, entry) in opened {
        tell(&name, &entry, before.packs.get(&name));
        packs.insert(name, entry);
    }
    for name in before
        .packs
        .keys()
        .filter(|name| !packs.contains_key(*name))
    {
        tracing::info!(pack = name, "a pack is gone");
    }
    let shelf = shared.disk.run(move || Shelf::new(packs)).await.ok()?;
    shared.catalogue.shelf.store(Arc::new(shelf));
    Some(troubles)
}

/// What stays as it is, and what has to be opened.
fn compare(
    before: &Shelf,
    found: BTreeMap<String, Found>,
) -> (HashMap<String, Entry>, Vec<(String, Found)>) {
    let (mut kept, mut changed) = (HashMap::new(), Vec::new());
    for (name, found) in found {
        match before.packs.get(&name) {
            Some(entry) if entry.is_still(&found) => {
                kept.insert(name, entry.clone());
            }
            _ => changed.push((name, found)),
        }
    }
    (kept, changed)
}

/// Leaves closed what there are no files for.
fn spare_files(most: usize, open: usize, changed: &mut [(String, Found)]) {
    for (_, found) in changed.iter_mut().skip(most.saturating_sub(open)) {
        let why =
            format!("{most} packs are open, half of the files there may be; raise that limit");
        found.stamp = Err(why);
    }
}

impl Entry {
    fn is_still(&self, found: &Found) -> bool {
        match self {
            Entry::Ready(mounted) => {
                found.stamp.as_ref() == Ok(&mounted.stamp) && mounted.path == found.path
            }
            Entry::Unready(unready) => {
                !unready.passing
                    && found.stamp.as_ref().ok() == unready.stamp.as_ref()
                    && unready.path == found.path
            }
        }
    }
}

/// Opens packs, a few beside each other. Nothing if the disk has no time for it.
async fn open(
    shared: &Arc<Shared>,
    mut changed: Vec<(String, Found)>,
    limits: Limits,
) -> Option<Vec<(String, Entry)>> {
    let part = changed.len().div_ceil(AT_ONCE).max(1);
    let mut jobs = Vec::with_capacity(AT_ONCE);
    while !changed.is_empty() {
        let rest = changed.split_off(part.min(changed.len()));
        let some = std::mem::replace(&mut changed, rest);
        let (shared, limits) = (shared.clone(), limits.clone());
        let disk = shared.disk.clone();
        let job = async move { disk.run(move || open_some(&shared, some, &limits)).await };
        jobs.push(Box::pin(job));
    }
    let mut opened = Vec::new();
    for done in futures_util::future::join_all(jobs).await {
        opened.extend(done.ok()?);
    }
    Some(opened)
}

fn open_some(shared: &Shared, some: Vec<(String, Found)>, limits: &Limits) -> Vec<(String, Entry)> {
    let open = |(name, found): (String, Found)| {
        let entry = match found.stamp {
            Err(ref why) => Entry::unready(&found, why.clone(), false),
            Ok(stamp) => {
                let path = found.path.clone();
                match shared.catalogue.mount(&name, path, stamp, limits) {
                    Ok(mounted) => Entry::Ready(Arc::new(mounted)),
                    Err(error) => {
                        let passing = error.is_transient() || matches!(error, PackError::Io(_));
                        Entry::unready(&found, error.to_string(), passing)
                    }
                }
            }
        };
        (name, entry)
    };
    some.into_iter().map(open).collect()
}

impl Entry {
    fn unready(found: &Found, why: String, passing: bool) -> Self {
        Entry::Unready(Arc::new(Unready {
            path: found.path.clone(),
            stamp: found.stamp.as_ref().ok().copied(),
            why,
            passing,
        }))
    }
}

/// Into the log, unless it was said before.
fn tell(name: &str, entry: &Entry, before: Option<&Entry>) {
    match (entry, before) {
        (Entry::Ready(_), None) => tracing::debug!(pack = name, "a pack is served"),
        (Entry::Ready(_), Some(_)) => tracing::info!(pack = name, "a pack is replaced"),
        (Entry::Unready(new), Some(Entry::Unready(old))) if new.why == old.why => {}
        (Entry::Unready(new), _) => {
            tracing::warn!(pack = name, why = new.why, "a pack cannot be served");
        }
    }
}

/// How the packs stand, for `/readyz` and for gauges.
fn speak(context: &Context, shared: &Shared, troubles: &[String]) {
    let shelf = shared.catalogue.shelf();
    let mut unready: Vec<&str> = shelf
        .packs
        .iter()
        .filter(|(_, entry)| matches!(entry, Entry::Unready(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    let ready = shelf.packs.len() - unready.len();
    shared.metrics.packs(ready, unready.len());
    if unready.is_empty() && troubles.is_empty() {
        return context.ready.ready();
    }
    unready.sort_unstable();
    let mut said = troubles.to_vec();
    if !unready.is_empty() {
        let more = if unready.len() > NAMED { ", …" } else { "" };
        let count = unready.len();
        unready.truncate(NAMED);
        said.push(format!(
            "{count} packs cannot be served: {}{more}",
            unready.join(", ")
        ));
    }
    context.ready.degraded(said.join("; "));
}
