//! Kills workers on purpose, to show that nothing is lost. Only in builds with the `chaos` feature.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::{PoolHandle, Work};

/// The trigger all workers share, so that those of one round die at once: were they told one by one, the unit of the
/// first could be put back into the hands of the second. A worker that is not up is not killed later.
pub(super) struct Kill {
    workers: usize,
    round: ArcSwap<Round>,
    called: Notify,
}

#[derive(Default)]
struct Round {
    number: u64,
    doomed: Vec<usize>,
}

impl Kill {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            round: ArcSwap::default(),
            called: Notify::new(),
        }
    }

    /// Waits for the first round that dooms this worker, from the first poll on.
    pub(super) async fn of(&self, index: usize) {
        let born = self.round.load().number;
        loop {
            let called = self.called.notified();
            if self.doomed_since(born, index) {
                return;
            }
            called.await;
        }
    }

    fn doomed_since(&self, born: u64, index: usize) -> bool {
        let round = self.round.load();
        round.number > born && round.doomed.contains(&index)
    }
}

impl<W: Work> PoolHandle<W> {
    /// Kills `count` workers drawn at random, in the middle of whatever they do.
    pub fn kill(&self, count: usize) {
        let kill = &self.kill;
        let mut doomed: Vec<_> = (0..kill.workers).collect();
        fastrand::shuffle(&mut doomed);
        doomed.truncate(count);
        kill.round.rcu(|last| {
            Arc::new(Round {
                number: last.number + 1,
                doomed: doomed.clone(),
            })
        });
        kill.called.notify_waiters();
    }
}
