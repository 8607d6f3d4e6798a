//! The wakers of waiting tasks: how a group reaches tasks it has no handles of.

use std::task::Waker;

use super::seat::{SEATS, Seat};
use crate::lock::{self, BriefLock};

/// How many wakers are looked at before others get a turn.
const BATCH: usize = 256;

/// Wakers of tasks that have been pending at least once; taken out by the task itself when it ends.
pub(super) struct Parked {
    shards: [Line; SEATS],
}

/// Alone on its cache line: threads that park each on their own do not meet.
#[repr(align(64))]
struct Line(BriefLock<Shard>);

const _: () = assert!(size_of::<Line>() == 64);

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
        let shard = |_| Line(BriefLock::new(&lock::TASK_WAKERS, Shard::default()));
        Self {
            shards: std::array::from_fn(shard),
        }
    }
}

impl Parked {
    #[inline]
    pub(super) fn insert(&self, waker: Waker) -> Place {
        let seat = Seat::of_this_thread().index();
        let index = self.shards[seat].0.with(|shard| shard.insert(waker));
        Place::new(seat, index)
    }

    #[inline]
    pub(super) fn remove(&self, place: Place) {
        let shard = &self.shards[place.seat()].0;
        let gone = shard.with(|shard| shard.remove(place.index()));
        drop(gone);
    }

    /// Gives back the memory of a crowd that has gone.
    pub(super) fn clear(&self) {
        for Line(shard) in &self.shards {
            drop(shard.with(std::mem::take));
        }
    }

    /// Wakes whoever was parked before. Who parks meanwhile may be missed.
    pub(super) fn wake_all(&self) {
        for Line(shard) in &self.shards {
            let mut from = 0;
            while let Some(wakers) = shard.with(|shard| shard.batch(from)) {
                // Woken outside the lock: a waker may run the task at once on a single-threaded runtime.
                wakers.into_iter().for_each(Waker::wake);
                from += BATCH;
            }
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

    /// The wakers in the slots from this one on, or none if there are no such slots.
    fn batch(&self, from: usize) -> Option<Vec<Waker>> {
        let slots = self.slots.get(from..).filter(|slots| !slots.is_empty())?;
        Some(slots.iter().take(BATCH).filter_map(Slot::waker).collect())
    }
}

/// Seat and index of a parked waker in one word, so that an entry takes two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u32);

impl Place {
    /// Not parked.
    pub(super) const NONE: Self = Self(u32::MAX);
    const INDEX_BITS: u32 = 27;

    #[inline]
    fn new(seat: usize, index: usize) -> Self {
        assert!(
            index < (1 << Self::INDEX_BITS) - 1,
            "more tasks wait than memory holds"
        );
        Self((seat as u32) << Self::INDEX_BITS | index as u32)
    }

    #[inline]
    fn seat(self) -> usize {
        (self.0 >> Self::INDEX_BITS) as usize
    }

    #[inline]
    fn index(self) -> usize {
        (self.0 & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

const _: () = assert!(SEATS <= 1 << (u32::BITS - Place::INDEX_BITS));

#[cfg(test)]
mod tests;
