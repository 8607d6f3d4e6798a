//! Kills workers on purpose, to show that nothing is lost, or holds them up. Only in builds with the `chaos` feature.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::{PoolHandle, Work};

/// What a worker is told to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Die,
    /// Holds the thread up for so long, as a unit that computes without end would.
    Stall(Duration),
}

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
    order: Order,
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
    pub(super) async fn of(&self, index: usize) -> Order {
        let born = self.round.load().number;
        loop {
            let called = self.called.notified();
            if let Some(order) = self.order_since(born, index) {
                return order;
            }
            called.await;
        }
    }

    fn order_since(&self, born: u64, index: usize) -> Option<Order> {
        let round = self.round.load();
        let meant = round.number > born && round.doomed.contains(&index);
        meant.then_some(round.order)
    }
}

impl<W: Work> PoolHandle<W> {
    /// Kills `count` workers drawn at random, in the middle of whatever they do.
    pub fn kill(&self, count: usize) {
        self.order(count, Order::Die);
    }

    /// Lets `count` workers drawn at random hold up the threads they run on for so long.
    pub fn stall(&self, count: usize, time: Duration) {
        self.order(count, Order::Stall(time));
    }

    fn order(&self, count: usize, order: Order) {
        let kill = &self.kill;
        let mut doomed: Vec<_> = (0..kill.workers).collect();
        fastrand::shuffle(&mut doomed);
        doomed.truncate(count);
        kill.round.rcu(|last| {
            Arc::new(Round {
                number: last.number + 1,
                doomed: doomed.clone(),
                order,
            })
        });
        kill.called.notify_waiters();
    }
}
