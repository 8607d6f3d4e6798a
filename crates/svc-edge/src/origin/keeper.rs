//! Looks after the origins: names resolved, unused connections closed. Follows the config as it changes.

use std::sync::Arc;
use std::time::Duration;

use kernel::tasks::TaskKind;
use kernel::tree::{Context, Failure};
use tokio::sync::Notify;
use upstream::Pool;

use super::Origins;

/// The task that looks after one origin.
pub(crate) static ORIGIN: TaskKind = TaskKind {
    name: "edge_origin",
    doc: "resolves the name of one cached origin and closes its unused connections",
};

/// How often the config is looked at for origins that came or went.
const EVERY: Duration = Duration::from_millis(100);

/// An origin that is looked after, until this is dropped.
struct Tended {
    pool: Arc<Pool>,
    enough: Arc<Notify>,
}

impl Drop for Tended {
    fn drop(&mut self) {
        self.enough.notify_one();
    }
}

/// Looks after all of them until told to end.
pub(crate) async fn keep(context: Context, origins: Arc<Origins>) -> Result<(), Failure> {
    let spawner = context.tasks.kind(&ORIGIN);
    let mut tended: Vec<Tended> = Vec::new();
    context.ready.ready();
    let mut looks = tokio::time::interval(EVERY);
    loop {
        let mounts = origins.mounts();
        let pools = || {
            mounts
                .iter()
                .flat_map(|mount| &mount.origins)
                .map(|origin| &origin.pool)
        };
        tended.retain(|one| pools().any(|pool| Arc::ptr_eq(pool, &one.pool)));
        for pool in pools() {
            if tended.iter().any(|one| Arc::ptr_eq(pool, &one.pool)) {
                continue;
            }
            let enough = Arc::new(Notify::new());
            let (over, tends) = (enough.clone(), pool.clone());
            spawner.spawn(async move {
                tokio::select! {
                    () = over.notified() => {}
                    () = tends.tend(|_| {}) => {}
                }
                tends.end().await;
            });
            let pool = pool.clone();
            tended.push(Tended { pool, enough });
        }
        tokio::select! {
            () = context.told_to_end() => break,
            _ = looks.tick() => {}
        }
    }
    for one in tended {
        one.pool.end().await;
    }
    Ok(())
}
