//! Which streams of a connection have news for its task: told from anywhere, looked at in turns.

use std::sync::Arc;
use std::task::{Wake, Waker};

use bounded_ring::Calls;

use crate::line::Line;

/// The calls of all streams, and whom to wake for them.
pub(super) struct Bell {
    line: Arc<Line>,
    calls: Calls,
}

impl Bell {
    pub(super) fn new(line: Arc<Line>, streams: u32) -> Arc<Self> {
        let calls = Calls::new(streams as usize);
        Arc::new(Self { line, calls })
    }

    /// Says that there is news of a stream.
    pub(super) fn ring(&self, slot: usize) {
        if self.calls.call(slot) {
            self.line.pulse.wake();
        }
    }

    /// The task begins to look: nobody has to wake it.
    pub(super) fn attend(&self) {
        self.calls.attend();
    }

    /// The task has looked; whether something has come meanwhile.
    pub(super) fn leave(&self) -> bool {
        self.calls.leave()
    }

    pub(super) fn is_rung(&self) -> bool {
        self.calls.is_called()
    }

    /// A stream with news, the first from `from` on, and then from the beginning; it has none after that.
    pub(super) fn answer(&self, from: usize) -> Option<usize> {
        self.calls.answer(from)
    }

    /// What wakes the task for one stream.
    pub(super) fn rope(self: &Arc<Self>, slot: usize) -> Waker {
        let bell = self.clone();
        Arc::new(Rope { bell, slot }).into()
    }
}

struct Rope {
    bell: Arc<Bell>,
    slot: usize,
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.bell.ring(self.slot);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.bell.ring(self.slot);
    }
}

#[cfg(test)]
mod tests;
