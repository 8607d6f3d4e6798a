//! The books of all tasks, by kind: they must balance when the node has stopped.

use super::{ABORTED, CANCELED, COMPLETED, SPAWNED};
use crate::metrics::Registry;

/// What became of the tasks of one kind, of all groups together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The kind's name.
    pub kind: &'static str,
    /// Spawned.
    pub spawned: u64,
    /// Ended by themselves.
    pub completed: u64,
    /// Ended with their owner.
    pub canceled: u64,
    /// Ended by force.
    pub aborted: u64,
}

/// One line for each kind that was ever asked for. Exact once nothing runs any more.
pub fn ledger(registry: &Registry) -> Vec<Entries> {
    registry.sample();
    let entries = |kind: &'static str| {
        let count = |spec| registry.counter(spec, &[kind]).get();
        Entries {
            kind,
            spawned: count(&SPAWNED),
            completed: count(&COMPLETED),
            canceled: count(&CANCELED),
            aborted: count(&ABORTED),
        }
    };
    let kinds = registry.counted(&SPAWNED).into_iter().flatten();
    kinds.map(entries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{TaskGroup, TaskKind};

    static EATER: TaskKind = TaskKind {
        name: "eater",
        doc: "test",
    };
    static SLEEPER: TaskKind = TaskKind {
        name: "sleeper",
        doc: "test",
    };

    // req: KN-05
    #[tokio::test]
    async fn the_ledger_sums_a_kind_over_its_groups_and_balances_when_they_are_idle() {
        let registry = Registry::default();
        let (first, second) = (TaskGroup::new(&registry), TaskGroup::new(&registry));
        first.kind(&EATER).spawn(async {});
        second.kind(&EATER).spawn(async {});
        first.idle().await;
        second.idle().await;
        first.kind(&SLEEPER).spawn(std::future::pending::<()>());
        second.kind(&SLEEPER).spawn(std::future::pending::<()>());
        first.cancel();
        second.abort();
        first.idle().await;
        second.idle().await;
        let entries = |kind, completed, canceled, aborted| Entries {
            kind,
            spawned: 2,
            completed,
            canceled,
            aborted,
        };
        let balanced = [entries("eater", 2, 0, 0), entries("sleeper", 0, 1, 1)];
        assert_eq!(ledger(&registry), balanced);
    }
}
