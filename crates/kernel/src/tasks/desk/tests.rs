use std::collections::HashSet;
use std::future::pending;
use std::sync::Weak;

use super::*;
use crate::metrics::Registry;
use crate::tasks::{Spawner, TaskGroup, TaskKind, ledger};

static WORK: TaskKind = TaskKind {
    name: "work",
    doc: "test work",
};

/// Upgrades until the desk was cleared.
fn account(spawner: &Spawner) -> Weak<Account> {
    Arc::downgrade(&spawner._owner.account)
}

fn totals(registry: &Registry) -> (u64, u64) {
    let entries = ledger(registry)[0];
    let ended = entries.completed + entries.canceled + entries.aborted;
    (entries.spawned, ended)
}

// req: KN-05
#[tokio::test]
async fn a_desk_is_used_again_once_its_owner_and_its_tasks_have_gone() {
    let mut desks = HashSet::new();
    for _ in 0..1000 {
        let registry = Registry::default();
        let group = TaskGroup::new(&registry);
        let spawner = group.kind(&WORK);
        desks.insert(std::ptr::from_ref(spawner.desk) as usize);
        spawner.spawn(tokio::task::yield_now()).join().await;
        drop((group, spawner));
        assert_eq!(totals(&registry), (1, 1));
    }
    // Tests beside this one take and leave desks too, but not hundreds.
    assert!(desks.len() < 500, "{} desks for one at a time", desks.len());
}

// req: KN-05
#[tokio::test]
async fn a_desk_keeps_its_books_while_a_task_outlives_the_owner() {
    let registry = Registry::default();
    let spawner = TaskGroup::new(&registry).kind(&WORK);
    let account = account(&spawner);
    let task = spawner.spawn(pending::<()>());
    drop(spawner);
    tokio::task::yield_now().await;
    assert!(account.upgrade().is_some());
    assert_eq!(totals(&registry), (1, 0));
    task.handle.abort();
    task.join().await;
    assert!(account.upgrade().is_none());
    assert_eq!(totals(&registry), (1, 1));
}

// req: KN-05
#[tokio::test]
async fn a_task_written_off_keeps_its_desk_from_others_until_it_ends() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    let spawner = group.kind(&WORK);
    let account = account(&spawner);
    let stuck = spawner.spawn(pending::<()>());
    assert_eq!(group.write_off(), 1);
    drop((group, spawner));
    assert!(account.upgrade().is_some());
    assert_eq!(totals(&registry), (1, 1));
    stuck.join().await;
    assert!(account.upgrade().is_none());
    assert_eq!(totals(&registry), (1, 1));
}

// req: KN-05
#[tokio::test]
async fn a_kind_asked_for_after_the_end_begins_ended() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    group.abort();
    group.kind(&WORK).spawn(async { panic!("ran") });
    group.idle().await;
    assert_eq!(ledger(&registry)[0].aborted, 1);
}

/// Owners go while their tasks run, on several threads, and others take their desks.
// req: KN-05
#[test]
fn no_owner_finds_the_counts_of_another() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    testkit::sim::run("desks change hands", 200, |rng| {
        let owners: Vec<(Registry, u64)> = (0..20)
            .map(|_| (Registry::default(), rng.u64(1..6)))
            .collect();
        runtime.block_on(async {
            for (registry, tasks) in &owners {
                let spawner = TaskGroup::new(registry).kind(&WORK);
                for _ in 0..*tasks {
                    spawner.spawn(tokio::task::yield_now());
                }
            }
            for (registry, tasks) in &owners {
                while totals(registry).1 < *tasks {
                    tokio::task::yield_now().await;
                }
            }
        });
        for (registry, tasks) in owners {
            assert_eq!(totals(&registry), (tasks, tasks));
        }
    });
}
