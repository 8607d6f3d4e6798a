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
    slots: Vec<Slot>,
    /// The slot to fill next: the first of a chain of free ones, or one past the end.
    free: usize,
}

enum Slot {
    Full(Waker),
    /// Says which is free after it.
    Free(usize),
}

impl Slot {
    fn waker(&self) -> Option<Waker> {
        match self {
            Self::Full(waker) => Some(waker.clone()),
            Self::Free(_) => None,
        }
    }
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
        let gone = self.shards[place.shard()].lock().remove(place.index());
        drop(gone);
    }

    /// Gives back the memory of a crowd that has gone.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *shard.lock() = Shard::default();
        }
    }

    pub(super) fn wake_all(&self) {
        for shard in &self.shards {
            // Wake outside the lock: a waker may run the task at once on a single-threaded runtime.
            #[expect(
                clippy::needless_collect,
                reason = "collecting ends the lock before the first wake"
            )]
            let wakers: Vec<Waker> = shard.lock().slots.iter().filter_map(Slot::waker).collect();
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Shard {
    #[inline]
    fn insert(&mut self, waker: Waker) -> usize {
        let index = self.free;
        match self.slots.get_mut(index) {
            Some(slot) => {
                if let Slot::Free(next) = std::mem::replace(slot, Slot::Full(waker)) {
                    self.free = next;
                }
            }
            None => {
                self.slots.push(Slot::Full(waker));
                self.free = self.slots.len();
            }
        }
        index
    }

    #[inline]
    fn remove(&mut self, index: usize) -> Slot {
        let free = Slot::Free(std::mem::replace(&mut self.free, index));
        std::mem::replace(&mut self.slots[index], free)
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
