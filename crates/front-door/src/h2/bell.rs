//! Which streams of a connection have news for its task: told from anywhere, looked at in turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};

use crate::line::Line;

const BITS: usize = u64::BITS as usize;

/// One bit for each stream there can be.
pub(super) struct Bell {
    line: Arc<Line>,
    rung: Box<[AtomicU64]>,
    /// The task is at work, and looks again before it rests: nobody has to wake it.
    attended: AtomicBool,
}

impl Bell {
    pub(super) fn new(line: Arc<Line>, streams: u32) -> Arc<Self> {
        let words = (streams as usize).div_ceil(BITS).max(1);
        Arc::new(Self {
            line,
            rung: (0..words).map(|_| AtomicU64::new(0)).collect(),
            attended: AtomicBool::new(false),
        })
    }

    /// Says that there is news of a stream.
    pub(super) fn ring(&self, slot: usize) {
        if let Some(word) = self.rung.get(slot / BITS) {
            // Either this is seen by who stops attending, or that is seen here: both are in one order.
            word.fetch_or(1 << (slot % BITS), Ordering::SeqCst);
            if !self.attended.load(Ordering::SeqCst) {
                self.line.pulse.wake();
            }
        }
    }

    /// The task begins to look.
    pub(super) fn attend(&self) {
        self.attended.store(true, Ordering::Relaxed);
    }

    /// The task has looked; whether something has come meanwhile.
    pub(super) fn leave(&self) -> bool {
        self.attended.store(false, Ordering::SeqCst);
        self.is_rung()
    }

    pub(super) fn is_rung(&self) -> bool {
        let mut words = self.rung.iter();
        words.any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// A stream with news, the first from `from` on, and then from the beginning; it has none after that.
    pub(super) fn answer(&self, from: usize) -> Option<usize> {
        let (first, bit) = (from / BITS % self.rung.len(), from % BITS);
        let above = u64::MAX << bit;
        // The first word twice: what is above where to begin, and at last what is below.
        let masks = std::iter::once(above)
            .chain(std::iter::repeat_n(u64::MAX, self.rung.len() - 1))
            .chain([!above]);
        for (index, mask) in masks.enumerate() {
            let at = (first + index) % self.rung.len();
            let bits = self.rung[at].load(Ordering::Relaxed) & mask;
            if bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                self.rung[at].fetch_and(!(1 << bit), Ordering::SeqCst);
                return Some(at * BITS + bit);
            }
        }
        None
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
