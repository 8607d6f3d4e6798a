//! How many tasks were spawned: each thread counts in its own word, the sum is taken when somebody looks.

use std::sync::atomic::{AtomicU64, Ordering};

use super::seat::{SEATS, Seat};

#[derive(Default)]
pub(super) struct Births {
    words: [Word; SEATS],
}

/// Alone on its cache line: a thread that spawns does not wait for one that spawns beside it.
#[derive(Default)]
#[repr(align(64))]
struct Word(AtomicU64);

impl Births {
    /// Counts one. Whatever happens after it, such as that task's end, happens after it for all who see it.
    #[inline]
    pub(super) fn add(&self) {
        let seat = Seat::of_this_thread();
        let Word(word) = &self.words[seat.index()];
        if seat.is_own() {
            // Nobody writes between the two: no locked instruction is needed.
            let before = word.load(Ordering::Relaxed);
            word.store(before + 1, Ordering::Release);
        } else {
            word.fetch_add(1, Ordering::Release);
        }
    }

    /// All that happened before the call, and perhaps some that happen meanwhile.
    pub(super) fn sum(&self) -> u64 {
        let births = |Word(word): &Word| word.load(Ordering::Acquire);
        self.words.iter().map(births).sum()
    }

    /// Begins anew. Nobody writes any more.
    pub(super) fn clear(&self) {
        for Word(word) in &self.words {
            word.store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    // req: KN-05
    #[test]
    fn no_birth_is_lost_among_more_threads_than_there_are_seats() {
        let births = Births::default();
        thread::scope(|scope| {
            for _ in 0..SEATS + 8 {
                scope.spawn(|| (0..1000).for_each(|_| births.add()));
            }
        });
        assert_eq!(births.sum(), (SEATS as u64 + 8) * 1000);
        births.clear();
        assert_eq!(births.sum(), 0);
    }
}
