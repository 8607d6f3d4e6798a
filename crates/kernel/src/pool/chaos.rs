//! Kills workers on purpose, to show that nothing is lost. Only in builds with the `chaos` feature.

use tokio::sync::Notify;

use super::{PoolHandle, Work};

/// One trigger per worker; a worker that is not up is not killed later.
pub(super) struct Kill {
    workers: Vec<Notify>,
}

impl Kill {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers: std::iter::repeat_with(Notify::new).take(workers).collect(),
        }
    }

    pub(super) async fn of(&self, index: usize) {
        self.workers[index].notified().await;
    }
}

impl<W: Work> PoolHandle<W> {
    /// Kills `count` workers drawn at random, in the middle of whatever they do.
    pub fn kill(&self, count: usize) {
        let mut order: Vec<_> = (0..self.kill.workers.len()).collect();
        fastrand::shuffle(&mut order);
        for index in order.into_iter().take(count) {
            self.kill.workers[index].notify_waiters();
        }
    }
}
