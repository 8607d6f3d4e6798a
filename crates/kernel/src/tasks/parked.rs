//! The wakers of waiting tasks: how a group reaches tasks it has no handles of.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use crate::lock::{self, Lock};

/// Enough that threads of a runtime seldom meet.
const SHARDS: usize = 8;

/// Wakers of tasks that have been pending at least once; taken out by the task itself when it ends.
pub(super) struct Parked {
    shards: [Lock<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl Default for Parked {
    fn default() -> Self {
        let shard = |_| Lock::new(&lock::TASK_WAKERS, Shard::default());
        Self {
            shards: std::array::from_fn(shard),
        }
    }
}

impl Parked {
    pub(super) fn insert(&self, waker: Waker) -> Place {
        let shard = shard_of_this_thread();
        Place::new(shard, self.shards[shard].lock().insert(waker))
    }

    pub(super) fn remove(&self, place: Place) {
        self.shards[place.shard()].lock().remove(place.index());
    }

    pub(super) fn wake_all(&self) {
        for shard in &self.shards {
            // Wake outside the lock: a waker may run the task at once on a single-threaded runtime.
            #[expect(
                clippy::needless_collect,
                reason = "collecting ends the lock before the first wake"
            )]
            let wakers: Vec<Waker> = shard.lock().wakers.iter().flatten().cloned().collect();
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Shard {
    fn insert(&mut self, waker: Waker) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.wakers[index] = Some(waker);
                index
            }
            None => {
                self.wakers.push(Some(waker));
                self.wakers.len() - 1
            }
        }
    }

    fn remove(&mut self, index: usize) {
        self.wakers[index] = None;
        self.free.push(index);
    }
}

fn shard_of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    SHARD.with(|shard| *shard)
}

/// Shard and index of a parked waker in one word, so that an entry takes two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u32);

impl Place {
    /// Not parked.
    pub(super) const NONE: Self = Self(u32::MAX);
    const INDEX_BITS: u32 = 29;

    fn new(shard: usize, index: usize) -> Self {
        assert!(
            index < (1 << Self::INDEX_BITS) - 1,
            "more tasks wait than memory holds"
        );
        Self((shard as u32) << Self::INDEX_BITS | index as u32)
    }

    fn shard(self) -> usize {
        (self.0 >> Self::INDEX_BITS) as usize
    }

    fn index(self) -> usize {
        (self.0 & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

const _: () = assert!(SHARDS <= 1 << (u32::BITS - Place::INDEX_BITS));
