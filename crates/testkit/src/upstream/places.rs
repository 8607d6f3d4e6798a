//! The origin's places of work: first come, first served, resizable while in use.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(super) struct Places {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    busy: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// One taken place; dropping it lets the next in.
#[derive(Debug)]
pub(super) struct Place(Arc<Places>);

impl Places {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::new(State {
                limit,
                busy: 0,
                waiting: VecDeque::new(),
            }),
        }
    }

    pub(super) async fn take(self: &Arc<Self>) -> Place {
        let (sender, receiver) = oneshot::channel();
        self.state.lock().waiting.push_back(sender);
        self.admit();
        receiver
            .await
            .expect("a waiter's sender is dropped only after it was used")
    }

    /// One, if it is free.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state.lock();
        (state.busy < state.limit).then(|| {
            state.busy += 1;
            Place(self.clone())
        })
    }

    pub(super) fn resize(self: &Arc<Self>, limit: usize) {
        self.state.lock().limit = limit;
        self.admit();
    }

    /// A place is sent outside the lock: when its waiter has gone, it comes back and is dropped,
    /// which takes the lock again.
    fn admit(self: &Arc<Self>) {
        loop {
            let next = self.state.lock().next();
            let Some(sender) = next else { break };
            drop(sender.send(Place(self.clone())));
        }
    }
}

impl State {
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        if self.busy >= self.limit {
            return None;
        }
        let sender = self.waiting.pop_front()?;
        self.busy += 1;
        Some(sender)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.state.lock().busy -= 1;
        self.0.admit();
    }
}
